"""tenacity is configured as the contract means: every parameter, and the delays of the shared vectors."""

from __future__ import annotations

import asyncio
import inspect
import json
import unittest
from pathlib import Path

import client
import tenacity
from patternbench_client import Backoff, Entry, Rejected, Retry, by_tenacity
from patternbench_client.rounds import Other, read

VECTORS = Path(__file__).parents[2] / "contracts" / "client" / "vectors" / "backoff.json"
ROUND = {
    "contract": 1,
    "target": "http://127.0.0.1:1",
    "request": {"method": "GET", "path": "/", "headers": {}, "body": None, "timeout_us": 1},
    "users": 1,
    "think_time_us": 0,
    "successes": 1,
    "max_attempts": None,
    "rejected_pause_us": 1,
    "time_limit_us": 1,
    "seed": 1,
}
DEFAULTS = {"name": None, "enabled": True}
"""Parameters of later versions that neither wait nor decide."""


def retry_of(backoff: dict[str, object], jitter: str | float = "none") -> Retry:
    strategy = {"retry": {"max_attempts": 6, "backoff": backoff, "jitter": jitter}}
    (retry,) = read(json.dumps({**ROUND, "strategy": strategy}).encode()).policies
    assert isinstance(retry, Retry)
    return retry


def delay_s(retry: Retry, failed_attempts: int) -> float:
    state = tenacity.RetryCallState(tenacity.AsyncRetrying(), None, (), {})
    state.attempt_number = failed_attempts
    return by_tenacity.wait(retry.backoff, retry.jitter)(state)


class TenacityTest(unittest.TestCase):
    def test_every_parameter_of_the_library_is_set(self) -> None:
        parameters = set(inspect.signature(tenacity.AsyncRetrying.__init__).parameters) - {"self"}
        stated = {
            line.split("=")[0].strip()
            for line in inspect.getsource(by_tenacity.library_config).splitlines()
            if "=" in line
        }
        self.assertEqual(parameters - set(DEFAULTS) - stated, set())

    def test_delays_are_those_of_the_shared_vectors(self) -> None:
        for case in json.loads(VECTORS.read_text())["cases"]:
            for number, due in enumerate(case["delays_us"], start=1):
                self.assertAlmostEqual(delay_s(retry_of(case["backoff"]), number) * 1e6, due, 3, case["name"])

    def test_jitter_spreads_over_what_the_contract_says(self) -> None:
        grown = {"exponential": {"initial_us": 20_000, "multiplier": 2, "max_us": None}}
        for jitter, low, high in (("full", 0, 40), ("equal", 20, 40), (0.5, 20, 60)):
            for backoff in ({"fixed": {"delay_us": 40_000}}, grown):
                drawn = [delay_s(retry_of(backoff, jitter), 2) * 1000 for _ in range(2000)]
                self.assertTrue(low <= min(drawn) < low + 2, f"{jitter}: from {min(drawn)}")
                self.assertTrue(high - 2 < max(drawn) <= high, f"{jitter}: to {max(drawn)}")

    def test_jitter_over_a_backoff_that_has_reached_its_maximum_keeps_to_it(self) -> None:
        backoff = {"exponential": {"initial_us": 20_000, "multiplier": 2, "max_us": 40_000}}
        for jitter, low, high in (("full", 0, 40), ("equal", 20, 40), (0.5, 20, 60)):
            drawn = [delay_s(retry_of(backoff, jitter), 6) * 1000 for _ in range(2000)]
            self.assertTrue(low <= min(drawn) < low + 2, f"{jitter}: from {min(drawn)}")
            self.assertTrue(high - 2 < max(drawn) <= high, f"{jitter}: to {max(drawn)}")

    def test_a_call_ends_with_its_last_attempt_and_attempts_include_the_first(self) -> None:
        made = []

        async def fails() -> int:
            made.append(1)
            return 503

        call = client.TenacityAdapter().guard(Retry(3, Backoff("fixed", 0), "none"))(fails)
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

        guard = client.TenacityAdapter().guard(Retry(3, Backoff("fixed", 0), "none", on=[503, "timeout"]))
        self.assertEqual(asyncio.run(guard(fails)()), 404)
        with self.assertRaises(Rejected):
            asyncio.run(guard(rejects)())
        self.assertEqual(len(made), 2)

    def test_what_tenacity_cannot_express_is_refused_by_name(self) -> None:
        spread = Retry(2, Backoff("linear", 1, increment_us=1), "full", retry_after_max_us=1)
        for policy, paths in ((spread, ["retry_after_max_us", "jitter"]), (Other("timeout"), [""])):
            refused = client.TenacityAdapter().refused(Entry(policy, (), 1))
            self.assertEqual([refusal.path for refusal in refused], paths)


if __name__ == "__main__":
    unittest.main()
