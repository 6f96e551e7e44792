"""The responses of rate limiting: what the decisions of a round come to. Pure."""

from __future__ import annotations

from patternbench.observe.response import Better, Response
from patternbench.observe.seam import Aim, Settings
from patternbench.ratelimit.analyze.throttling import DEFAULT_TOLERANCE_US, LimitRule, summarize
from patternbench.ratelimit.plan import replay
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records.decisions import Decisions

ALL = 100.0
ENOUGH = 1.0
"""Percent of requests outside the band of tolerance up to which a limiter counts as accurate enough."""
BEYOND_BAND, WITHOUT_STORE = "throttling_deviation_beyond_20ms", "decided_without_store"
FROM_SUMMARY = {
    "throttling_deviation": "deviation",
    "throttling_deviation_by_client": "client_mean",
    BEYOND_BAND: "deviation_tolerant",
    "wrongly_allowed": "wrongly_allowed",
    "wrongly_rejected": "wrongly_rejected",
    "throttling_peak": "peak",
}
"""What each response is called in the judge's summary."""
_L = Better.LOWER
RESPONSES = (
    Response(
        "throttling_deviation",
        "Throttling deviation",
        "percent",
        _L,
        "requests that an exact sliding log would have answered otherwise, by the balancers' own clocks",
    ),
    Response(
        "throttling_deviation_by_client",
        "Throttling deviation, mean over clients",
        "percent",
        _L,
        "the same for each client, and then the mean",
    ),
    Response(
        BEYOND_BAND,
        "Throttling deviation beyond 20 ms",
        "percent",
        _L,
        "requests that every log whose window is within 20 ms of the limit's would have answered otherwise",
    ),
    Response("wrongly_allowed", "Wrongly allowed requests", "percent", _L, "requests let through beyond the limit"),
    Response("wrongly_rejected", "Wrongly rejected requests", "percent", _L, "requests rejected within the limit"),
    Response(
        "throttling_peak",
        "Most in any window, over the limit",
        "factor",
        _L,
        "the most that any client was allowed in a window, as a multiple of the limit",
    ),
    Response(WITHOUT_STORE, "Decided without the store", "percent", _L, "decisions while the store did not answer"),
)


REJECTED = "Calls that fail here are, above all, those that a limiter is there to reject."
AIM = Aim(
    ("minimise AverageSuccessTime",),
    (f"{BEYOND_BAND} <= {ENOUGH:g}%", f"{WITHOUT_STORE} <= {ENOUGH:g}%"),
    REJECTED,
)
"""What a rate limiter is chosen by where a study does not say: the least latency among those that are accurate."""


def rule_of(limit: EnforcedLimit) -> LimitRule:
    """The rule that a limit stands for, over all balancers, with the judge's usual band of tolerance."""
    return LimitRule(limit.window.us, limit.limit, min(DEFAULT_TOLERANCE_US, limit.window.us - 1))


def of_decisions(seen: Decisions, settings: Settings) -> dict[str, float]:
    """The responses of a round by name, from its decisions and the settings of the system that made them."""
    limit = replay.over_all(seen.limit, settings, seen.balancers)
    summary = summarize(seen.table, rule_of(limit))
    responses = {name: float(summary[own]) for name, own in FROM_SUMMARY.items()}
    return {**responses, WITHOUT_STORE: seen.share_without_store * ALL}
