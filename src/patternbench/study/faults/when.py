"""When a fault acts: windows of a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Sparse
from patternbench.terms.units import Duration


class FaultWindow(Sparse):
    """A part of a round: when it begins, counted from the end of the warm-up, and how long it lasts.

    ``0ms`` is the level without the fault; without ``for`` it lasts to the round's end.
    """

    from_: Annotated[Levels[Duration], Field(alias="from")] = Levels.one(Duration(0))
    for_: Annotated[Levels[Duration] | None, Field(alias="for")] = None

    @property
    def begins_us(self) -> int:
        """When it begins, in microseconds."""
        return self.from_.level.us

    @property
    def ends_us(self) -> int | None:
        """When it ends, in microseconds; None with the round."""
        return None if self.for_ is None else self.begins_us + self.for_.level.us

    @property
    def is_empty(self) -> bool:
        """Whether it is over at once, so that nothing happens in it."""
        return self.for_ is not None and self.for_.level.us == 0


def _listed(value: object) -> object:
    """Return a window alone is a list of one."""
    return value if isinstance(value, list) else [value]


class _OneOrSeveral:
    """Says in a schema that a single window is allowed instead of a list of one."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        array = handler(schema)
        return {"anyOf": [array["items"], array]}


Windows = Annotated[list[FaultWindow], BeforeValidator(_listed), Field(max_length=1000), _OneOrSeveral()]


def overlap(these: Sequence[FaultWindow], those: Sequence[FaultWindow]) -> bool:
    """Whether windows of two faults share a moment; no windows are the whole round."""
    return any(_meet(one, other) for one in these or WHOLE for other in those or WHOLE)


def _meet(one: FaultWindow, other: FaultWindow) -> bool:
    if one.is_empty or other.is_empty:
        return False
    return _is_before_the_end(one.begins_us, other) and _is_before_the_end(other.begins_us, one)


def _is_before_the_end(moment: int, window: FaultWindow) -> bool:
    return window.ends_us is None or moment < window.ends_us


WHOLE = (FaultWindow(),)
"""The whole round, which a fault without windows acts in."""
