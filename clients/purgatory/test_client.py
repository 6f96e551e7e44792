"""purgatory is configured as the contract means: every parameter, and the steps of the shared vectors."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import client
import purgatory
from patternbench_client import Backoff, CircuitBreaker, Entry, Outcome, Policy, Rejected, Retry, SlowCall, Window
from patternbench_client.rounds import Other, read

VECTORS = Path(__file__).parents[2] / "contracts" / "client" / "vectors" / "breaker.json"
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
BREAKER = CircuitBreaker(100, None, Window(calls=2), 2, 20_000, 1, "user")
RETRY = Retry(3, Backoff("fixed", 0), "none")


def breaker_of(config: dict[str, object]) -> CircuitBreaker:
    (policy,) = read(json.dumps({**ROUND, "strategy": {"circuit_breaker": config}}).encode()).policies
    assert isinstance(policy, CircuitBreaker)
    return policy


def refused(policy: Policy, *guarded: Policy, users: int = 1) -> list[str]:
    entry = Entry(policy, guarded, users)
    return [refusal.path for refusal in client.PurgatoryAdapter().refused(entry)]


class Clock:
    """The time of day as purgatory reads it."""

    def __init__(self) -> None:
        self.us = 0

    def time(self) -> float:
        return 1e6 + self.us / 1e6


class Steps:
    """Calls one after another at set times through a breaker."""

    def __init__(self, policy: CircuitBreaker, clock: Clock) -> None:
        self.clock, self.step = clock, {}
        self.call = client.breaker(policy)(self.attempt)

    async def attempt(self) -> Outcome:
        self.clock.us += self.step["duration_us"]
        return 200 if self.step["success"] else 503

    async def admitted(self, step: dict[str, int]) -> bool:
        self.clock.us, self.step = step["at_us"], step
        try:
            await self.call()
        except Rejected:
            return False
        return True


async def admitted(policy: CircuitBreaker, steps: list[dict[str, int]]) -> list[bool]:
    clock = Clock()
    with mock.patch("purgatory.domain.model.time", clock):
        through = Steps(policy, clock)
        return [await through.admitted(step) for step in steps]


class PurgatoryTest(unittest.TestCase):
    def test_every_parameter_of_the_library_is_set(self) -> None:
        of_factory = set(inspect.signature(purgatory.AsyncCircuitBreakerFactory.__init__).parameters) - {"self"}
        of_breaker = set(inspect.signature(purgatory.AsyncCircuitBreakerFactory.__call__).parameters) - {"self"}
        source = inspect.getsource(client.breaker)
        stated = {name for name in of_factory | of_breaker if re.search(rf"\b{name}=", source)}
        self.assertEqual((of_factory | of_breaker) - stated, {"circuit"})

    def test_a_breaker_admits_what_the_shared_vectors_say(self) -> None:
        held = []
        for case in json.loads(VECTORS.read_text())["cases"]:
            policy = breaker_of(case["circuit_breaker"])
            if not refused(policy):
                held.append(case["name"])
                due = [step["admitted"] for step in case["steps"]]
                self.assertEqual(asyncio.run(admitted(policy, case["steps"])), due, case["name"])
        self.assertIn("two failures open it, the wait runs out, a success closes it", held)
        self.assertIn("a failing probe opens it again for the whole wait", held)

    def test_a_call_ends_with_the_outcome_of_what_was_guarded(self) -> None:
        async def fails() -> Outcome:
            return "timeout"

        self.assertEqual(asyncio.run(client.breaker(BREAKER)(fails)()), "timeout")

    def test_users_share_a_guard_and_two_guards_share_nothing(self) -> None:
        async def fails() -> Outcome:
            return 503

        async def open_one_of_two() -> None:
            one, other = client.breaker(BREAKER), client.breaker(BREAKER)
            await one(fails)()
            await one(fails)()
            with self.assertRaises(Rejected):
                await one(fails)()
            self.assertEqual(await other(fails)(), 503)

        asyncio.run(open_one_of_two())

    def test_a_retry_around_a_breaker_never_tries_a_rejection_again(self) -> None:
        made = []

        async def fails() -> Outcome:
            made.append(1)
            return 503

        adapter = client.PurgatoryAdapter()
        call = adapter.guard(RETRY)(adapter.guard(BREAKER)(fails))
        with self.assertRaises(Rejected):
            asyncio.run(call())
        self.assertEqual(len(made), 2)

    def test_what_the_breaker_cannot_express_is_refused_by_name(self) -> None:
        self.assertEqual(refused(BREAKER), [])
        self.assertEqual(refused(replace(BREAKER, failure_rate=51)), [])
        for changes, path in (
            ({"slow_call": SlowCall(50, 1)}, "slow_call"),
            ({"half_open_calls": 2}, "half_open_calls"),
            ({"window": Window(time_us=1)}, "window.time_us"),
            ({"minimum_calls": 1}, "minimum_calls"),
            ({"failure_rate": 50}, "failure_rate"),
        ):
            self.assertEqual(refused(replace(BREAKER, **changes)), [path])
        self.assertEqual(refused(replace(BREAKER, scope="client"), users=2), ["scope"])
        self.assertEqual(refused(BREAKER, RETRY), [])
        self.assertEqual(refused(BREAKER, RETRY, BREAKER), [""])
        self.assertEqual(refused(Other("bulkhead")), [""])


if __name__ == "__main__":
    unittest.main()
