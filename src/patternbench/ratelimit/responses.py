"""The responses of rate limiting, computed from the decisions of a round. Pure."""

from __future__ import annotations

from patternbench.observe.seam import Aim, Settings
from patternbench.ratelimit.analyze.throttling import DEFAULT_TOLERANCE_US, LimitRule, summarize
from patternbench.ratelimit.plan import replay
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.terms.responses import Better, Response

ALL = 100.0
ENOUGH = 1.0
"""A limiter is accurate enough if at most this percentage of requests is outside the band of tolerance."""
BEYOND_BAND, WITHOUT_STORE = "throttling_deviation_beyond_20ms", "decided_without_store"
FROM_SUMMARY = {
    "throttling_deviation": "deviation",
    "throttling_deviation_by_client": "client_mean",
    BEYOND_BAND: "deviation_tolerant",
    "wrongly_allowed": "wrongly_allowed",
    "wrongly_rejected": "wrongly_rejected",
    "throttling_peak": "peak",
}
"""The name of each response in the judge's summary."""
_L = Better.LOWER
YARDSTICK = (
    "Throttling deviation counts the requests that an exact sliding log would decide differently. An algorithm that "
    "keeps such a log keeps it low by construction, and one that counts otherwise, such as a token bucket, does not."
)
RESPONSES = (
    Response(
        "throttling_deviation",
        "Throttling deviation",
        "percent",
        _L,
        "requests that an exact sliding log would have decided differently, by the balancers' own clocks",
        set_by=YARDSTICK,
    ),
    Response(
        "throttling_deviation_by_client",
        "Throttling deviation, mean over clients",
        "percent",
        _L,
        "the same per client, then the mean over clients",
        set_by=YARDSTICK,
    ),
    Response(
        BEYOND_BAND,
        "Throttling deviation beyond 20 ms",
        "percent",
        _L,
        "requests that every log with a window within 20 ms of the limit's would have decided differently",
        set_by=YARDSTICK,
    ),
    Response("wrongly_allowed", "Wrongly allowed requests", "percent", _L, "requests allowed beyond the limit"),
    Response("wrongly_rejected", "Wrongly rejected requests", "percent", _L, "requests rejected within the limit"),
    Response(
        "throttling_peak",
        "Most in any window, over the limit",
        "factor",
        _L,
        "the most that any client was allowed in a window, as a multiple of the limit",
    ),
    Response(WITHOUT_STORE, "Decided without the store", "percent", _L, "decisions while the store didn't answer"),
)


REJECTED = "Most calls that fail here are those that the limiter should reject."
AIM = Aim(
    ("minimise AverageSuccessTime",),
    (f"{BEYOND_BAND} <= {ENOUGH:g}%", f"{WITHOUT_STORE} <= {ENOUGH:g}%"),
    REJECTED,
)
"""The aim of a study that declares none: the lowest latency among limiters that are accurate enough."""


def rule_of(limit: EnforcedLimit) -> LimitRule:
    """Return the rule of a limit over all balancers, with the judge's usual band of tolerance."""
    return LimitRule(limit.window.us, limit.limit, min(DEFAULT_TOLERANCE_US, limit.window.us - 1))


def of_decisions(seen: Decisions, settings: Settings) -> dict[str, float]:
    """Return the responses of a round by name, from its decisions and the settings of the system that made them."""
    limit = replay.promised(replay.over_all(seen.limit, settings, seen.balancers), settings)
    summary = summarize(seen.table, rule_of(limit))
    responses = {name: float(summary[own]) for name, own in FROM_SUMMARY.items()}
    return {**responses, WITHOUT_STORE: seen.share_without_store * ALL}
