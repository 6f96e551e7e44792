"""The role of a factor in an experiment, and the unit of its levels."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a factor: load, fault, circumstance, client, or pattern, which is what one chooses."""

    LOAD = "load"
    FAULT = "fault"
    WORLD = "world"
    CLIENT = "client"
    PATTERN = "pattern"


class Unit(StrEnum):
    """The unit of a factor's levels; a count is a number without a unit."""

    DURATION = "duration"
    PERCENT = "percent"
    RATE = "rate"
    COUNT = "count"
    TEXT = "text"
