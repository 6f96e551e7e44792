"""The anti-patterns of the page: how each study's rounds are called, what is shown of them, and what is claimed.

A way names each round by its condition (what happens to the service) and its configuration (what callers do about it).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "reproductions"))

from claims import HIGHER, LOWER, PERCENT, POINTS, SAME, Claim, Floats, Scale, by_block

Word = Callable[[pd.Series], str]
_MS_PER_S = 1000


@dataclass(frozen=True)
class Shown:
    """A response that a table shows: its column, what it is called there, and what it is multiplied by for that."""

    column: str
    title: str
    factor: float = 1.0


@dataclass(frozen=True)
class Compared:
    """A claim: what a response does under a condition from the first configuration to the second."""

    text: str
    says: str
    column: str
    scale: Scale
    condition: str
    first: str
    second: str


FAILED = Shown("failure_rate", "failed calls, %")
AMPLIFIED = Shown("amplification", "attempts of the client per call")
TAIL = Shown("p99", "99th percentile, ms", _MS_PER_S)


@dataclass(frozen=True)
class Way:
    """One anti-pattern: its study, the mark of its part in the page, the columns that tell its rounds apart."""

    study: str
    mark: str
    factors: Sequence[str]
    condition: Word
    configuration: Word
    shown: Sequence[Shown]
    compared: Sequence[Compared]

    @property
    def columns(self) -> list[str]:
        """What is kept of a round."""
        responses = [*(one.column for one in self.shown), *(one.column for one in self.compared)]
        return list(dict.fromkeys(["block", "scenario", "strategy", *self.factors, *responses, "warnings"]))

    def named(self, rounds: pd.DataFrame) -> pd.DataFrame:
        """The rounds with their condition and their configuration."""
        words = {"condition": self.condition, "configuration": self.configuration}
        return rounds.assign(**{name: [word(row) for _, row in rounds.iterrows()] for name, word in words.items()})

    def claims(self, rounds: pd.DataFrame) -> list[Claim]:
        """What is claimed, with the values of both sides by block."""
        named = self.named(rounds)
        return [Claim(one.text, one.says, [_sides(named, one)], one.scale) for one in self.compared]


def _sides(named: pd.DataFrame, one: Compared) -> tuple[Floats, Floats]:
    """The values of both configurations by block; unknown where no round of one counts."""
    values = by_block(named, ("condition", "configuration"), _scaled(named[one.column], one.scale))
    unknown = np.full(named["block"].nunique(), np.nan)
    first, second = (values.get((one.condition, name), unknown) for name in (one.first, one.second))
    return first, second


def _scaled(values: pd.Series, scale: Scale) -> pd.Series:
    return np.log(values.where(values > 0)) if scale is PERCENT else values


def _acts(row: pd.Series, factor: str) -> bool:
    return bool(row[factor] > 0)


def _layers_condition(row: pd.Series) -> str:
    if _acts(row, "freeze.when.for"):
        return "it stands still for 1 s"
    share = row["abort.percentage"]
    return {0: "all is well", 50: "half of the answers fail", 100: "every answer fails"}[int(share)]


def _layers(row: pd.Series) -> str:
    sidecars, client = _acts(row, "outer_retries"), row["strategy"] == "retry"
    words = {
        (False, False): "nobody",
        (False, True): "the client",
        (True, False): "both sidecars",
        (True, True): "all three",
    }
    return words[sidecars, client]


def _outage(row: pd.Series) -> str:
    return "after an outage of 2 s" if _acts(row, "stall.when.for") else "without an outage"


def _jitter(row: pd.Series) -> str:
    return "no retry" if row["strategy"] == "baseline" else f"retry, jitter {row['retry.jitter']}"


def _failing(row: pd.Series) -> str:
    return f"{row['abort.percentage']:g} % of the answers fail"


def _window(row: pd.Series) -> str:
    return "no breaker" if row["strategy"] == "baseline" else f"window of {row['circuit_breaker.window.calls']:g} calls"


def _unanswered(row: pd.Series) -> str:
    return f"{row['stall.percentage']:g} % are never answered"


def _tried_again(row: pd.Series) -> str:
    if not _acts(row, "retries"):
        return "no retry"
    return f"tried again after {row['try_timeout'] * _MS_PER_S:g} ms"


def _busy(row: pd.Series) -> str:
    return f"{row['rate']:g} per second"


def _hedged(row: pd.Series) -> str:
    return "no hedge" if row["strategy"] == "baseline" else "hedge after 25 ms"


def _stood_still(row: pd.Series) -> str:
    return "it stands still for 1.5 s" if _acts(row, "freeze.when.for") else "all is well"


def _budget(row: pd.Series) -> str:
    return {"baseline": "no retry", "no_budget": "retry, no budget", "budget": "retry with a budget"}[row["strategy"]]


OUT, FROZEN, BACK = "every answer fails", "it stands still for 1 s", "after an outage of 2 s"
FEW, MANY, LOST = "1 % of the answers fail", "60 % of the answers fail", "5 % are never answered"
CALM, CROWDED, STUCK = "100 per second", "380 per second", "it stands still for 1.5 s"

WAYS: Mapping[str, Way] = {
    way.study: way
    for way in (
        Way(
            study="anti-patterns-layers",
            mark="layers",
            factors=("abort.percentage", "freeze.when.for", "outer_retries"),
            condition=_layers_condition,
            configuration=_layers,
            shown=(Shown("derived.attempts", "attempts at the service per call"), FAILED),
            compared=(
                Compared(
                    "In an outage three layers cost the service more attempts per call than the client alone",
                    HIGHER,
                    "derived.attempts",
                    PERCENT,
                    OUT,
                    "the client",
                    "all three",
                ),
                Compared(
                    "After a second of standing still more calls fail with three layers than without any retry",
                    HIGHER,
                    "failure_rate",
                    POINTS,
                    FROZEN,
                    "nobody",
                    "all three",
                ),
            ),
        ),
        Way(
            study="anti-patterns-no-jitter",
            mark="no-jitter",
            factors=("stall.when.for", "retry.jitter"),
            condition=_outage,
            configuration=_jitter,
            shown=(FAILED, AMPLIFIED, TAIL),
            compared=(
                Compared(
                    "After an outage more calls fail without jitter than with full jitter",
                    HIGHER,
                    "failure_rate",
                    POINTS,
                    BACK,
                    "retry, jitter full",
                    "retry, jitter none",
                ),
            ),
        ),
        Way(
            study="anti-patterns-small-window",
            mark="small-window",
            factors=("abort.percentage", "circuit_breaker.window.calls"),
            condition=_failing,
            configuration=_window,
            shown=(FAILED, Shown("rejected_rate", "rejected calls, %")),
            compared=(
                Compared(
                    "With 1 % failures a window of two calls loses more calls than no breaker",
                    HIGHER,
                    "failure_rate",
                    POINTS,
                    FEW,
                    "no breaker",
                    "window of 2 calls",
                ),
                Compared(
                    "With 1 % failures a window of a hundred loses as many as no breaker",
                    SAME,
                    "failure_rate",
                    POINTS,
                    FEW,
                    "no breaker",
                    "window of 100 calls",
                ),
                Compared(
                    "With 60 % failures a window of a hundred still rejects calls",
                    HIGHER,
                    "rejected_rate",
                    POINTS,
                    MANY,
                    "no breaker",
                    "window of 100 calls",
                ),
            ),
        ),
        Way(
            study="anti-patterns-long-timeout",
            mark="long-timeout",
            factors=("stall.percentage", "retries", "try_timeout"),
            condition=_unanswered,
            configuration=_tried_again,
            shown=(FAILED, Shown("gateway_retries", "retries of the sidecar"), TAIL),
            compared=(
                Compared(
                    "A retry after 2 s, behind a caller who waits 500 ms, saves no calls",
                    SAME,
                    "failure_rate",
                    POINTS,
                    LOST,
                    "no retry",
                    "tried again after 2000 ms",
                ),
                Compared(
                    "A retry after 100 ms does",
                    LOWER,
                    "failure_rate",
                    POINTS,
                    LOST,
                    "no retry",
                    "tried again after 100 ms",
                ),
            ),
        ),
        Way(
            study="anti-patterns-hedged-overload",
            mark="hedged-overload",
            factors=("rate",),
            condition=_busy,
            configuration=_hedged,
            shown=(TAIL, AMPLIFIED, Shown("goodput", "good calls per second within 100 ms")),
            compared=(
                Compared(
                    "At a quarter of what the service can do a hedge lowers the 99th percentile",
                    LOWER,
                    "p99",
                    PERCENT,
                    CALM,
                    "no hedge",
                    "hedge after 25 ms",
                ),
                Compared(
                    "At 95 % of it a hedge costs good calls",
                    LOWER,
                    "goodput",
                    PERCENT,
                    CROWDED,
                    "no hedge",
                    "hedge after 25 ms",
                ),
            ),
        ),
        Way(
            study="anti-patterns-retry-budget",
            mark="retry-budget",
            factors=("freeze.when.for",),
            condition=_stood_still,
            configuration=_budget,
            shown=(FAILED, AMPLIFIED, Shown("goodput", "good calls per second")),
            compared=(
                Compared(
                    "After 1.5 s of standing still more calls fail with retries than without",
                    HIGHER,
                    "failure_rate",
                    POINTS,
                    STUCK,
                    "no retry",
                    "retry, no budget",
                ),
                Compared(
                    "With a budget fewer fail than with retries alone",
                    LOWER,
                    "failure_rate",
                    POINTS,
                    STUCK,
                    "retry, no budget",
                    "retry with a budget",
                ),
            ),
        ),
    )
}
"""The ways by the names of their studies, in the order of the page."""
