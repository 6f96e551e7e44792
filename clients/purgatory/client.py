"""purgatory's circuit breaker behind patternbench's client contract, in stacks with tenacity's retry.

purgatory is made for asyncio. pybreaker is changed more often, but awaits under Tornado alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from patternbench_client import (
    CircuitBreaker,
    Description,
    Entry,
    Guard,
    Guarded,
    Outcome,
    Policy,
    Refusal,
    Rejected,
    Retry,
    by_tenacity,
    is_success,
    lacking,
    serve,
)
from purgatory import AsyncCircuitBreakerFactory, AsyncInMemoryUnitOfWork
from purgatory.domain.model import OpenedState

NAME = "circuit_breaker"
"""The only breaker of each factory."""


class Failed(Exception):  # noqa: N818 - purgatory counts exceptions only
    """A call that failed, for purgatory to see."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class PurgatoryAdapter:
    """purgatory has a breaker alone, which counts failures in a row; the retry is tenacity's."""

    description = Description(
        "purgatory",
        "purgatory with tenacity",
        ("purgatory", "tenacity"),
        ("baseline", "retry", "circuit_breaker", "stack"),
    )

    def refused(self, entry: Entry) -> Iterator[Refusal]:
        """Yield what neither a count of failures in a row nor tenacity's waits express."""
        if isinstance(entry.policy, Retry):
            yield from by_tenacity.refused(entry.policy)
        elif isinstance(entry.policy, CircuitBreaker):
            yield from _refused(entry.policy, entry)
        else:
            yield lacking("retry, circuit_breaker")

    def guard(self, policy: Policy) -> Guard:
        """Return the retry or the breaker; every other policy was refused."""
        if isinstance(policy, Retry):
            return by_tenacity.guard(policy)
        assert isinstance(policy, CircuitBreaker)
        return breaker(policy)


def _refused(policy: CircuitBreaker, entry: Entry) -> Iterator[Refusal]:
    if any(isinstance(inner, CircuitBreaker) for inner in entry.guarded):
        why = "purgatory counts a call that was rejected further in as a failure or a success, never as nothing"
        yield Refusal("", None, why, "a breaker that guards no other")
    if policy.slow_call:
        yield Refusal("slow_call", policy.slow_call.rate, "purgatory does not count slow calls", "null")
    if policy.half_open_calls > 1:
        why = "purgatory closes a half-open breaker with the first call that ends well"
        yield Refusal("half_open_calls", policy.half_open_calls, why, "1")
    if policy.scope == "client" and entry.users > 1:
        why = "a half-open breaker of purgatory lets every call through"
        yield Refusal("scope", policy.scope, why, "user, or one user")
    yield from _window(policy)


def _window(policy: CircuitBreaker) -> Iterator[Refusal]:
    """Failures in a row alone are a window of calls in which all have to fail."""
    why = "purgatory opens after a number of failures in a row"
    calls = policy.window.calls
    if calls is None:
        yield Refusal("window.time_us", policy.window.time_us, why, "window.calls")
    elif policy.minimum_calls != calls:
        yield Refusal("minimum_calls", policy.minimum_calls, why, f"{calls}, as window.calls")
    elif math.ceil(policy.failure_rate * calls / 100) < calls:
        yield Refusal("failure_rate", policy.failure_rate, why, "100")


def breaker(policy: CircuitBreaker) -> Guard:
    """Return a breaker of the library, every parameter of it set, around a call whose failure is an exception."""
    threshold, ttl_s = policy.window.calls, policy.open_for_us / 1e6
    factory = AsyncCircuitBreakerFactory(
        default_threshold=threshold, default_ttl=ttl_s, exclude=[], uow=AsyncInMemoryUnitOfWork()
    )
    decorator = factory(NAME, threshold=threshold, ttl=ttl_s, exclude=[])

    def around(guarded: Guarded) -> Guarded:
        async def raising() -> Outcome:
            outcome = await guarded()
            if not is_success(outcome):
                raise Failed(outcome)
            return outcome

        through_breaker = decorator(raising)

        async def call() -> Outcome:
            try:
                return await through_breaker()
            except Failed as failed:
                return failed.outcome
            except OpenedState as opened:
                # Every rejection raises the same exception, whose traceback would grow with each.
                opened.__traceback__ = None
                raise Rejected from None

        return call

    return around


if __name__ == "__main__":
    serve(PurgatoryAdapter())
