"""Durations and percentages as a study writes them.

Options of the command line are written in them, too, so pydantic is loaded only once a model asks how they are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, cast

from patternbench.terms.roles import Unit

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import core_schema

NS_PER_S = 1_000_000_000
NS_PER_US = 1_000
"""Nanoseconds in a microsecond: clocks give the former, records hold the latter."""
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_PATTERN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s?(us|ms|s|m|h)")
LONGEST_US = 24 * _UNITS["h"]


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time in whole microseconds, written with its unit: ``20ms``, ``3s``."""

    us: int

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Return the duration that ``text`` writes; raises ValueError when it writes none."""
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a duration; write for example 20ms or 3s")
        amount = Decimal(match[1]) * _UNITS[match[2]]
        if amount != int(amount):
            raise ValueError(f"{text!r} is finer than a microsecond")
        return cls(int(amount))

    @property
    def seconds(self) -> float:
        """The same length in seconds."""
        return self.us / 1_000_000

    def __str__(self) -> str:
        """Return the shortest whole-numbered writing, which is also the canonical one."""
        if self.us == 0:
            return "0ms"
        unit = max((u for u in _UNITS if self.us % _UNITS[u] == 0), key=lambda u: _UNITS[u])
        return f"{self.us // _UNITS[unit]}{unit}"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - only models are checked

        return core_schema.no_info_plain_validator_function(
            _validate_duration, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: object, _handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {"type": "string", "pattern": r"^\d+(\.\d+)? ?(us|ms|s|m|h)$", "examples": ["20ms", "3s"]}


def _refused(kind: str, message: str, allowed: str) -> ValueError:
    """Return what a model raises for a value."""
    from pydantic_core import PydanticCustomError  # noqa: PLC0415 - only models are checked

    return PydanticCustomError(kind, message, {"allowed": allowed})


def _validate_duration(value: object) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise _refused("duration_unit", "a duration needs a unit", f"`{value}ms`, `{value}s`, ... (us, ms, s, m, h)")
    try:
        duration = Duration.parse(value if isinstance(value, str) else "")
    except ValueError:
        allowed = "a number and a unit: `20ms`, `3s` (us, ms, s, m, h)"
        raise _refused("duration", "is not a duration", allowed) from None
    if duration.us > LONGEST_US:
        raise _refused("duration_long", "is longer than a day", "at most 24h")
    return duration


def _positive(duration: Duration) -> Duration:
    if duration.us == 0:
        raise _refused("duration_zero", "must be longer than 0", "1us to 24h")
    return duration


def _whole_when_it_is(number: float) -> float:
    return int(number) if float(number).is_integer() else float(number)


@dataclass(frozen=True)
class _Checked:
    """An annotation of a model's field: bounds of a number, then a function that checks or changes the value."""

    by: Callable[..., object]
    bounds: tuple[tuple[str, float], ...] = ()

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - only models are checked

        bounded = cast("core_schema.CoreSchema", {**handler(source), **dict(self.bounds)})
        return core_schema.no_info_after_validator_function(self.by, bounded)


PositiveDuration = Annotated[Duration, _Checked(_positive)]
Number = Annotated[float, _Checked(_whole_when_it_is)]
"""A number that keeps no trace of how it was typed: 20 and 20.0 are one level."""
Percentage = Annotated[float, _Checked(_whole_when_it_is, (("ge", 0), ("le", 100))), Unit.PERCENT]
PositivePercentage = Annotated[float, _Checked(_whole_when_it_is, (("gt", 0), ("le", 100))), Unit.PERCENT]


def roughly(seconds: float) -> str:
    """Return a length of time for people: ``45 s``, ``12 min``, ``3 h 05 min``."""
    whole, minutes = round(seconds), round(seconds / 60)
    if whole < 120:  # noqa: PLR2004 - as long as seconds say more
        return f"{whole} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"  # noqa: PLR2004 - likewise
