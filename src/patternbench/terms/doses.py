"""Doses: how much of something a round gets, such as calls per second or a fault's seconds, and how they are written.

A dose is a share (``70 %``), a time (``2s``), or a number (``120``, a rate also ``120/s``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from patternbench.terms.quantities import duration_text, number
from patternbench.terms.units import Duration

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s?(?:%|points?)")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:\s?/\s?s)?")
ALLOWED = "a share such as `70 %`, a time such as `2s`, or a number such as `120` or `120/s`"


class DoseUnit(Enum):
    """The unit of doses."""

    PERCENT = "percent"
    TIME = "time"
    NUMBER = "number"

    def written(self, value: float, noun: str = "") -> str:
        """Return a dose of this unit in words: ``71 %``, ``2.5s``, ``120/s`` where the ``noun`` is ``/s``."""
        if self is DoseUnit.TIME:
            return duration_text(float(f"{value:.3g}"))
        return f"{number(value)} %" if self is DoseUnit.PERCENT else f"{number(value)}{noun}"


@dataclass(frozen=True)
class Dose:
    """A dose: percent, seconds, or a bare number, by its unit."""

    value: float
    unit: DoseUnit

    @classmethod
    def parse(cls, written: str | float) -> Dose:
        """Return the dose that a study writes; raises ValueError for any other text."""
        text = f"{written}".strip()
        for unit, pattern in ((DoseUnit.PERCENT, _PERCENT), (DoseUnit.NUMBER, _NUMBER)):
            if match := pattern.fullmatch(text):
                return cls(float(match[1]), unit)
        return cls(Duration.parse(text).seconds, DoseUnit.TIME)

    def __str__(self) -> str:
        """Return the dose as a study would write it."""
        return self.unit.written(self.value)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _validated, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        text = {"type": "string", "examples": ["70 %", "4 points", "2s", "120/s"]}
        return {"anyOf": [{"type": "number", "minimum": 0}, text]}


def _validated(value: object) -> Dose:
    if isinstance(value, Dose):
        return value
    try:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return Dose.parse(value)
    except ValueError:
        pass
    raise PydanticCustomError("dose", "is not a dose", {"allowed": ALLOWED})
