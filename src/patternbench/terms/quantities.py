"""The units of a run's columns, by their names: times in seconds, shares in percent, rates a second.

A table without a run, with a column named like a run's response, is assumed to use the same unit.
"""

from __future__ import annotations

import math

from patternbench.terms.responses import ROUND_COSTS, named

SECONDS = named("time")
"""Responses whose unit is the second."""
TIMES = SECONDS | {*ROUND_COSTS}
"""What is measured in seconds: those responses, and what a round costs."""
SHARES = named("percent")
"""Responses in percent of calls, journeys or items. They are near zero or a hundred, so differences are in points."""
MINUS = "\N{MINUS SIGN}"
"""The sign of a change that goes down, as wide as a plus; a hyphen breaks lines and looks like a dash."""
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
"""How many seconds a unit of time holds."""
_OTHER = {**dict.fromkeys(SHARES, "%"), **dict.fromkeys(named("rate"), "/s")}
_SMALL = 1e-4
_LARGE = 1e12
_LONGEST_IN_MS = 2.0
_LEAST_P = 2.2e-16


def number(value: float) -> str:
    """Write a number with three significant digits, thousands apart, no needless zeros; a dash if it is unknown."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    size = abs(value)
    if size < _SMALL or size >= _LARGE:
        return f"{value:.2e}"
    digits = max(0, 2 - math.floor(math.log10(size)))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float) -> str:
    """Write a change as ``number`` does, with its sign: ``+1,880``, ``−3.2``."""
    return f"{'+' if value > 0 else ''}{number(value)}".replace("-", MINUS, 1 if value < 0 else 0)


def p_value(p: float) -> str:
    """Write a p-value. Below 2.2e-16, doubles can't distinguish it from zero; R prints it in the same way."""
    return "< 2.2e-16" if p < _LEAST_P else f"{p:.3g}"


def unit_of(response: str, largest: float, declared: str = "") -> tuple[str, float]:
    """Return the unit to show a response in, empty when unknown, and the factor to it from the table's values.

    ``declared`` is the unit of a response whose name is not among those above: one that an observer measures. Times are
    shown in milliseconds while the ``largest`` stays below 2 s.
    """
    if response in TIMES or declared == "s":
        return ("ms", 1000.0) if abs(largest) < _LONGEST_IN_MS else ("s", 1.0)
    return _OTHER.get(response, declared), 1.0


def quantity(response: str, value: float, declared: str = "") -> str:
    """Write a response's value with its unit: ``12.5 ms``, ``0.5 %``, ``1,200/s``, or the bare number."""
    unit, factor = unit_of(response, value, declared)
    return f"{number(value * factor)}{_behind(unit)}"


def span(response: str, low: float, high: float, declared: str = "", between: str = "to") -> str:
    """Write two ends of a response in one unit: ``102 to 137 ms``."""
    unit, factor = unit_of(response, max(abs(low), abs(high)), declared)
    return f"{number(low * factor)} {between} {number(high * factor)}{_behind(unit)}"


def _behind(unit: str) -> str:
    return unit if unit in ("", "/s", "×") else f" {unit}"


def apart(text: str) -> str:
    """Write a difference: one of shares is in points, for 3 % less 2 % is one point and not one percent."""
    return text.replace(" %", " points")


def titled(response: str, largest: float, declared: str = "") -> tuple[str, float]:
    """Return an axis title with its unit, ``p95 (ms)``, and the factor to that unit."""
    unit, factor = unit_of(response, largest, declared)
    return (f"{response} ({unit})" if unit else response), factor


class Seconds(float):
    """A level that is a duration, in seconds; its text is as a study writes it."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the duration with its unit: ``20ms``."""
        return duration_text(float(self))


def level_text(level: object) -> str:
    """Write a level: durations as a study writes them (``20ms``), other numbers plainly."""
    plain = isinstance(level, float) and not isinstance(level, Seconds)
    return f"{level:g}" if plain else str(level)


def duration_text(seconds: float) -> str:
    """Write seconds as a study does, in the largest unit that leaves no more than three decimals: ``20ms``, ``1.5s``.

    >>> duration_text(0.02)
    '20ms'
    """
    unit = next((u for u in ("s", "ms") if seconds >= UNITS[u]), "us") if seconds else "ms"
    return f"{seconds / UNITS[unit]:.6g}{unit}"
