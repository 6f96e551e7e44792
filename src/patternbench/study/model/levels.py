"""A field that may hold one value or a list of levels."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidatorFunctionWrapHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

T_co = TypeVar("T_co", covariant=True)
Level = TypeVar("Level")


class Levels(tuple[T_co, ...], Generic[T_co]):
    """The levels of a field. A scalar is a single level, and then the field isn't a factor."""

    varied: bool

    @property
    def level(self) -> T_co:
        """The only level, as every field of a scenario has it; raises ValueError where there are several."""
        (level,) = self
        return level

    @classmethod
    def of(cls, values: Iterable[T_co], *, varied: bool) -> Levels[T_co]:
        """Levels from values in the order in which they were declared."""
        levels = cls(values)
        levels.varied = varied
        return levels

    @classmethod
    def one(cls, value: Level) -> Levels[Level]:
        """Return the levels of a field that a study leaves at its stated default."""
        return Levels.of((value,), varied=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        (item,) = get_args(source)
        items = core_schema.list_schema(handler.generate_schema(item))
        as_list = core_schema.plain_serializer_function_ser_schema(list, return_schema=items)
        return core_schema.no_info_wrap_validator_function(cls._validate, items, serialization=as_list)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.WrapValidatorFunctionSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        array = handler(schema["schema"])
        levels = {**array, "minItems": 1, "uniqueItems": True}
        return {"anyOf": [array["items"], levels]}

    @classmethod
    def _validate(cls, value: object, handler: ValidatorFunctionWrapHandler) -> Levels[T_co]:
        if isinstance(value, Levels):
            return value
        if not isinstance(value, list):
            return cls.of(handler([value]), varied=False)
        if not value:
            raise PydanticCustomError("levels_empty", "is an empty list", {"allowed": "one value, or a list of levels"})
        levels = handler(value)
        _check_each_once(levels)
        return cls.of(levels, varied=True)


def _check_each_once(levels: Sequence[object]) -> None:
    """Raise an error for a level that is named twice, and for two that look the same wherever they are printed."""
    printed = [_printed(level) for level in levels]
    for index, level in enumerate(levels):
        if level in levels[:index]:
            said = {"level": str(level), "allowed": "each level once"}
            raise PydanticCustomError("levels_twice", "names the level {level} twice", said)
        if printed[index] is not None and printed[index] in printed[:index]:
            said = {"level": repr(level), "allowed": "levels that look different when they are printed"}
            raise PydanticCustomError("levels_alike", "has the level {level}, which is printed like another one", said)


def _printed(level: object) -> str | None:
    """Return what tables and pages show of a text or a number; None for any other level."""
    if not isinstance(level, (str, int, float)):
        return None
    text = str(level).lower() if isinstance(level, bool) else str(level)
    return unicodedata.normalize("NFC", text.strip())


def only(levels: Levels[T_co] | None) -> T_co | None:
    """Return the only level of a field that a study may leave open."""
    return None if levels is None else levels.level
