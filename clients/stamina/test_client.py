"""stamina is configured as the contract means, and refuses what it cannot do."""

from __future__ import annotations

import asyncio
import inspect
import unittest

import client
import stamina
from patternbench_client import Backoff, Retry

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

        call = client.StaminaAdapter().retrying(Retry(3, Backoff("fixed", 0), "none"), fails)
        self.assertEqual(asyncio.run(call()), 503)
        self.assertEqual(len(made), 3)

    def test_linear_delays_and_spreads_that_grow_are_refused_by_name(self) -> None:
        refused = client.StaminaAdapter().refused
        linear = Retry(2, Backoff("linear", 1), "none")
        self.assertEqual([refusal.path for refusal in refused(linear)], ["strategy.retry.backoff.linear"])
        self.assertEqual([refusal.path for refusal in refused(Retry(2, GROWN, "full"))], ["strategy.retry.jitter"])
        self.assertEqual(list(refused(Retry(2, GROWN, "none"))), [])


if __name__ == "__main__":
    unittest.main()
