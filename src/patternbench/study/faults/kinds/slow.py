"""Slow: a link has a bandwidth."""

from __future__ import annotations

import re
from decimal import Decimal
from types import MappingProxyType

from patternbench.study.faults.kind import Kind
from patternbench.study.model.amounts import Amount
from patternbench.study.model.levels import Levels

_UNITS = {"B": 1, "kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_PATTERN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s?(B|kB|MB|GB)\s?/\s?s")
UNLIMITED = "unlimited"


class Bandwidth(Amount):
    """Bytes per second with their unit, as in ``100kB/s`` (k is 1,000); ``unlimited`` is the level without it."""

    __slots__ = ()
    what = "a bandwidth"
    allowed = f"bytes per second with their unit: `100kB/s`, `1.5MB/s` (B, kB, MB, GB), or `{UNLIMITED}`"
    schema = MappingProxyType(
        {"pattern": r"^(\d+(\.\d+)? ?(B|kB|MB|GB) ?/ ?s|unlimited)$", "examples": ["100kB/s", UNLIMITED]}
    )

    @property
    def bytes_per_s(self) -> float | None:
        """The same as a number; None without a limit."""
        match = _PATTERN.fullmatch(self)
        return float(Decimal(match[1]) * _UNITS[match[2]]) if match else None

    @classmethod
    def parse(cls, text: str) -> Bandwidth:
        """Return the bandwidth that a text writes, in one writing; raises ValueError when it writes none."""
        match = _PATTERN.fullmatch(text.strip())
        amount = Decimal(match[1]) * _UNITS[match[2]] if match else None
        if text.strip() == UNLIMITED:
            return cls(UNLIMITED)
        if not amount:
            raise ValueError(f"{text!r} is not a bandwidth; write for example 100kB/s")
        unit = max((unit for unit in _UNITS if amount % _UNITS[unit] == 0 or unit == "B"), key=_UNITS.__getitem__)
        return cls(f"{(amount / _UNITS[unit]).normalize():f}{unit}/s")


class Slow(Kind):
    """Let no more pass than a bandwidth, in each direction, which all connections of the link share."""

    bandwidth: Levels[Bandwidth]

    @property
    def acts(self) -> bool:
        """Whether there is a limit."""
        return self.bandwidth.level.bytes_per_s is not None

    @property
    def at_proxy(self) -> dict[str, object]:
        """The limit in bytes per second."""
        return {"bytes_per_s": self.bandwidth.level.bytes_per_s}
