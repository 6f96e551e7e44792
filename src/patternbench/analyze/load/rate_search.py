"""The rate that a service takes within an objective: a search by steps, and an interval for what it finds.

The objective says which share of calls must be answered well within a time (``p95 <= 100ms``: 95 % of calls within
100 ms). A call that failed, was dropped or came late is *missed*. The share of missed calls rises with the rate; the
capacity is the rate at which it reaches what the objective allows.

The search doubles the rate until a round misses the objective, halves the gap in ratio until its ends are near each
other, then repeats rounds at rates around it. Where all of these lie on one side, it goes on from there: a service that
was cold when its ends were found takes more by now. Where hardly any of these lies near the objective, but all keep it
or miss it by far, the service falls off a cliff: the next rounds go nearer to where it is. The rate where the logit of
the missed share crosses the objective is found by ``crossing``, in which a saturated round counts only as beyond it,
for the usual machine of these rounds. Rounds are taken as independent; whether they resemble the ones before them is
tested. Nothing here measures, and nothing is drawn at random.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.load.crossing import Logits, crossing, logits
from patternbench.analyze.stopping.warnings import order_p
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataError, DataProblem

_OBJECTIVE = re.compile(r"^\s*p([0-9]{2,4})\s*<=\s*([0-9]+(?:\.[0-9]+)?)\s*(us|ms|s)\s*$")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
NEAR = 1.25
"""How near, as a ratio, the ends of the search come before rounds are repeated between and around them."""
SPREAD = (0.85, 1.0, 1.15)
"""Where rounds are repeated, as shares of the middle of the ends: near enough for a line, far enough for a slope."""
NEAREST = 1.02
"""On a cliff: the least ratio between the rates that are repeated."""
TELLING = 2
"""After this many blocks of repeated rounds on one side of the objective the search goes on elsewhere."""
MOVES = 3
"""How often it does."""
GENTLE = 1.5
"""The ratio of its steps there: far beyond what it takes, a service is left with much to do."""
FEWEST = 3
CURVED = 0.015
"""How much further out the ends lie, as a share: what a line leaves out of a curve between these rates."""
_SLOPED = 1 / 3
"""From this share of rounds near the objective on, the missed share rises slowly enough for a line."""
BEYOND = 1.1
"""How far, as a ratio, an answer may lie beyond the rates that were repeated: a line says nothing further out."""

_SHOWN, _MAYBE = 0.05, 0.35
"""Below these p rounds surely, or perhaps, resemble the ones before them. On a drifting machine the interval holds the
usual rate in 51 to 61 % of searches, and does or may be too narrow in 77 to 95 %."""


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

    ``doubt`` says why an interval may be too narrow.
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


@dataclass(frozen=True)
class SearchBegin:
    """The rate that is asked for first, what is known to keep and to miss the objective, and the ratio of the steps."""

    rate: float
    low: float = 0.0
    high: float = math.inf
    step: float = 2.0


def parse_objective(text: str) -> RateObjective:
    """Return the objective that a text such as ``p95 <= 100ms`` writes; raises DataError saying how one is written."""
    match = _OBJECTIVE.match(text)
    if match is None or float(match[2]) == 0:
        raise DataError(
            DataProblem(f"{text!r} isn't an objective.", "--objective", "Write for example 'p95 <= 100ms'.")
        )
    share = float(f"0.{match[1]}")
    return RateObjective(text.strip(), 1 - share, float(match[2]) * _UNITS[match[3]])


def search(objective: RateObjective, limits: Limits) -> Generator[float, RateStep, None]:
    """Yield the rates to measure, one after another, until nothing is left to ask; each one's step is sent back.

    Where all rounds that are repeated keep the objective, or all miss it, the service is another one than when its ends
    were found (it was cold then, or has gone slow), and they are looked for again from there.
    """
    ends = yield from _ends(SearchBegin(limits.start), objective, limits)
    for left in reversed(range(MOVES + 1)):
        if ends is None:
            return
        steps = yield from _repeated(math.sqrt(ends[0] * ends[1]), objective, limits, may_move=left > 0)
        beyond = _beyond(steps, objective)
        if beyond is None or not left:
            return
        ends = yield from _ends(beyond, objective, limits)


def _repeated(
    middle: float, objective: RateObjective, limits: Limits, may_move: bool
) -> Generator[float, RateStep, list[RateStep]]:
    """Repeat rounds around the middle of the ends, and return them; fewer where they say that it lies elsewhere."""
    steps = list[RateStep]()
    for block in range(limits.rounds):
        around = _around(steps, middle, objective)
        for rate in around if block % 2 else around[::-1]:
            steps.append((yield rate))
        if may_move and block + 1 == TELLING and _beyond(steps, objective):
            break
    return steps


def _beyond(steps: Sequence[RateStep], objective: RateObjective) -> SearchBegin | None:
    """Return where to look on if all rounds keep the objective or all miss it; None if they do neither."""
    kept = [step.share <= objective.allowed for step in steps]
    rates = [step.rate for step in steps]
    if all(kept):
        return SearchBegin(GENTLE * max(rates), low=max(rates), step=GENTLE)
    return None if any(kept) else SearchBegin(min(rates) / GENTLE, high=min(rates), step=GENTLE)


def _ends(
    begin: SearchBegin, objective: RateObjective, limits: Limits
) -> Generator[float, RateStep, tuple[float, float] | None]:
    """Return two rates near each other of which one keeps the objective and one misses it; None where none do."""
    rate, low, high = begin.rate, begin.low, begin.high
    while (high == math.inf and rate <= limits.most) or (low == 0 and rate >= limits.start / 1024):
        kept = yield from _kept(rate, objective)
        low, high = (rate, high) if kept else (low, rate)
        if low and high < math.inf:
            break
        rate = rate * begin.step if high == math.inf else rate / begin.step
    if not low or high == math.inf:
        return None
    while high / low > NEAR:
        middle = math.sqrt(low * high)
        kept = yield from _kept(middle, objective)
        low, high = (middle, high) if kept else (low, middle)
    return low, high


def _around(steps: Sequence[RateStep], middle: float, objective: RateObjective) -> list[float]:
    """Return the rates of the next block.

    They lie around the middle, or on a cliff between what keeps the objective and what misses it.

    There they halve, block by block, the gap between both, or the range in which both occur.
    """
    seen = _seen(steps, objective) if steps else None
    kept = [step.rate for step in steps if step.share <= objective.allowed]
    missed = [step.rate for step in steps if step.share > objective.allowed]
    if seen is None or float((seen.side == 0).mean()) >= _SLOPED or not kept or not missed:
        return [middle * share for share in SPREAD]
    low, high = sorted((max(kept), min(missed)))
    reach = min(max((high / low) ** 0.25, NEAREST), SPREAD[-1])
    return [math.sqrt(low * high) * share for share in (1 / reach, 1.0, reach)]


def _kept(rate: float, objective: RateObjective) -> Generator[float, RateStep, bool]:
    """Whether a rate keeps the objective; one that misses it is asked again, since one stall misleads."""
    for _ in range(2):
        step = yield rate
        if step.share <= objective.allowed:
            return True
    return False


def evidence(steps: Sequence[RateStep], limits: Limits) -> Sequence[RateStep]:
    """Return the rounds that an answer rests on; none where the search found no rate to repeat rounds around.

    They are those that were repeated, and what the search asked so near to them that a line still holds.
    """
    count = limits.rounds * len(SPREAD)
    if len(steps) <= count:
        return []
    middle = float(np.median([step.rate for step in steps[-count:]]))
    return [*(step for step in steps[:-count] if middle / NEAR <= step.rate <= middle * NEAR), *steps[-count:]]


def capacity(steps: Sequence[RateStep], objective: RateObjective, level: float = 0.95) -> Capacity:
    """Estimate the rate at which the missed share reaches what the objective allows, from repeated rounds."""
    if len({step.rate for step in steps}) < 2 or len(steps) < FEWEST:  # noqa: PLR2004 - a line has two ends
        return Capacity(None, None, None, level, "the search found no rate to repeat rounds around")
    at = crossing(_seen(steps, objective), level)
    centre = float(np.mean([step.rate for step in steps]))
    rate = centre * at.at
    if not _is_between(steps, rate, BEYOND if at.ends else 1.0):
        return Capacity(None, None, None, level, "the rounds around the answer differ too much to say where it lies")
    if at.ends is None or at.ends[0] <= 0:
        note = "the rounds differ too much for an interval: give more --rounds, or a longer --duration"
        return Capacity(rate, None, None, level, note)
    low, high = (centre * end for end in at.ends)
    return Capacity(rate, low * (1 - CURVED), high * (1 + CURVED), level, "", _wandered(at.residuals))


def _is_between(steps: Sequence[RateStep], rate: float, beyond: float) -> bool:
    """Whether a rate lies between those that were measured, or beyond them by no more than this ratio."""
    rates = [step.rate for step in steps]
    return min(rates) / beyond <= rate <= max(rates) * beyond


def _seen(steps: Sequence[RateStep], objective: RateObjective) -> Logits:
    rates, calls, missed = (
        np.array([getattr(step, name) for step in steps], dtype=float) for name in ("rate", "calls", "missed")
    )
    return logits(rates, calls, missed, objective.allowed)


_NARROW = "the interval is too narrow: simulated on such a machine, it held the usual rate in 51 to 61 % of searches"
"""The rates are those of `capacities(..., "drifting in time, 8 %", ...)` in tests/support/error_rates_of_rounds.py."""


def _wandered(residuals: Floats) -> str:
    """Return the warning where a round resembles the one before it: the rounds then tell less than their number."""
    p = order_p([residuals[residuals != 0]])
    if p > _MAYBE:
        return ""
    if p > _SHOWN:
        return f"rounds may resemble the ones before them; if the machine's speed wandered, {_NARROW}"
    return f"rounds resemble the ones before them, so the machine's speed wandered and {_NARROW}"


ON_THE_GROUND = 0.001
"""The missed share of a round below which its rate counts as one that the service takes untroubled."""


def knee(steps: Sequence[RateStep]) -> float | None:
    """Return the last rate below those at which 1 in 1,000 calls or more were missed; None without one."""
    good = [step.rate for step in steps if step.share < ON_THE_GROUND]
    bad = [step.rate for step in steps if step.share >= ON_THE_GROUND]
    below = [rate for rate in good if not bad or rate < min(bad)]
    return max(below) if below else None
