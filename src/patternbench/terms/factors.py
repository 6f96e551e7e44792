"""The factors of a table: the role of each in the experiment, and the unit of its levels.

A run's rounds come with a table of their factors; of any other table nothing is known, and its numbers are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from patternbench.terms.quantities import UNITS, Seconds, duration_text, level_text, number, quantity

LOAD, FAULT, WORLD, CLIENT, PATTERN = ROLES = ("load", "fault", "world", "client", "pattern")
DURATION, PERCENT, RATE, COUNT, TEXT = MEASURED_IN = ("duration", "percent", "rate", "count", "text")
_DURATION = re.compile(r"^([0-9]+(?:\.[0-9]+)?)(us|ms|s|m|h)$")


NO_UNITS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Trait:
    """One factor: its role, its unit, its level without the pattern (None if there is no such level), all its levels.

    The levels are in declared order; empty where that isn't known.
    """

    role: str
    unit: str
    none: object = None
    levels: tuple[object, ...] = ()


class FactorRow(BaseModel):
    """One factor as plain data holds it; ``none`` and ``levels`` are as a table of rounds or a study has them."""

    name: str
    role: str
    unit: str
    none: object = None
    levels: tuple[object, ...] = ()


@dataclass(frozen=True)
class FactorTable:
    """Factors by their names, in the order of variation; empty for a table that isn't a run's."""

    traits: Mapping[str, Trait] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    """The units of the responses that observers measure, by the responses' names."""

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, object]], units: Mapping[str, str] = NO_UNITS) -> FactorTable:
        """Return the table from plain rows of ``FactorRow``; raises ValueError where one lacks a field."""
        return replace(cls.of_rows(FactorRow.model_validate(row) for row in rows), units=units)

    @classmethod
    def of_rows(cls, rows: Iterable[FactorRow]) -> FactorTable:
        """Return the table from rows that were read."""
        return cls({row.name: _as_held(Trait(row.role, row.unit, row.none, row.levels)) for row in rows})

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.traits)

    def __contains__(self, name: object) -> bool:
        """Whether a factor of this name is known."""
        return name in self.traits

    @property
    def patterns(self) -> tuple[str, ...]:
        """The factors that are chosen: of clients and of the system."""
        return tuple(name for name, trait in self.traits.items() if trait.role == PATTERN)

    @property
    def nones(self) -> dict[str, object]:
        """The level without the pattern, of each pattern that has one."""
        return {name: self.traits[name].none for name in self.patterns if self.traits[name].none is not None}

    def unit(self, response: str) -> str:
        """Return the unit of a response that an observer measures; empty for any other."""
        return self.units.get(response, "")

    def is_duration(self, name: str) -> bool:
        """Whether a column holds durations, in seconds."""
        return name in self.traits and self.traits[name].unit == DURATION

    def level(self, name: str, value: object) -> object:
        """Return a value of a column as a level that knows how it is written."""
        timed = self.is_duration(name) and isinstance(value, (int, float)) and not isinstance(value, bool)
        return Seconds(value) if timed else value  # type: ignore[arg-type]  # a number, as was just asked

    def text(self, name: str, value: object) -> str:
        """Write a level of a factor: durations as a study does (``20ms``), other numbers plainly."""
        return level_text(self.level(name, value))

    def measured_at(self, name: str, value: float) -> str:
        """Write a value within the range of a numeric factor: durations as a study does."""
        return duration_text(value) if self.is_duration(name) else number(value)

    def held(self, name: str, value: object) -> str:
        """Write what a row holds in a column, a response or a factor."""
        if not isinstance(value, float):
            return str(value)
        return self.text(name, value) if self.is_duration(name) else quantity(name, value, self.unit(name))

    def read(self, name: str, text: str) -> float:
        """Read a level as a number; durations may carry their unit. Raises ValueError for anything else."""
        match = _DURATION.match(text.strip()) if self.is_duration(name) else None
        return float(match[1]) * UNITS[match[2]] if match else float(text)

    def is_baseline(self, levels: Mapping[str, object]) -> bool:
        """Whether every pattern that can be none is so at these levels; a pattern that does not apply is."""
        nones = self.nones
        return bool(nones) and all(levels.get(name, none) == none for name, none in nones.items())

    def place(self, name: str, level: object) -> int:
        """Return the place of a level in the declared order; what doesn't apply comes first, an unknown level last."""
        if level is None or name not in self.traits:
            return -1
        declared = [level_text(self.level(name, one)) for one in self.traits[name].levels]
        text = self.text(name, level)
        return declared.index(text) if text in declared else len(declared)

    def rows(self, names: Sequence[str]) -> list[dict[str, object]]:
        """Return plain rows, which ``of`` reads; without levels, of which a fitted model has its own."""
        known = ((name, self.traits[name]) for name in names if name in self.traits)
        return [{"name": name, "role": one.role, "unit": one.unit, "none": one.none} for name, one in known]


NOTHING_KNOWN = FactorTable()


def _as_held(trait: Trait) -> Trait:
    """Return a trait whose levels are numbers of seconds where those of its factor are."""
    if trait.unit != DURATION:
        return trait
    return replace(trait, none=_in_seconds(trait.none), levels=tuple(map(_in_seconds, trait.levels)))


def _in_seconds(level: object) -> object:
    match = _DURATION.match(level) if isinstance(level, str) else None
    return float(match[1]) * UNITS[match[2]] if match else level
