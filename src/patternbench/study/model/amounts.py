"""Levels that a study writes as a text with a unit, each with one writing."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema


class Amount(str):
    """Base of a text with a unit: ``what`` names it in an error, ``allowed`` says how to write it."""

    __slots__ = ()
    what: ClassVar[str]
    allowed: ClassVar[str]
    schema: ClassVar[Mapping[str, object]]
    """Its pattern and its examples, for the schema of a study."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Return the amount that a text writes, in one writing; raises ValueError when it writes none."""

    @classmethod
    def _validated(cls, value: object) -> Self:
        try:
            return cls.parse(value if isinstance(value, str) else "")
        except ValueError:
            raise PydanticCustomError("amount", "is not {what}", {"what": cls.what, "allowed": cls.allowed}) from None

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(cls._validated)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: object, _handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {"type": "string", **cls.schema}


_MEMORY = {"MB": 1000**2, "GB": 1000**3, "MiB": 1024**2, "GiB": 1024**3}
_MEMORY_SIZE = re.compile(rf"([1-9][0-9]{{0,5}})\s?({'|'.join(_MEMORY)})")
LEAST_MEMORY = 6 * 1024**2
"""Bytes of the smallest limit that Docker takes."""


class MemorySize(Amount):
    """A size of memory with its unit, as in ``64MB`` (1,000,000 bytes each) or ``64MiB`` (1,048,576)."""

    __slots__ = ()
    what = "a size of memory"
    allowed = f"a whole number with its unit, 6MiB at least: `64MB`, `1GiB` ({', '.join(_MEMORY)})"
    schema = MappingProxyType({"pattern": rf"^[1-9]\d{{0,5}} ?({'|'.join(_MEMORY)})$", "examples": ["64MB", "1GiB"]})

    @property
    def bytes(self) -> int:
        """The same as a number."""
        match = _MEMORY_SIZE.fullmatch(self)
        assert match is not None  # it was parsed
        return int(match[1]) * _MEMORY[match[2]]

    @classmethod
    def parse(cls, text: str) -> MemorySize:
        """Return the size that a text writes, in one writing; raises ValueError when it writes none."""
        match = _MEMORY_SIZE.fullmatch(text.strip())
        if match is None or int(match[1]) * _MEMORY[match[2]] < LEAST_MEMORY:
            raise ValueError(f"{text!r} is not a size of memory; write for example 64MB")
        return cls(f"{match[1]}{match[2]}")
