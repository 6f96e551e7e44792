"""The rate that a service takes within an objective: a search by steps, and an interval for what it finds.

The objective says which share of calls must be answered well within a time (``p95 <= 100ms``: 95 % of calls within
100 ms). A call that failed, was dropped or came late is *missed*. The share of missed calls rises with the rate; the
capacity is the rate at which it reaches what the objective allows.

The search doubles the rate until a round misses the objective, halves the gap in ratio until its ends are near each
other, then repeats rounds at rates around it. Over these the logit of the missed share is taken for a straight line in
the rate, as the tail of a queue's response time is exponential in what capacity is left. The interval of the rate where
the line crosses the objective is Fieller's (1954), with the variance between rounds, not between calls. Nothing here
measures, and nothing is drawn at random.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from patternbench.analyze.models.formula import Floats
from patternbench.analyze.problems import DataError, DataProblem

_OBJECTIVE = re.compile(r"^\s*p(\d{2,4})\s*<=\s*(\d+(?:\.\d+)?)\s*(us|ms|s)\s*$")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
NEAR = 1.25
"""How near, as a ratio, the ends of the search come before rounds are repeated between and around them."""
SPREAD = (0.85, 1.0, 1.15)
"""Where rounds are repeated, as shares of the middle of the ends: near enough for a line, far enough for a slope."""
FEWEST = 3
NARROWEST = 0.01
"""The least half width of an interval, as a share: what a line leaves out of a curve between these rates."""
BEYOND = 1.1
"""How far, as a ratio, an answer may lie beyond the rates that were repeated: a line says nothing further out."""


@dataclass(frozen=True)
class RateObjective:
    """Which share of calls may be missed, and within how many seconds the others are answered well."""

    text: str
    allowed: float
    seconds: float


@dataclass(frozen=True)
class RateStep:
    """One round of the search: calls per second, calls asked for, calls missed."""

    rate: float
    calls: int
    missed: int

    @property
    def share(self) -> float:
        """The share of calls that were missed."""
        return self.missed / self.calls if self.calls else 1.0


@dataclass(frozen=True)
class Capacity:
    """The rate and its interval (calls per second), None where the rounds cannot tell; and why, in words."""

    rate: float | None
    low: float | None
    high: float | None
    level: float
    note: str


@dataclass(frozen=True)
class Limits:
    """Where the search begins and ends (calls per second), and how often each rate around the answer is repeated."""

    start: float = 10.0
    most: float = 1e6
    rounds: int = 5


def parse_objective(text: str) -> RateObjective:
    """The objective that a text such as ``p95 <= 100ms`` writes; raises DataError saying how one is written."""
    match = _OBJECTIVE.match(text)
    if match is None or float(match[2]) == 0:
        raise DataError(
            DataProblem(f"{text!r} isn't an objective.", "--objective", "Write for example 'p95 <= 100ms'.")
        )
    share = float(f"0.{match[1]}")
    return RateObjective(text.strip(), 1 - share, float(match[2]) * _UNITS[match[3]])


def search(objective: RateObjective, limits: Limits) -> Generator[float, RateStep, None]:
    """Yield the rates to measure, one after another, until nothing is left to ask; each one's step is sent back."""
    rate, low, high = limits.start, 0.0, math.inf
    while (high == math.inf and rate <= limits.most) or (low == 0 and rate >= limits.start / 1024):
        kept = yield from _kept(rate, objective)
        low, high = (rate, high) if kept else (low, rate)
        if low and high < math.inf:
            break
        rate = rate * 2 if high == math.inf else rate / 2
    if not low or high == math.inf:
        return
    while high / low > NEAR:
        middle = math.sqrt(low * high)
        kept = yield from _kept(middle, objective)
        low, high = (middle, high) if kept else (low, middle)
    middle = math.sqrt(low * high)
    for block in range(limits.rounds):
        order = SPREAD if block % 2 else SPREAD[::-1]
        for share in order:
            yield middle * share


def _kept(rate: float, objective: RateObjective) -> Generator[float, RateStep, bool]:
    """Whether a rate keeps the objective; one that misses it is asked again, since one stall misleads."""
    for _ in range(2):
        step = yield rate
        if step.share <= objective.allowed:
            return True
    return False


def repeated(steps: Sequence[RateStep], limits: Limits) -> Sequence[RateStep]:
    """The rounds that were repeated around the answer, which its interval rests on; none when the search found none."""
    return steps[-limits.rounds * len(SPREAD) :] if len(steps) > limits.rounds * len(SPREAD) else []


def capacity(steps: Sequence[RateStep], objective: RateObjective, level: float = 0.95) -> Capacity:
    """Estimate the rate at which the missed share reaches what the objective allows, from repeated rounds."""
    if len({step.rate for step in steps}) < 2 or len(steps) < FEWEST:  # noqa: PLR2004 - a line has two ends
        return Capacity(None, None, None, level, "the search found no rate to repeat rounds around")
    x = np.array([step.rate for step in steps])
    y = np.array([_logit(step) for step in steps]) - math.log(objective.allowed / (1 - objective.allowed))
    centre = float(x.mean())
    line = _line(x - centre, y)
    if line.slope <= 0:
        return Capacity(None, None, None, level, "the missed share does not rise with the rate around the answer")
    estimate = centre - line.at_zero / line.slope
    if not x.min() / BEYOND <= estimate <= x.max() * BEYOND:
        return Capacity(None, None, None, level, "the rounds around the answer differ too much to say where it lies")
    ends = _fieller(line, float(stats.t.ppf(0.5 + level / 2, len(x) - 2)))
    if ends is None or centre + ends[0] <= 0:
        note = "the rounds differ too much for an interval: give more --rounds, or a longer --duration"
        return Capacity(estimate, None, None, level, note)
    low, high = min(centre + ends[0], estimate * (1 - NARROWEST)), max(centre + ends[1], estimate * (1 + NARROWEST))
    return Capacity(estimate, low, high, level, "")


def _logit(step: RateStep) -> float:
    """The empirical logit of the missed share, which is finite for none and for all (Haldane, 1956)."""
    return math.log((step.missed + 0.5) / (step.calls - step.missed + 0.5))


@dataclass(frozen=True)
class _Line:
    """A least-squares line through points whose x have mean zero."""

    slope: float
    at_zero: float
    residual: float
    sum_of_squares: float
    points: int


def _line(x: Floats, y: Floats) -> _Line:
    squares = float((x**2).sum())
    slope, at_zero = float((x * y).sum() / squares), float(y.mean())
    residual = float(((y - at_zero - slope * x) ** 2).sum() / (len(x) - 2))
    return _Line(slope, at_zero, residual, squares, len(x))


def _fieller(line: _Line, t: float) -> tuple[float, float] | None:
    """The ends of the set of x with ``(a + b x)^2 <= t^2 s^2 (1/n + x^2/S)``; None if it isn't a finite interval."""
    scaled = t**2 * line.residual
    a = line.slope**2 - scaled / line.sum_of_squares
    b = line.at_zero * line.slope
    root = b**2 - a * (line.at_zero**2 - scaled / line.points)
    if a <= 0 or root < 0:
        return None
    return (-b - math.sqrt(root)) / a, (-b + math.sqrt(root)) / a


ON_THE_GROUND = 0.001
"""The missed share of a round below which its rate counts as one that the service takes untroubled."""


def knee(steps: Sequence[RateStep]) -> float | None:
    """The rate after which the missed share leaves the ground: the last at which under 1 in 1,000 calls was missed."""
    good = [step.rate for step in steps if step.share < ON_THE_GROUND]
    bad = [step.rate for step in steps if step.share >= ON_THE_GROUND]
    below = [rate for rate in good if not bad or rate < min(bad)]
    return max(below) if below else None
