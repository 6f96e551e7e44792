"""The title, kind and meaning of a response, from any source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Better(Enum):
    """Which direction of a response is better; neither, when it depends."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True)
class Response:
    """How a response is spoken of: name in the records, title, kind of unit, direction, meaning.

    ``kind`` is one of time (seconds in the records), percent, rate (per second), factor, share and count; ``unit`` is
    how values are measured where none of these says it.
    """

    name: str
    title: str
    kind: str
    better: Better
    meaning: str
    unit: str = ""
