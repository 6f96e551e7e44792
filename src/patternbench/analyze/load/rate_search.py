"""The rate that a service takes within an objective: a search by steps, and an interval for what it finds.

The objective says which share of calls must be answered well within a time (``p95 <= 100ms``: 95 % of calls within
100 ms). A call that failed, was dropped or came late is *missed*. The share of missed calls rises with the rate; the
capacity is the rate at which it reaches what the objective allows.

The search doubles the rate until a round misses the objective, halves the gap in ratio until its ends are near each
other, then repeats rounds at rates around it. Over these the logit of the missed share is taken for a straight line in
the rate, as the tail of a queue's response time is exponential in what capacity is left. The line is that of a logistic
regression, in which a saturated round counts little: how far beyond the objective it lies says nothing of where it is
crossed. Its variance is that between rounds, not between calls (quasi-binomial: Wedderburn, Biometrika 61, 1974), and
the interval of the rate where it crosses the objective is Fieller's (1954). Rounds are taken as independent; whether
they resemble the ones before them is tested. Nothing here measures, and nothing is drawn at random.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from patternbench.analyze.arrays import Floats
from patternbench.analyze.stopping.doubts import order_p
from patternbench.terms.data_problems import DataError, DataProblem

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

_ITERATIONS, _CONVERGED = 50, 1e-9
_STEEPEST = 60.0
"""Beyond this logit the line has no slope to find: it runs between rounds without misses and rounds of nothing else."""
_SINGULAR = 1e12
"""Beyond this condition the rounds determine no line: all but one saturated, or nobody called."""
_DOUBT, _MAYBE = 0.05, 0.35
"""Below these p rounds surely, or perhaps, resemble the ones before them. On a drifting machine the interval holds the
usual rate in 54 to 62 % of searches. With both doubts it does or is doubted in 96 %, with the first alone in 83 %."""


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
    """The rate and its interval (calls per second), None where the rounds cannot tell; and why, in words.

    `doubt` says why an interval may be too narrow.
    """

    rate: float | None
    low: float | None
    high: float | None
    level: float
    note: str
    doubt: str = ""


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
    rates = np.array([step.rate for step in steps])
    centre = float(rates.mean())
    line = _line(rates - centre, steps, objective.allowed)
    if line is None:
        return Capacity(None, None, None, level, _jump(steps, objective))
    if line.slope <= 0:
        return Capacity(None, None, None, level, "the missed share does not rise with the rate around the answer")
    estimate = centre - line.at_zero / line.slope
    if not rates.min() / BEYOND <= estimate <= rates.max() * BEYOND:
        return Capacity(None, None, None, level, "the rounds around the answer differ too much to say where it lies")
    ends = _fieller(line, float(stats.t.ppf(0.5 + level / 2, len(rates) - 2)))
    if ends is None or centre + ends[0] <= 0:
        note = "the rounds differ too much for an interval: give more --rounds, or a longer --duration"
        return Capacity(estimate, None, None, level, note)
    low, high = min(centre + ends[0], estimate * (1 - NARROWEST)), max(centre + ends[1], estimate * (1 + NARROWEST))
    return Capacity(estimate, low, high, level, "", _wandered(line.residuals))


def _jump(steps: Sequence[RateStep], objective: RateObjective) -> str:
    """Why no line goes through the rounds: hardly any call is missed up to some rate, and nearly all beyond it."""
    kept = [step.rate for step in steps if step.share <= objective.allowed]
    missed = [step.rate for step in steps if step.share > objective.allowed]
    if not kept or not missed or max(kept) >= min(missed):
        return "the rounds around the answer differ too much to say where it lies"
    return f"the missed share jumps between {max(kept):.4g} and {min(missed):.4g} calls/s"


_NARROW = "the interval is too narrow: simulated on such a machine, it held the usual rate in about 54 % of searches"
"""The rate is that of `capacities("drifting in time")` in tests/support/error_rates_of_rounds.py."""


def _wandered(residuals: Floats) -> str:
    """What to doubt where a round resembles the one before it: the rounds then tell less than their number."""
    p = order_p([residuals])
    if p > _MAYBE:
        return ""
    if p > _DOUBT:
        return f"rounds may resemble the ones before them; if the machine's speed wandered, {_NARROW}"
    return f"rounds resemble the ones before them, so the machine's speed wandered and {_NARROW}"


@dataclass(frozen=True)
class _Line:
    """A line for the logit of the missed share less that of the objective, over rates whose mean is zero.

    `covariance` is that of the value at zero and of the slope; `residuals` are Pearson's, in order of the rounds.
    """

    at_zero: float
    slope: float
    covariance: Floats
    residuals: Floats


def _line(x: Floats, steps: Sequence[RateStep], allowed: float) -> _Line | None:
    """Fit the line by maximum likelihood; None where it gets ever steeper, as between no misses and all."""
    # The scale of the rates keeps the two columns of a length.
    scale = float(np.abs(x).max())
    columns = np.column_stack([np.ones_like(x), x / scale])
    calls, missed = (np.array([getattr(step, name) for step in steps], dtype=float) for name in ("calls", "missed"))
    beta = _most_likely(columns, calls, missed)
    if beta is None:
        return None
    logits = columns @ beta
    weights = calls * _shares(logits) * _shares(-logits)
    information = columns.T @ (weights[:, None] * columns)
    if np.linalg.cond(information) > _SINGULAR:
        return None
    residuals = _off(logits, calls, missed) / np.sqrt(np.where(weights > 0, weights, 1.0))
    spread = max(float((residuals**2).sum() / max(len(x) - 2, 1)), 1.0)
    inverse = np.linalg.inv(information)
    back = np.array([1.0, 1 / scale])
    at_zero, slope = (beta - [math.log(allowed / (1 - allowed)), 0.0]) * back
    return _Line(
        float(at_zero), float(slope), np.asarray(spread * inverse * np.outer(back, back), dtype=np.float64), residuals
    )


def _most_likely(columns: Floats, calls: Floats, missed: Floats) -> Floats | None:
    """The most likely coefficients of a logistic regression, by Newton's steps, halved while they lead downhill."""
    beta: Floats = np.zeros(2)
    for _ in range(_ITERATIONS):
        logits = columns @ beta
        weights = calls * _shares(logits) * _shares(-logits)
        information = columns.T @ (weights[:, None] * columns)
        step = np.linalg.lstsq(information, columns.T @ _off(logits, calls, missed), rcond=None)[0]
        best = _likelihood(columns @ beta, calls, missed)
        while _likelihood(columns @ (beta + step), calls, missed) < best and np.abs(step).max() > _CONVERGED:
            step = step / 2
        beta = beta + step
        if np.abs(beta).max() > _STEEPEST:
            return None
        if np.abs(step).max() <= _CONVERGED:
            return beta
    return None


def _shares(logits: Floats) -> Floats:
    shares: Floats = 1 / (1 + np.exp(-np.clip(logits, -_STEEPEST, _STEEPEST)))
    return shares


def _off(logits: Floats, calls: Floats, missed: Floats) -> Floats:
    """How many calls more were missed than the logits say; exact to the last digit also where nearly all are."""
    off: Floats = missed * _shares(-logits) - (calls - missed) * _shares(logits)
    return off


def _likelihood(logits: Floats, calls: Floats, missed: Floats) -> float:
    """The log-likelihood of the missed calls."""
    return float((missed * logits - calls * np.logaddexp(0, logits)).sum())


def _fieller(line: _Line, t: float) -> tuple[float, float] | None:
    """The ends of the set of x with ``(a + b x)^2 <= t^2 (v_aa + 2 x v_ab + x^2 v_bb)``; None if it isn't finite."""
    v = t**2 * line.covariance
    a, b, c = line.slope**2 - v[1, 1], line.at_zero * line.slope - v[0, 1], line.at_zero**2 - v[0, 0]
    root = b**2 - a * c
    if a <= 0 or root < 0:
        return None
    return float(-b - math.sqrt(root)) / float(a), float(-b + math.sqrt(root)) / float(a)


ON_THE_GROUND = 0.001
"""The missed share of a round below which its rate counts as one that the service takes untroubled."""


def knee(steps: Sequence[RateStep]) -> float | None:
    """The rate after which the missed share leaves the ground: the last at which under 1 in 1,000 calls was missed."""
    good = [step.rate for step in steps if step.share < ON_THE_GROUND]
    bad = [step.rate for step in steps if step.share >= ON_THE_GROUND]
    below = [rate for rate in good if not bad or rate < min(bad)]
    return max(below) if below else None
