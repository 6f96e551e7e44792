"""Which factor goes where in a figure: rows, columns, the horizontal axis, and what tells lines apart.

For ResilienceBench's study this gives the arrangement of its Figures 4 and 5: client by users, over the fault
percentage, a line for each strategy and back-off delay. Other studies get the nearest arrangement that their
factors allow.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from patternbench.report.labels import numeric

_FAULT = re.compile(r"percent|fault|abort|outage|loss", re.IGNORECASE)
_LOAD = re.compile(r"users|rate\b|load|rps|arrival|concurren|connections", re.IGNORECASE)
CLIENT = re.compile(r"client|librar|\blib\b|platform|implementation|language", re.IGNORECASE)
_STRATEGY = re.compile(r"(^|[._\s])(strategy|pattern|algorithm)$", re.IGNORECASE)
_MOST_PANELS = 6


@dataclass(frozen=True)
class Roles:
    """The factor of each role, or None; `detail` are the factors that tell apart the lines of one colour."""

    row: str | None
    column: str | None
    x: str | None
    color: str | None
    detail: tuple[str, ...]

    @property
    def outside(self) -> tuple[str, ...]:
        """The factors that make a condition: the same for whatever strategy is compared."""
        return tuple(name for name in (self.row, self.column, self.x) if name is not None)


def roles(factors: Mapping[str, Sequence[Any]], partial: Collection[str] = ()) -> Roles:
    """Give every factor with several levels a role.

    `factors` maps names to levels; `partial` names those that do not apply to every scenario (a retry's delay
    does not apply to a breaker), which can only tell lines apart.
    """
    free = [name for name, levels in factors.items() if len(levels) > 1]
    color = _take(free, [name for name in free if _STRATEGY.search(name)])
    whole = [name for name in free if name not in partial]
    x = _take(free, _numeric(factors, _matching(whole, _FAULT)) + _numeric(factors, _matching(whole, _LOAD)))
    x = x or _take(free, sorted(_numeric(factors, whole), key=lambda name: -len(factors[name])))
    panels = [name for name in free if name in whole and len(factors[name]) <= _MOST_PANELS]
    column = _take(free, _matching(panels, _LOAD))
    row = _take(free, _matching(panels, CLIENT))
    left = [name for name in panels if name in free]
    column = column or _take(free, left)
    row = row or _take(free, [name for name in left if name in free])
    color = color or _take(free, free)
    if color is None and row is not None:
        row, color = None, row
    return Roles(row, column, x, color, tuple(free))


def _matching(names: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    return [name for name in names if pattern.search(name)]


def _numeric(factors: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[str]:
    return [name for name in names if all(numeric(level) is not None for level in factors[name])]


def _take(free: list[str], wanted: Sequence[str]) -> str | None:
    """Take the first wanted name out of the free ones."""
    found = next(iter(wanted), None)
    if found is not None:
        free.remove(found)
    return found
