"""Levels that a study writes as a text with a unit, each with one writing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
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
