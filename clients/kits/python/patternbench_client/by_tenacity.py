"""tenacity's AsyncRetrying as the contract's retry, for clients that have tenacity next to them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import tenacity
from tenacity.wait import wait_base

from patternbench_client.adapter import Guard, Refusal, retry_after
from patternbench_client.outcomes import Outcome
from patternbench_client.rounds import Backoff, Retry

LONGEST_S = 1e9
"""What tenacity takes for no longest delay."""


def refused(retry: Retry) -> Iterator[Refusal]:
    """Spreads that its waits do not add up to."""
    yield from retry_after(retry)
    if retry.backoff.kind == "linear" and retry.jitter != "none":
        yield Refusal("jitter", retry.jitter, "tenacity spreads fixed and exponential delays only", "none")


def guard(retry: Retry) -> Guard:
    """Return what is guarded, as tenacity's decorator wraps it.

    A rejection is an exception, which is not tried again.
    """
    return library_config(retry).wraps


def library_config(retry: Retry) -> tenacity.AsyncRetrying:
    """Tenacity's retry with every parameter set; a call ends with the outcome of its last attempt."""
    return tenacity.AsyncRetrying(
        sleep=asyncio.sleep,
        stop=tenacity.stop_after_attempt(retry.max_attempts),
        wait=wait(retry.backoff, retry.jitter),
        retry=tenacity.retry_if_result(retry.retries),
        before=tenacity.before_nothing,
        after=tenacity.after_nothing,
        before_sleep=None,
        reraise=False,
        retry_error_cls=tenacity.RetryError,
        retry_error_callback=last_outcome,
    )


def last_outcome(state: tenacity.RetryCallState) -> Outcome:
    """Return what a call ends with whose attempts are used up."""
    return state.outcome.result()


def wait(backoff: Backoff, jitter: str | float) -> wait_base:
    """Return the delay before each further attempt: half of it, or all, drawn where the jitter says so."""
    if jitter == "none":
        return steady(backoff, 1)
    if jitter == "full":
        return drawn(backoff, 1)
    if jitter == "equal":
        return steady(backoff, 1 / 2) + drawn(backoff, 1 / 2)
    return steady(backoff, 1 - float(jitter)) + drawn(backoff, 2 * float(jitter))


def steady(backoff: Backoff, share: float) -> wait_base:
    """Jitter as a share of each delay."""
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
    """Jitter as a share of the longest delay, in seconds."""
    return LONGEST_S if backoff.max_us is None else share * backoff.max_us / 1e6
