"""Why calls failed: shares of all calls by the cause of their failure, which add up to all that failed."""

from __future__ import annotations

from collections.abc import Callable

TOO_MANY_REQUESTS = 429
"""The status by which a limit of the system says no (RFC 6585)."""
CAUSES = {
    "limited_rate": "answered",
    "bad_status_rate": "answered",
    "unexpected_rate": "expectation_failed",
    "timeout_rate": "timeout",
    "connection_error_rate": "connection_error",
    "dropped_rate": "dropped",
    "unanswered_rate": "cancelled",
}
"""Each response with the outcome of the attempts that such calls end with; calls that a policy rejected are a response
of their own (``rejected_rate``)."""


def failures_by_cause(failed_with: Callable[[str], int], limited: int, calls: int) -> dict[str, float]:
    """Give the share of calls that failed by each cause, in percent of all calls; NaN where there was no call.

    ``failed_with`` says how many failed and ended with an outcome, ``limited`` how many of all that failed ended with
    the status ``TOO_MANY_REQUESTS``.
    """
    named = {name: failed_with(outcome) for name, outcome in CAUSES.items()}
    named |= {"limited_rate": limited, "bad_status_rate": named["bad_status_rate"] - limited}
    return {name: 100.0 * count / calls if calls else float("nan") for name, count in named.items()}
