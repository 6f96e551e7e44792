"""stamina is configured as the contract means, and refuses what it cannot do."""

from __future__ import annotations

import asyncio
import inspect
import unittest

import client
import stamina
from patternbench_client import Backoff, Entry, Policy, Rejected, Retry
from patternbench_client.rounds import Other

FIXED = Backoff("fixed", 40_000)
GROWN = Backoff("exponential", 20_000, multiplier=1.5, max_us=100_000)


class StaminaTest(unittest.TestCase):
    def test_every_parameter_of_the_library_is_set(self) -> None:
        parameters = set(inspect.signature(stamina.AsyncRetryingCaller.__init__).parameters) - {"self"}
        self.assertEqual(parameters, set(client.library_config(Retry(2, FIXED, "none"))))

    def test_times_are_seconds_and_a_fixed_delay_grows_by_a_factor_of_one(self) -> None:
        config = client.library_config(Retry(3, FIXED, "none"))
        self.assertEqual((config["attempts"], config["wait_initial"], config["wait_exp_base"]), (3, 0.04, 1))
        config = client.library_config(Retry(3, GROWN, "none"))
        self.assertEqual((config["wait_initial"], config["wait_exp_base"], config["wait_max"]), (0.02, 1.5, 0.1))

    def test_jitter_of_a_fixed_delay_is_a_least_delay_and_a_random_time_on_top(self) -> None:
        for jitter, least, spread in (("full", 0, 0.04), ("equal", 0.02, 0.02), (0.5, 0.02, 0.04)):
            config = client.library_config(Retry(2, FIXED, jitter))
            self.assertEqual((config["wait_initial"], config["wait_jitter"]), (least, spread), jitter)

    def test_a_call_ends_with_its_last_attempt_and_attempts_include_the_first(self) -> None:
        made = []

        async def fails() -> int:
            made.append(1)
            return 503

        call = client.StaminaAdapter().guard(Retry(3, Backoff("fixed", 0), "none"))(fails)
        self.assertEqual(asyncio.run(call()), 503)
        self.assertEqual(len(made), 3)

    def test_a_retry_chooses_what_it_tries_again_and_never_a_rejection(self) -> None:
        made = []

        async def fails() -> int:
            made.append(1)
            return 404

        async def rejects() -> int:
            made.append(1)
            raise Rejected

        guard = client.StaminaAdapter().guard(Retry(3, Backoff("fixed", 0), "none", on=["500-599"]))
        self.assertEqual(asyncio.run(guard(fails)()), 404)
        with self.assertRaises(Rejected):
            asyncio.run(guard(rejects)())
        self.assertEqual(len(made), 2)

    def test_what_stamina_cannot_express_is_refused_by_name(self) -> None:
        def refused(policy: Policy) -> list[str]:
            return [refusal.path for refusal in client.StaminaAdapter().refused(Entry(policy, (), 1))]

        self.assertEqual(refused(Retry(2, Backoff("linear", 1), "none")), ["backoff.linear"])
        self.assertEqual(refused(Retry(2, GROWN, "full")), ["jitter"])
        self.assertEqual(refused(Retry(2, GROWN, "none", retry_after_max_us=1)), ["retry_after_max_us"])
        self.assertEqual(refused(Retry(2, GROWN, "none")), [])
        self.assertEqual(refused(Other("timeout")), [""])


if __name__ == "__main__":
    unittest.main()
