"""Where the next round of a search goes, and when its rounds are enough: decided from the rounds so far alone.

The first rounds look at the middle of the range and at both ends. As long as all rounds are held, the next one is at
the top, and as long as all are lost, at the bottom. While held rounds lie below the lost ones the gap between them is
halved. After that rounds are placed where the likeliest curve loses few, half and most of them: there they tell most
about where it lies and how steep it is (Wu, Journal of the American Statistical Association 80, 1985).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from patternbench.analyze.boundary.likelihood import FEW, HALF, Outcomes, ShareLocation, curve, located, trend

OPENING = (0.5, 1.0, 0.0)
"""Where the first rounds go."""
SHARES = (0.5, 0.15, 0.8, 0.3)
"""Which share of rounds is lost where the following ones go, in turn."""
AT_THE_END = 6
"""As many rounds at the last dose that are all held are seen in 2 of 100 searches if half of them would be lost."""
FEWEST = 12
"""Fewer rounds locate nothing."""
RISES = 6.63
"""Twice the log-likelihood that a curve must have over none (chi-squared, 99 %)."""
LEAST_GAP, STEPS = 1 / 12, 1.5
"""A gap between held and lost rounds that is not halved again: a share of the range, and steps between doses."""
BARREN = 3
"""After as many rounds without an outcome a dose gets no more."""


@dataclass(frozen=True)
class Search:
    """What is searched: the doses in rising order, the wanted half width, the most rounds, the confidence."""

    doses: tuple[float, ...]
    half_width: float
    most: int
    level: float = 0.95

    @property
    def step(self) -> float:
        """The distance of two doses, as a share of the range."""
        return 1 / (len(self.doses) - 1)

    def place(self, dose: float) -> float:
        """Return where a dose lies in the range."""
        return (dose - self.doses[0]) / (self.doses[-1] - self.doses[0])

    def dose(self, place: float) -> float:
        """Return the dose at a place of the range."""
        return self.doses[0] + place * (self.doses[-1] - self.doses[0])


@dataclass(frozen=True)
class DoseTrial:
    """A round that was planned: its dose, whether it was held (None without an outcome), whether it is over."""

    dose: float
    held: bool | None
    over: bool = True


class SearchOutcome(Enum):
    """What a search found."""

    LOCATED = "located"
    WIDE = "wide"
    ABOVE = "above"
    BELOW = "below"
    FLAT = "flat"
    INVERTED = "inverted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Bound:
    """A dose with its interval; None for an end that the rounds do not tell."""

    at: float
    low: float | None
    high: float | None

    def holds(self, dose: float) -> bool:
        """Whether a dose lies within the interval."""
        return (self.low is None or self.low <= dose) and (self.high is None or dose <= self.high)


@dataclass(frozen=True)
class SearchAnswer:
    """What the rounds of a configuration say, and whether they are enough.

    ``boundary`` is the dose at which half of the rounds are lost, ``safe`` that at which 5 of 100 are; both are None
    unless a boundary was found. ``first`` and ``last`` are the least and the greatest dose with an outcome.
    """

    found: SearchOutcome
    over: bool
    rounds: int
    lost: int
    first: float = math.nan
    last: float = math.nan
    at_first: tuple[int, int] = (0, 0)
    at_last: tuple[int, int] = (0, 0)
    boundary: Bound | None = None
    safe: Bound | None = None


def outcomes(tries: Sequence[DoseTrial], search: Search) -> Outcomes:
    """Return the rounds that have an outcome."""
    return Outcomes.of([(search.place(one.dose), one.held) for one in tries if one.held is not None])


# --- where the next round goes


def next_dose(tries: Sequence[DoseTrial], search: Search) -> float | None:
    """Return the dose of the round after those that were planned; None where they are enough."""
    seen, usable = outcomes(tries, search), _usable(tries, search)
    if len(tries) >= search.most or not usable or (seen.rounds and _said(seen, search, full=False).over):
        return None
    expected = search.dose(_next_place(seen, len(tries), search))
    return min(usable, key=lambda dose: (abs(dose - expected), dose))


def _usable(tries: Sequence[DoseTrial], search: Search) -> list[float]:
    """Return the doses but those of which several rounds ended and none has an outcome."""
    known = {one.dose for one in tries if one.held is not None}
    without = Counter(one.dose for one in tries if one.over and one.held is None)
    return [dose for dose in search.doses if dose in known or without[dose] < BARREN]


def _next_place(seen: Outcomes, planned: int, search: Search) -> float:
    if planned < len(OPENING):
        return OPENING[planned]
    if not sum(seen.lost):
        return 1.0 if seen.rounds else OPENING[0]
    if not sum(seen.held):
        return 0.0
    if seen.gap and seen.gap[1] - seen.gap[0] > max(LEAST_GAP, STEPS * search.step):
        return sum(seen.gap) / 2
    expected = curve(seen).place_of(SHARES[planned % len(SHARES)])
    return float(np.clip(expected, 0.0, 1.0))


# --- what they say


def answer(tries: Sequence[DoseTrial], search: Search) -> SearchAnswer:
    """Return what the rounds say, and whether they are enough."""
    seen = outcomes(tries, search)
    full = len(tries) >= search.most and all(one.over for one in tries)
    if not seen.rounds:
        return SearchAnswer(SearchOutcome.UNKNOWN, full, 0, 0)
    said = _said(seen, search, full)
    at = said.at
    return SearchAnswer(
        said.found,
        said.over,
        seen.rounds,
        sum(seen.lost),
        first=search.dose(seen.places[0]),
        last=search.dose(seen.places[-1]),
        at_first=_at(seen, 0),
        at_last=_at(seen, -1),
        boundary=_bound(at, search) if at else None,
        safe=_bound(located(seen, FEW, search.level), search) if at else None,
    )


def _at(seen: Outcomes, index: int) -> tuple[int, int]:
    """Return how many rounds there are at a dose, and how many of them were lost."""
    return seen.held[index] + seen.lost[index], seen.lost[index]


@dataclass(frozen=True)
class _State:
    found: SearchOutcome
    over: bool
    at: ShareLocation | None = None


def _said(seen: Outcomes, search: Search, full: bool) -> _State:
    if not sum(seen.lost) or not sum(seen.held):
        return _one_sided(seen, full)
    if seen.rounds < FEWEST and not full:
        return _State(SearchOutcome.UNKNOWN, over=False)
    rising, falling = trend(seen)
    if rising < RISES:
        return _State(SearchOutcome.INVERTED if falling >= RISES else SearchOutcome.FLAT, full)
    at = located(seen, HALF, search.level)
    if at.high is None or at.high > 1 or at.low is None or at.low < 0:
        above = at.at + _middle(at) > 1
        return _State(SearchOutcome.ABOVE if above else SearchOutcome.BELOW, full)
    narrow = search.dose(at.high) - search.dose(at.low) <= 2 * search.half_width and seen.rounds >= FEWEST
    return _State(SearchOutcome.LOCATED if narrow else SearchOutcome.WIDE, narrow or full, at)


def _one_sided(seen: Outcomes, full: bool) -> _State:
    """Return what rounds say of which all were held, or all were lost."""
    if sum(seen.lost):
        return _State(SearchOutcome.BELOW, full or seen.lost[0] >= AT_THE_END)
    return _State(SearchOutcome.ABOVE, full or seen.held[-1] >= AT_THE_END)


def _middle(at: ShareLocation) -> float:
    """Return the middle of an interval of which one end or both lie outside the range."""
    low = 0.0 if at.low is None else at.low
    return (low + (1.0 if at.high is None else at.high)) / 2


def _bound(at: ShareLocation, search: Search) -> Bound:
    """Return a place as a dose; what lies below 0 of anything, or below all doses, is not shown."""
    low = None if at.low is None or at.low < 0 else search.dose(at.low)
    return Bound(search.dose(at.at), low, None if at.high is None else search.dose(at.high))
