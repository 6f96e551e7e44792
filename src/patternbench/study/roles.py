"""What a factor is to an experiment, and what its levels are measured in."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a factor is: the load, a fault, a circumstance, who calls, or a pattern, which is what one chooses."""

    LOAD = "load"
    FAULT = "fault"
    WORLD = "world"
    CLIENT = "client"
    PATTERN = "pattern"


class Unit(StrEnum):
    """What the levels of a factor are measured in; a count is a number without a unit."""

    DURATION = "duration"
    PERCENT = "percent"
    RATE = "rate"
    COUNT = "count"
    TEXT = "text"
