"""stamina's retry behind patternbench's client contract."""

from __future__ import annotations

from collections.abc import Iterator

import stamina
import stamina.instrumentation
from patternbench_client import (
    Description,
    Entry,
    Guard,
    Guarded,
    Outcome,
    Policy,
    Refusal,
    Retry,
    lacking,
    retry_after,
    serve,
)

LONGEST_S = 1e9
"""What stamina takes for no longest delay."""


class Failed(Exception):  # noqa: N818 - stamina retries on exceptions only
    """An attempt that failed, for stamina to see."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class StaminaAdapter:
    """stamina has a retry alone: exponential, and a random time of one length on top of each delay."""

    description = Description("stamina", "stamina", ("stamina",), ("baseline", "retry", "stack"))

    def refused(self, entry: Entry) -> Iterator[Refusal]:
        """Every policy but a retry, delays that are not exponential, and spreads that grow with the delay."""
        retry = entry.policy
        if not isinstance(retry, Retry):
            yield lacking("retry")
            return
        yield from retry_after(retry)
        if retry.backoff.kind == "linear":
            yield Refusal("backoff.linear", None, "stamina has none", "fixed or exponential")
        elif retry.backoff.kind == "exponential" and retry.jitter != "none":
            message = "stamina adds a random time of one length to every delay, however long that is"
            yield Refusal("jitter", retry.jitter, message, "none, or a fixed back-off")

    def guard(self, policy: Policy) -> Guard:
        """Return the retry; every other policy was refused."""
        assert isinstance(policy, Retry)
        return lambda guarded: retrying(policy, guarded)


def retrying(retry: Retry, guarded: Guarded) -> Guarded:
    """Return what is guarded, as a caller of stamina's calls it; a call ends with the outcome of its last attempt."""
    caller = stamina.AsyncRetryingCaller(**library_config(retry)).on(Failed)

    async def tried() -> Outcome:
        outcome = await guarded()
        if retry.retries(outcome):
            raise Failed(outcome)
        return outcome

    async def call() -> Outcome:
        try:
            return await caller(tried)
        except Failed as last:
            return last.outcome

    return call


def library_config(retry: Retry) -> dict[str, float | None]:
    """Every parameter of stamina's retry. A fixed delay is one that grows by a factor of one."""
    backoff = retry.backoff
    least, spread = _spread(retry.jitter)
    return {
        "attempts": retry.max_attempts,
        "timeout": None,
        "wait_initial": least * backoff.initial_us / 1e6,
        "wait_max": LONGEST_S if backoff.max_us is None else backoff.max_us / 1e6,
        "wait_jitter": spread * backoff.initial_us / 1e6,
        "wait_exp_base": backoff.multiplier,
    }


def _spread(jitter: str | float) -> tuple[float, float]:
    """Return the least share of a fixed delay, and how much of it is drawn on top."""
    if isinstance(jitter, str):
        return {"none": (1.0, 0.0), "full": (0.0, 1.0), "equal": (0.5, 0.5)}[jitter]
    return 1 - jitter, 2 * jitter


if __name__ == "__main__":
    stamina.instrumentation.set_on_retry_hooks([])  # else every retry is logged
    serve(StaminaAdapter())
