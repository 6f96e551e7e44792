"""The factors of a plan: the fields that a study varies, their roles, and the units of their levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from patternbench.study.faults import Fault, by_name
from patternbench.study.model.levels import Levels
from patternbench.study.model.meaning import Meaning, meanings, of_part
from patternbench.study.model.placement import PROCESSES
from patternbench.study.model.settings import Settable, is_duration
from patternbench.study.model.system import System
from patternbench.study.model.tree import Path
from patternbench.study.models import Strategy, Study
from patternbench.study.watching import Traces
from patternbench.study.workload.workloads import Workload
from patternbench.terms.roles import Role, Unit

Level = str | int | float | bool | None

SHORT_NAMES = ("workload.closed.", "workload.open.", "workload.", "strategy.", "system.settings.")
"""Prefixes that a factor's name leaves out; what is left is unambiguous."""
STACK = ("strategy", "stack")
"""The path of a stack's policies, whose factors have the same names as in a strategy (``retry.max_attempts``)."""
SETTINGS = ("system", "settings")
SAMPLE = "traces.sample"
"""The share of requests that is traced: how a round is observed, and a circumstance of whatever is chosen."""
PLACE = "system.in"
"""Where the services of a system run; without the pattern of an instance per container, they are processes."""
BASELINE = "baseline"
"""The strategy without a pattern."""
NOTHING_DECLARED = Settable()


class StoredFactor(Protocol):
    """A factor as a run's plan keeps it; plans of before know name and levels alone."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def path(self) -> Sequence[str]:
        """Its path in a configuration."""

    @property
    def role(self) -> Role | None:
        """Its role in the experiment."""

    @property
    def unit(self) -> Unit | None:
        """The unit of its levels."""

    @property
    def none(self) -> Level:
        """The level without the pattern."""

    @property
    def levels(self) -> Sequence[Level]:
        """The level of each factor that applies, or all levels of one."""


@dataclass(frozen=True)
class Factor:
    """An input that a study varies: its name and path, its levels in order (durations as text), its role and unit.

    ``none`` is the level of a pattern at which there is no pattern; None where it has no such level.
    """

    name: str
    path: Path
    levels: tuple[Level, ...]
    role: Role
    unit: Unit
    none: Level = None

    @property
    def varies(self) -> bool:
        """Whether it has several levels."""
        return len(self.levels) > 1

    def as_json(self) -> dict[str, object]:
        """Return the factor as plain data, as ``plan.json`` holds it."""
        written = {"name": self.name, "path": list(self.path), "role": self.role.value, "unit": self.unit.value}
        return {**written, "none": self.none, "levels": list(self.levels)}

    @classmethod
    def of_stored(cls, stored: StoredFactor) -> Factor | None:
        """Return the factor that ``as_json`` wrote; None for one of an older plan, which says no role and unit."""
        if stored.role is None or stored.unit is None:
            return None
        if stored.name == SAMPLE:  # plans of before took it for a pattern
            return factor_of(SAMPLE, stored.levels, SAMPLED)
        path, levels = tuple(stored.path), tuple(stored.levels)
        return cls(stored.name, path, levels, stored.role, stored.unit, stored.none)


Factors = Mapping[str, Factor]
"""Factors by their names, in the order of variation."""


class VaryingParts(Protocol):
    """The parts of a study that may vary: those of a scenario, or of a study with several strategies."""

    @property
    def system(self) -> System:
        """The system."""

    @property
    def faults(self) -> Sequence[Fault]:
        """The faults."""

    @property
    def workload(self) -> Workload:
        """The workload."""

    @property
    def sampling(self) -> Mapping[str, Levels[str]]:
        """The share of requests that is traced, where that is a factor."""


@dataclass(frozen=True)
class FactorField:
    """A field before its levels are known: its path, its role and unit, its level without the pattern."""

    path: Path
    meaning: Meaning
    none: Level = None


SAMPLED = FactorField(("traces", "sample"), of_part(Traces, "sample"))
"""Path and meaning of the share of requests that is traced."""
UNKNOWN = FactorField((), Meaning(Role.WORLD, None))
"""The assumption for a factor of an older plan that none of its scenarios has."""


def known_fields(parts: VaryingParts, strategies: Iterable[Strategy], system: Settable) -> dict[str, FactorField]:
    """Every field by its name as a factor."""
    fields = {factor_name(path): FactorField(path, meaning) for path, meaning in _fields(parts, strategies)}
    for name, spec in system.settings.items():
        if name in fields and fields[name].path[:2] == SETTINGS:
            fields[name] = FactorField(fields[name].path, Meaning(spec.role, spec.unit), spec.none)
    if PLACE in fields:
        fields[PLACE] = replace(fields[PLACE], none=PROCESSES)
    pattern, client = of_part(Study, "strategies").role, of_part(Strategy, "client")
    fields[SAMPLE] = SAMPLED
    fields["client"] = FactorField(("client",), client)
    fields["strategy"] = FactorField(("strategy",), Meaning(pattern, Unit.TEXT), BASELINE)
    return fields


def factor_of(name: str, levels: Iterable[Level], field: FactorField) -> Factor:
    """Return the factor of a field, now that its levels are known.

    What has no unit of its own has that of its writing.
    """
    listed = tuple(levels)
    unit = field.meaning.unit or _as_written(listed)
    none = field.none if field.none in listed else None
    return Factor(name, field.path, listed, field.meaning.role, unit, none)


def with_levels(factors: Factors, levels: Mapping[str, Sequence[Level]]) -> dict[str, Factor]:
    """Return the factors with their remaining levels. A factor without any is left out."""
    remaining = {}
    for name, factor in factors.items():
        kept = tuple(level for level in factor.levels if level in levels[name])
        if kept:
            remaining[name] = replace(factor, levels=kept, none=factor.none if factor.none in kept else None)
    return remaining


def is_baseline(levels: Mapping[str, Level], factors: Factors) -> bool:
    """Whether every pattern is at its level without the pattern: strategy baseline, no limiter, bundles of one.

    False if no factor has a level without its pattern.
    """
    nones = {name: factor.none for name, factor in factors.items() if factor.none is not None}
    return bool(nones) and all(levels.get(name, none) == none for name, none in nones.items())


def factor_name(path: Path) -> str:
    """Return the short name under which a path of a configuration is a factor: ``users``, ``abort.percentage``."""
    if path[:2] == STACK:
        path = (path[2], *path[4:])  # a policy's name, and not its kind once more
    name = ".".join(path)
    for prefix in ("faults.", *SHORT_NAMES):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _fields(parts: VaryingParts, strategies: Iterable[Strategy]) -> Iterator[tuple[Path, Meaning]]:
    yield from meanings(parts.system, of_part(Study, "system"), ("system",))
    yield from meanings(parts.workload, of_part(Study, "workload"), ("workload",))
    for name, fault in by_name(parts.faults).items():
        yield from meanings(fault.chosen, of_part(Study, "faults"), ("faults", name))
        yield from meanings(fault.bounds, of_part(Study, "faults"), ("faults", name))
    for strategy in strategies:
        yield from meanings(strategy.chosen, of_part(Study, "strategies"), ("strategy", strategy.kind))


def _as_written(levels: Sequence[Level]) -> Unit:
    """Return the unit of levels without a declared one: ``20ms`` is a time, and a bare number never is."""
    present = [level for level in levels if level is not None]
    if present and all(is_duration(level) for level in present):
        return Unit.DURATION
    numbers = all(isinstance(level, int | float) and not isinstance(level, bool) for level in present)
    return Unit.COUNT if present and numbers else Unit.TEXT
