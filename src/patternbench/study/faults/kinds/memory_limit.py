"""Memory limit: a container gets no more memory than a limit, while it runs."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot
from patternbench.study.model.amounts import Amount
from patternbench.study.model.levels import Levels

_UNITS = {"MB": 1000**2, "GB": 1000**3, "MiB": 1024**2, "GiB": 1024**3}
_PATTERN = re.compile(rf"([1-9][0-9]{{0,5}})\s?({'|'.join(_UNITS)})")
LEAST = 6 * 1024**2
"""Bytes of the smallest limit that Docker takes."""


class MemorySize(Amount):
    """A size of memory with its unit, as in ``64MB`` (1,000,000 bytes each) or ``64MiB`` (1,048,576)."""

    __slots__ = ()
    what = "a size of memory"
    allowed = f"a whole number with its unit, 6MiB at least: `64MB`, `1GiB` ({', '.join(_UNITS)})"
    schema = MappingProxyType({"pattern": rf"^[1-9]\d{{0,5}} ?({'|'.join(_UNITS)})$", "examples": ["64MB", "1GiB"]})

    @property
    def bytes(self) -> int:
        """The same as a number."""
        match = _PATTERN.fullmatch(self)
        assert match is not None  # it was parsed
        return int(match[1]) * _UNITS[match[2]]

    @classmethod
    def parse(cls, text: str) -> MemorySize:
        """Return the size that a text writes, in one writing; raises ValueError when it writes none."""
        match = _PATTERN.fullmatch(text.strip())
        if match is None or int(match[1]) * _UNITS[match[2]] < LEAST:
            raise ValueError(f"{text!r} is not a size of memory; write for example 64MB")
        return cls(f"{match[1]}{match[2]}")


class MemoryLimit(Kind):
    """Let each container of a service use that much memory and no more; it is killed when it needs more."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    size: Levels[MemorySize]
