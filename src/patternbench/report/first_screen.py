"""What the first screen of a run shows, as plain data: what to choose where, what it gains and costs, how sure it is.

A report and the viewers of a run show the same, which ``sections.deciding`` works out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

PERCENT = "%"
_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
FAR = 4
"""How many times as far as the middle one an interval may reach without being cut off."""


@dataclass(frozen=True)
class DrawnChange:
    """A change with its interval, in words and as numbers to draw; None where there is none.

    Changes of one ``unit`` share a scale. ``look`` says on which side of no change the whole interval lies: ``better``,
    ``worse``, or ``open`` where it holds no change.
    """

    text: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    look: str

    @property
    def ends(self) -> list[float]:
        """Every number that a picture of it has to show."""
        return [one for one in (self.value, self.low, self.high) if one is not None]


@dataclass(frozen=True)
class ChangesIn:
    """The changes in one response, one for each condition that they are of; ``text`` says all of them."""

    title: str
    text: str
    each: Sequence[DrawnChange]

    @property
    def look(self) -> str:
        """The look of all of them; ``open`` where they differ."""
        looks = {one.look for one in self.each}
        return looks.pop() if len(looks) == 1 else "open"


@dataclass(frozen=True)
class ScreenRow:
    """What to choose under a condition: the choice, what it gains and costs against the baseline, how sure it is.

    ``condition`` is empty where there is only one. ``yardstick`` says that the choice is what others are compared with.
    ``scenarios`` are the ids of the chosen ones.
    """

    condition: str
    choose: str
    sure: str
    look: str
    gain: ChangesIn | None = None
    costs: Sequence[ChangesIn] = ()
    yardstick: bool = False
    scenarios: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Contender:
    """A configuration under a condition, and how it differs from what the contenders are compared with."""

    condition: str
    name: str
    change: DrawnChange
    chosen: bool


@dataclass(frozen=True)
class FirstScreen:
    """The first screen of a run.

    ``sentences`` say what to choose, ``notes`` what that rests on. Contenders are compared with ``against`` in the
    response ``objective``, whose title is ``response``; ``hidden`` is how many of them are not among those listed.
    ``settled`` says whether every choice is clear.
    """

    sentences: Sequence[str]
    notes: Sequence[str]
    objective: str
    response: str
    against: str
    lower_is_better: bool
    rows: Sequence[ScreenRow]
    contenders: Sequence[Contender]
    hidden: int = 0
    settled: bool = False

    def with_costs(self, costs: Sequence[Sequence[ChangesIn]]) -> FirstScreen:
        """Return the screen with what the choice of each row makes worse."""
        rows = [replace(row, costs=tuple(more)) for row, more in zip(self.rows, costs, strict=True)]
        return replace(self, rows=tuple(rows))


def widest(changes: Sequence[DrawnChange]) -> float:
    """Return how far from no change a scale must reach for pictures of these changes: a round number.

    One interval that is far wider than the others is cut off, so that the others can be seen.
    """
    reaches = sorted(max(map(abs, one.ends), default=0.0) for one in changes)
    if not reaches or reaches[-1] <= 0:
        return 1.0
    usual = reaches[len(reaches) // 2] or reaches[-1]
    return rounded_up(max(one for one in reaches if one <= FAR * usual))


def rounded_up(value: float) -> float:
    """Return the next round number that is not smaller."""
    power = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 10.0 ** -_zeros(value)
    return next((step * power for step in _STEPS if step * power >= value), 10 * power)


def _zeros(value: float) -> int:
    """How many places behind the point the first digit of a number below 1 is."""
    places = 0
    while value < 1 and places < 300:  # noqa: PLR2004 - smaller numbers don't occur
        value, places = value * 10, places + 1
    return places
