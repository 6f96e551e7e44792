"""Memory limit: a container gets no more memory than a limit, while it runs."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from patternbench.study.faults.kind import Kind, Spot
from patternbench.study.model.levels import Levels

_UNITS = {"MB": 1000**2, "GB": 1000**3, "MiB": 1024**2, "GiB": 1024**3}
_PATTERN = re.compile(rf"([1-9][0-9]{{0,5}})\s?({'|'.join(_UNITS)})")
LEAST = 6 * 1024**2
"""Bytes of the smallest limit that Docker takes."""


class MemorySize(str):
    """A size of memory with its unit, as in ``64MB`` (1,000,000 bytes each) or ``64MiB`` (1,048,576)."""

    __slots__ = ()

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

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_validated)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: object, _handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {"type": "string", "pattern": rf"^[1-9]\d{{0,5}} ?({'|'.join(_UNITS)})$", "examples": ["64MB", "1GiB"]}


def _validated(value: object) -> MemorySize:
    try:
        return MemorySize.parse(value if isinstance(value, str) else "")
    except ValueError:
        allowed = f"a whole number with its unit, 6MiB at least: `64MB`, `1GiB` ({', '.join(_UNITS)})"
        raise PydanticCustomError("memory", "is not a size of memory", {"allowed": allowed}) from None


class MemoryLimit(Kind):
    """Let each container of a service use that much memory and no more; it is killed when it needs more."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    size: Levels[MemorySize]
