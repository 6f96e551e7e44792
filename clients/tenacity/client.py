"""tenacity's AsyncRetrying behind patternbench's client contract."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import tenacity
from patternbench_client import Attempt, Backoff, Call, Description, Outcome, Refusal, Retry, is_success, serve
from tenacity.wait import wait_base

LONGEST_S = 1e9
"""What tenacity takes for no longest delay."""


class TenacityAdapter:
    """tenacity has a retry alone; it counts attempts, the first included."""

    description = Description("tenacity", "tenacity", "tenacity", ("baseline", "retry"))

    def refused(self, retry: Retry) -> Iterator[Refusal]:
        """Spreads that its waits do not add up to."""
        if retry.backoff.kind == "linear" and retry.jitter != "none":
            message = "tenacity spreads fixed and exponential delays only"
            yield Refusal("strategy.retry.jitter", retry.jitter, message, "none")

    def retrying(self, retry: Retry, attempt: Attempt) -> Call:
        """The attempt as tenacity's decorator wraps it."""
        return library_config(retry).wraps(attempt)


def library_config(retry: Retry) -> tenacity.AsyncRetrying:
    """Tenacity's retry with every parameter set; a call ends with the outcome of its last attempt."""
    return tenacity.AsyncRetrying(
        sleep=asyncio.sleep,
        stop=tenacity.stop_after_attempt(retry.max_attempts),
        wait=wait(retry.backoff, retry.jitter),
        retry=tenacity.retry_if_result(failed),
        before=tenacity.before_nothing,
        after=tenacity.after_nothing,
        before_sleep=None,
        reraise=False,
        retry_error_cls=tenacity.RetryError,
        retry_error_callback=last_outcome,
    )


def failed(outcome: Outcome) -> bool:
    """Whether an attempt is tried again."""
    return not is_success(outcome)


def last_outcome(state: tenacity.RetryCallState) -> Outcome:
    """What a call ends with whose attempts are used up."""
    return state.outcome.result()


def wait(backoff: Backoff, jitter: str | float) -> wait_base:
    """The delay before each further attempt: half of it, or all, drawn where the jitter says so."""
    if jitter == "none":
        return steady(backoff, 1)
    if jitter == "full":
        return drawn(backoff, 1)
    if jitter == "equal":
        return steady(backoff, 1 / 2) + drawn(backoff, 1 / 2)
    return steady(backoff, 1 - float(jitter)) + drawn(backoff, 2 * float(jitter))


def steady(backoff: Backoff, share: float) -> wait_base:
    """A share of the delay."""
    initial = share * backoff.initial_us / 1e6
    if backoff.kind == "fixed":
        return tenacity.wait_fixed(initial)
    if backoff.kind == "linear":
        return tenacity.wait_incrementing(initial, backoff.increment_us / 1e6, longest(backoff, share))
    return tenacity.wait_exponential(initial, longest(backoff, share), backoff.multiplier, min=0)


def drawn(backoff: Backoff, share: float) -> wait_base:
    """From nothing to a share of the delay."""
    initial = share * backoff.initial_us / 1e6
    if backoff.kind == "fixed":
        return tenacity.wait_random(0, initial)
    return tenacity.wait_random_exponential(initial, longest(backoff, share), backoff.multiplier, min=0)


def longest(backoff: Backoff, share: float) -> float:
    """A share of the longest delay, in seconds."""
    return LONGEST_S if backoff.max_us is None else share * backoff.max_us / 1e6


if __name__ == "__main__":
    serve(TenacityAdapter())
