"""How products write amounts: numbers, shares and times, each in both directions.

An amount can be said exactly where what is written reads back as the same amount (``Notation.keeps``). What a product
would cut or clamp must therefore be cut or clamped by ``write``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from patternbench.terms.units import Duration

Plain = str | int | float | bool
"""What a file of configuration holds at one place."""
Level = str | int | float | bool | Duration
"""What a field of a policy holds."""
MS_US, S_US = 1_000, 1_000_000
M_US, H_US = 60 * S_US, 3_600 * S_US
_FROM_US = {"us": 1, "ms": MS_US, "s": S_US, "m": M_US, "h": H_US, "d": 24 * H_US}
_IN_US = {"ns": Decimal("0.001"), **{unit: Decimal(us) for unit, us in _FROM_US.items()}}
_FROM_MS = {"ms": MS_US, "s": S_US, "m": M_US, "h": H_US}
_PARTS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h|d)")
_ISO = re.compile(r"(?i)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_TIME_SPAN = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?")


@dataclass(frozen=True)
class Notation:
    """How a product writes one kind of amount, and how it reads it.

    ``read`` raises ValueError for what the product would refuse. ``about`` describes the notation to a reader.
    """

    about: str
    write: Callable[[Level], Plain]
    read: Callable[[Plain], Level]

    def keeps(self, value: Level) -> bool:
        """Whether the product takes exactly this."""
        return self.read(self.write(value)) == value


def time_of(level: Level) -> Duration:
    """Return a level that is a time. Raises TypeError for any other."""
    if not isinstance(level, Duration):
        raise TypeError(f"{level!r} is not a time")
    return level


def number_of(level: Level) -> float:
    """Return a level that is a number. Raises TypeError for any other."""
    if isinstance(level, bool) or not isinstance(level, int | float):
        raise TypeError(f"{level!r} is not a number")
    return level


def _of_times(about: str, write: Callable[[Duration], Plain], read: Callable[[Plain], Duration]) -> Notation:
    return Notation(about, lambda level: write(time_of(level)), read)


def _of_numbers(about: str, write: Callable[[float], Plain], read: Callable[[Plain], float]) -> Notation:
    return Notation(about, lambda level: write(number_of(level)), read)


def _same(value: float) -> Plain:
    return value


def _whole(written: Plain) -> int:
    if isinstance(written, bool) or float(written) != int(float(written)):
        raise ValueError(f"{written!r} is not a whole number")
    return int(float(written))


def _number(written: Plain) -> float:
    if isinstance(written, bool):
        raise ValueError(f"{written!r} is not a number")
    return _plain(Decimal(str(written)))


def _plain(number: Decimal) -> float:
    """Return a number that keeps no trace of how it was computed: 20, not 20.0."""
    return int(number) if number == int(number) else float(number)


def _truth(written: Plain) -> bool:
    if isinstance(written, bool):
        return written
    if str(written).lower() not in ("true", "false"):
        raise ValueError(f"{written!r} is neither true nor false")
    return str(written).lower() == "true"


def _us(number: Decimal | str, unit: str) -> Duration:
    return Duration(round(Decimal(number) * _IN_US[unit]))


def parts_of_a_time(text: str, units: tuple[str, ...]) -> Duration:
    """Return a time that is written as parts, each a number and one of these units: ``1m30s``. Raises ValueError."""
    squeezed = text.replace(" ", "")
    parts = _PARTS.findall(squeezed)
    if not parts or "".join(a + b for a, b in parts) != squeezed or not {unit for _, unit in parts} <= {*units}:
        raise ValueError(f"{text!r} is not a time; allowed: a number and one of {', '.join(units)}")
    return Duration(sum(_us(number, unit).us for number, unit in parts))


def _shortest(duration: Duration, units: Mapping[str, int]) -> str:
    """Return a time as a whole number of the largest of these units that it is a multiple of; cut to the smallest."""
    smallest = min(units, key=lambda unit: units[unit])
    fits = [unit for unit in units if duration.us and duration.us % units[unit] == 0]
    unit = max(fits, key=lambda one: units[one]) if fits else smallest
    return f"{duration.us // units[unit]}{unit}"


def _in_seconds(us: int) -> str:
    return f"{(Decimal(us) / S_US).normalize():f}"


def _spring_time(written: Plain) -> Duration:
    """Read a time as Spring Boot does: ``500ms``, ``PT0.5S``, or a bare number of milliseconds."""
    text = str(written).strip()
    if re.fullmatch(r"\d+", text):
        return Duration(int(text) * MS_US)
    iso = _ISO.fullmatch(text)
    if iso and len(text) > len("PT"):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in iso.groups())
        return _us(((days * 24 + hours) * 60 + minutes) * 60 + seconds, "s")
    if not re.fullmatch(r"\d+\s*[a-z]+", text):
        raise ValueError(f"{text!r} is not a time; allowed: 500ms, 2s, PT0.5S, or a number of milliseconds")
    return parts_of_a_time(text, ("ns", "us", "ms", "s", "m", "h", "d"))


def _iso(duration: Duration, smallest: int) -> str:
    """Write a time as ISO 8601: ``PT0.5S``; cut to the smallest unit."""
    return f"PT{_in_seconds(duration.us - duration.us % smallest)}S"


def _time_span(duration: Duration, smallest: int = 1) -> str:
    """Write a time as .NET does: ``d.hh:mm:ss.fffffff``, the days only if there are any."""
    seconds, us = divmod(duration.us - duration.us % smallest, S_US)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    text = f"{hour:02}:{minute:02}:{second:02}" + (f".{us:06}".rstrip("0") if us else "")
    return f"{days}.{text}" if days else text


def _from_time_span(written: Plain) -> Duration:
    """Read a time as .NET does; a bare number is a number of days."""
    text = str(written).strip()
    if re.fullmatch(r"\d+", text):
        return _us(text, "d")
    match = _TIME_SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a TimeSpan; allowed: 00:00:02 or 00:00:00.500")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return Duration(whole * S_US + _us("0." + (match[5] or "0"), "s").us)


def _seconds(duration: Duration, smallest: int = 1) -> str:
    """Write a time as JSON of Protocol Buffers does: ``0.5s``; cut to the smallest unit."""
    return f"{_in_seconds(duration.us - duration.us % smallest)}s"


def _from_seconds(written: Plain) -> Duration:
    text = str(written).strip()
    if not re.fullmatch(r"\d+(\.\d{1,9})?s", text):
        raise ValueError(f"{text!r} is not a time of Protocol Buffers; allowed: 0.5s, 2s")
    return _us(text[:-1], "s")


def _from_kubernetes(written: Plain) -> Duration:
    return parts_of_a_time(str(written), ("ms", "s", "m", "h"))


def _from_nginx(written: Plain) -> Duration:
    """Read a time as nginx does: ``1m 30s``; a bare number is a number of seconds."""
    text = str(written).strip()
    return _us(text, "s") if re.fullmatch(r"\d+", text) else parts_of_a_time(text, ("ms", "s", "m", "h", "d"))


def _of_percent(value: float) -> Plain:
    return _plain(Decimal(str(value)) / 100)


def _to_percent(written: Plain) -> float:
    return _plain(Decimal(str(_number(written))) * 100)


COUNT = _of_numbers("a whole number", int, _whole)
FURTHER = _of_numbers("one less, as the first attempt isn't counted", lambda n: int(n) - 1, lambda w: _whole(w) + 1)
NUMBER = _of_numbers("a number", _same, _number)
BELOW_ONE = _of_numbers("a number below 1", lambda share: min(share, 0.9999), _number)
PERCENT = _of_numbers("a number from 0 to 100", _same, _number)
WHOLE_PERCENT = _of_numbers("a whole number from 0 to 100", round, _number)
SHARE_OF_PERCENT = _of_numbers("a share from 0 to 1", _of_percent, _to_percent)
FLAG = Notation("true or false", bool, _truth)
TEXT = Notation("text", str, str)
SPRING = "a number and ms, s, m, h or d, or ISO 8601, in whole milliseconds"
SPRING_MS = _of_times(SPRING, lambda time: _shortest(time, {"ms": MS_US, "s": S_US}), _spring_time)
SPRING_US = _of_times(SPRING, lambda time: _shortest(time, {"us": 1, "ms": MS_US, "s": S_US}), _spring_time)
ISO_MS = _of_times(SPRING, lambda time: _iso(time, MS_US), _spring_time)
ISO_US = _of_times(SPRING, lambda time: _iso(time, 1), _spring_time)
WHOLE_SECONDS = _of_times(
    "a whole number of seconds", lambda time: time.us // S_US, lambda written: Duration(_whole(written) * S_US)
)
TIME_SPAN = _of_times("d.hh:mm:ss.fffffff (a bare number is days)", _time_span, _from_time_span)
TIME_SPAN_MS = _of_times("d.hh:mm:ss.fff, in whole milliseconds", lambda time: _time_span(time, MS_US), _from_time_span)
PROTOBUF = _of_times("a number of seconds and s", _seconds, _from_seconds)
PROTOBUF_MS = _of_times("seconds, in whole milliseconds", lambda time: _seconds(time, MS_US), _from_seconds)
KUBERNETES = _of_times("h, m, s or ms, in whole milliseconds", lambda time: _shortest(time, _FROM_MS), _from_kubernetes)
NGINX = _of_times("ms, s, m or h, in whole milliseconds", lambda time: _shortest(time, _FROM_MS), _from_nginx)
