"""The anti-patterns of the page: how each study's rounds are called, what is shown of them, and what is claimed."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from patternbench.study.claims import DeclaredClaim
from reproductions.comparisons import Comparison, Shown, acts, page

_MS_PER_S = 1000

FAILED = Shown("failure_rate", "failed calls, %")
AMPLIFIED = Shown("amplification", "attempts of the client per call")
TAIL = Shown("p99", "99th percentile, ms", _MS_PER_S)


def _layers_condition(row: pd.Series) -> str:
    if acts(row, "freeze.when.for"):
        return "it stands still for 1 s"
    share = row["abort.percentage"]
    return {0: "all is well", 50: "half of the answers fail", 100: "every answer fails"}[int(share)]


def _layers(row: pd.Series) -> str:
    sidecars, client = acts(row, "outer_retries"), row["strategy"] == "retry"
    words = {
        (False, False): "nobody",
        (False, True): "the client",
        (True, False): "both sidecars",
        (True, True): "all three",
    }
    return words[sidecars, client]


def _outage(row: pd.Series) -> str:
    return "after an outage of 2 s" if acts(row, "stall.when.for") else "without an outage"


def _jitter(row: pd.Series) -> str:
    return "no retry" if row["strategy"] == "baseline" else f"retry, jitter {row['retry.jitter']}"


def _failing(row: pd.Series) -> str:
    return f"{row['abort.percentage']:g} % of the answers fail"


def _window(row: pd.Series) -> str:
    return "no breaker" if row["strategy"] == "baseline" else f"window of {row['circuit_breaker.window.calls']:g} calls"


def _unanswered(row: pd.Series) -> str:
    return f"{row['stall.percentage']:g} % are never answered"


def _tried_again(row: pd.Series) -> str:
    if not acts(row, "retries"):
        return "no retry"
    return f"tried again after {row['try_timeout'] * _MS_PER_S:g} ms"


def _busy(row: pd.Series) -> str:
    return f"{row['rate']:g} per second"


def _hedged(row: pd.Series) -> str:
    return "no hedge" if row["strategy"] == "baseline" else "hedge after 25 ms"


def _stood_still(row: pd.Series) -> str:
    return "it stands still for 1.5 s" if acts(row, "freeze.when.for") else "all is well"


def _budget(row: pd.Series) -> str:
    return {"baseline": "no retry", "no_budget": "retry, no budget", "budget": "retry with a budget"}[row["strategy"]]


ATTEMPTS = DeclaredClaim.model_validate(
    {
        "says": "In an outage three layers cost the service more attempts per call than the client alone",
        "response": "derived.attempts",
        "change": "higher",
        "from": {"outer_retries": 0, "inner_retries": 0},
        "to": {"outer_retries": 2, "inner_retries": 2},
        "where": {"strategy": "retry", "abort.percentage": 100},
    }
)
WAYS: Mapping[str, Comparison] = {
    way.study: way
    for way in (
        Comparison(
            study="anti-patterns-layers",
            mark="layers",
            title="Retry at every layer",
            main=(0, 1),
            factors=("abort.percentage", "freeze.when.for", "outer_retries"),
            condition=_layers_condition,
            configuration=_layers,
            shown=(Shown("derived.attempts", "attempts at the service per call"), FAILED),
            counted=(ATTEMPTS,),
        ),
        Comparison(
            study="anti-patterns-no-jitter",
            mark="no-jitter",
            title="Retry without jitter",
            factors=("stall.when.for", "retry.jitter"),
            condition=_outage,
            configuration=_jitter,
            shown=(FAILED, AMPLIFIED, TAIL),
        ),
        Comparison(
            study="anti-patterns-small-window",
            mark="small-window",
            title="A breaker's window too small",
            factors=("abort.percentage", "circuit_breaker.window.calls"),
            condition=_failing,
            configuration=_window,
            shown=(FAILED, Shown("rejected_rate", "rejected calls, %")),
        ),
        Comparison(
            study="anti-patterns-long-timeout",
            mark="long-timeout",
            title="A time-out longer than the caller's",
            factors=("stall.percentage", "retries", "try_timeout"),
            condition=_unanswered,
            configuration=_tried_again,
            shown=(FAILED, Shown("gateway_retries", "retries of the sidecar"), TAIL),
        ),
        Comparison(
            study="anti-patterns-hedged-overload",
            mark="hedged-overload",
            title="Hedge an overloaded service",
            main=(1,),
            factors=("rate",),
            condition=_busy,
            configuration=_hedged,
            shown=(TAIL, AMPLIFIED, Shown("goodput", "good calls per second within 100 ms")),
        ),
        Comparison(
            study="anti-patterns-retry-budget",
            mark="retry-budget",
            title="A remedy: the retry budget",
            factors=("freeze.when.for",),
            condition=_stood_still,
            configuration=_budget,
            shown=(FAILED, AMPLIFIED, Shown("goodput", "good calls per second")),
        ),
    )
}
"""The ways by the names of their studies, in the order of the page."""

PATTERNS = {
    "retry.md": [f"anti-patterns-{name}" for name in ("layers", "no-jitter", "long-timeout", "retry-budget")],
    "circuit-breaker.md": ["anti-patterns-small-window"],
}
"""The pages of the catalogue that show main claims, and of which studies."""
PAGE = page("five-ways-to-make-it-worse.md", WAYS, PATTERNS)
