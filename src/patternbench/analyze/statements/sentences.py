"""Changes in words: the one writer of ``−41 % (−44 to −38 %)``, of its two halves, and of how much a change is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from patternbench.terms.quantities import SHARES, number, signed, unit_of

NO_INTERVAL, UNKNOWN, CONSTANT = "no interval", "not measured", "the same in every round"
_BOTH = 2
_PERCENT, _POINTS = "\u00a0%", " points"
_MOST = {_PERCENT: 1000.0, _POINTS: 100.0}
"""The greatest amounts that are written out: of larger ones, from two or three rounds that differ a lot, digits mean
nothing, and no two shares are further apart than all."""
_HUNDREDFOLD, HUNDREDFOLD = 9900.0, "over 100 times"
"""The greatest change in percent that is written out, and what stands for a greater one: two rounds of each side often
bound a ratio so little that its end has nothing but digits."""
_UNSEEN = 1e-3
"""Of an end of its interval, the share below which a change is written as 0: numbers have three digits."""
Ends = tuple[float | None, float | None]
"""Both ends of an interval; None or NaN where there is none."""


@dataclass(frozen=True)
class ChangeText:
    """A change and its interval, each in words."""

    change: str
    interval: str

    def __str__(self) -> str:
        """Both in one: ``−41 % (−44 to −38 %)``; a change that isn't known needs no word on its interval."""
        return self.change if self.change == UNKNOWN else f"{self.change} ({self.interval})"


def change_text(response: str, value: float | None, ends: Ends, relative: bool, unit: str = "") -> ChangeText:
    """Write a change and its interval, both in one unit.

    It is in percent if ``relative``, else in the response's own unit, of which ``unit`` is one that an observer
    declares. Next to an interval that is a thousand times as wide, a change is 0. In percent the nearer end counts: few
    rounds may leave the other one as good as open.
    """
    if value is None or not math.isfinite(value):
        return ChangeText(UNKNOWN, NO_INTERVAL)
    known = [end for end in ends if end is not None and math.isfinite(end)]
    name, factor = _unit(response, max(map(abs, (value, *known))), relative, unit)
    wide = (min if relative else max)(map(abs, known), default=0.0)
    shown = 0.0 if abs(value) < _UNSEEN * wide else value
    return ChangeText(_written(shown * factor, name), _interval([end * factor for end in known], name))


def changed(response: str, value: float | None, ends: Ends, relative: bool, unit: str = "") -> str:
    """Write a change with its interval: ``−41 % (−44 to −38 %)``, ``+1.2 points (+0.8 to +1.6 points)``."""
    return str(change_text(response, value, ends, relative, unit))


def size(response: str, amount: float, relative: bool, unit: str = "") -> str:
    """Write how much a change is, whichever way it goes: ``12 %``, ``1.2 points``, ``20 ms``."""
    name, factor = _unit(response, abs(amount), relative, unit)
    most = _MOST.get(name, math.inf) if relative or response in SHARES else math.inf
    return f"more than {number(most)}{name}" if amount > most else f"{number(amount * factor)}{name}"


def listed(parts: Sequence[str]) -> str:
    """Write several parts in one sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else ""


def _interval(ends: Sequence[float], name: str) -> str:
    if len(ends) < _BOTH:
        return NO_INTERVAL
    low, high = ends
    if low == high:
        return CONSTANT
    first, last = _written(low, name), _written(high, name)
    if last != HUNDREDFOLD:
        return f"{signed(low)} to {last}"
    return last if first == last else f"{first} to {last}"


def _written(amount: float, name: str) -> str:
    """Write one amount with its unit; a ratio above a hundred in words, whatever its digits are."""
    return HUNDREDFOLD if name == _PERCENT and amount > _HUNDREDFOLD else f"{signed(amount)}{name}"


def _unit(response: str, largest: float, relative: bool, declared: str) -> tuple[str, float]:
    if relative:
        return _PERCENT, 1.0
    if response in SHARES or declared == "%":
        return _POINTS, 1.0
    name, factor = unit_of(response, largest, declared)
    return (name if name in ("", "/s") else f"\u00a0{name}"), factor
