"""How sets of CPUs are written, in studies and in system files."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

LAST = 4095
"""The highest number of a CPU; a span is counted out, so its end is bounded first."""
ALL_CPUS = "all"
"""Says that there is no limit to some CPUs, as a level of a setting too."""


def _cpus(value: object) -> object:
    """Return the numbers of CPUs: one, a list, or a text such as ``0-1,3``. Empty for ``all``: there is no limit."""
    if value == ALL_CPUS:
        return ()
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}(-[0-9]{1,20})?(,[0-9]{1,20}(-[0-9]{1,20})?)*", value):
        spans = [[int(end) for end in part.split("-")] for part in value.split(",")]
        if any(end > LAST for span in spans for end in span):
            raise PydanticCustomError("cpus", "names a CPU that is too high", {"allowed": f"numbers up to {LAST}"})
        return tuple(number for span in spans for number in range(span[0], span[-1] + 1))
    if isinstance(value, str):
        raise PydanticCustomError("cpus", "names no CPUs", {"allowed": "numbers and spans, `0-1,3`, a list, or `all`"})
    if isinstance(value, int):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Cpus = Annotated[
    tuple[Annotated[int, Field(ge=0, le=LAST)], ...],
    BeforeValidator(_cpus, json_schema_input_type=str | int | list[int]),
]
"""Numbers of CPUs; empty means all."""
