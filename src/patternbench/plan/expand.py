"""Expansion: Algorithm 1 of Aderaldo et al. (2024), so that Equation 1 gives the number of scenarios.

``|S| x |F| x |U| x sum |CONF|``: system settings, faults and workload multiply; strategies add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from patternbench.plan import design
from patternbench.plan.scenarios import Level, Scenario, content_id
from patternbench.study.levels import Levels
from patternbench.study.models import Study
from patternbench.study.parts import FileName
from patternbench.study.problems import InputError, Problem
from patternbench.study.tree import Path, count, fields, plain, variants

MOST_SCENARIOS = 100_000
SHORT_NAMES = ("workload.closed.", "workload.open.", "workload.", "strategy.", "system.settings.")
"""Prefixes that a factor's name leaves out; what is left is unambiguous."""

STACK = ("strategy", "stack")
"""Where a stack's policies stand: their factors are called as those of a strategy alone (``retry.max_attempts``)."""


@dataclass(frozen=True)
class Plan:
    """What a study asks for: its factors with their levels, and its scenarios in the paper's order."""

    factors: dict[str, list[Level]]
    scenarios: tuple[Scenario, ...]

    def files(self) -> list[str]:
        """The names of all files that some scenario reads, each once."""
        found = (value for scenario in self.scenarios for _, value in scenario.leaves())
        return list(dict.fromkeys(str(value) for value in found if isinstance(value, FileName)))

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {"factors": self.factors, "scenarios": [scenario.as_json() for scenario in self.scenarios]}


def expand(study: Study) -> Plan:
    """All scenarios of a study in declared order; raises InputError for a test space that makes no sense."""
    _check_faults(study)
    _check_size(study)
    every = list(_scenarios(study))
    factors = factors_of(every, _declared(study))
    leveled = [replace(scenario, levels=levels_of(scenario, factors)) for scenario in every]
    scenarios = tuple(design.select(leveled, factors, study.design, study.seed))
    _check_unique(scenarios)
    return Plan(_used(factors, scenarios), scenarios)


def size(study: Study) -> int:
    """The number of combinations before ``design`` leaves any out: Equation 1."""
    shared = math.prod(count(part) for part in (study.system, study.workload, *study.faults))
    return shared * sum(count(strategy) for strategy in study.strategies)


def factor_name(path: Path) -> str:
    """The short name under which a path of a configuration is a factor: ``users``, ``abort.percentage``."""
    if path[:2] == STACK:
        path = (path[2], *path[4:])  # a policy's name, and not its kind once more
    name = ".".join(path)
    for prefix in ("faults.", *SHORT_NAMES):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def factors_of(scenarios: Iterable[Scenario], declared: set[str]) -> dict[str, list[Level]]:
    """Every field with several levels over the scenarios, or given as a list: name to levels in order."""
    seen: dict[str, list[Level]] = {}
    for scenario in scenarios:
        for name, value in _named_levels(scenario):
            levels = seen.setdefault(name, [])
            if value not in levels:
                levels.append(value)
    always = {"client", "strategy"}
    return {name: levels for name, levels in seen.items() if len(levels) > 1 or name in declared | always}


def levels_of(scenario: Scenario, factors: Iterable[str]) -> dict[str, Level]:
    """The level of each factor that applies to a scenario."""
    named = dict(_named_levels(scenario))
    return {name: named[name] for name in factors if name in named}


def _named_levels(scenario: Scenario) -> Iterator[tuple[str, Level]]:
    return ((factor_name(path), plain(value)) for path, value in scenario.leaves())


def _scenarios(study: Study) -> Iterator[Scenario]:
    shared = itertools.product(variants(study.system), variants(study.faults), variants(study.workload))
    for system, faults, workload in shared:
        for place, strategy in enumerate(study.strategies):
            for one in variants(strategy):
                yield Scenario(system, tuple(faults), workload, one.client.level, one, place)


def _declared(study: Study) -> set[str]:
    """The names of the fields that were given as a list, even one of a single level."""
    parts: list[tuple[Path, Any]] = [(("system",), study.system), (("workload",), study.workload)]
    parts += [(("faults", fault.kind), fault.chosen) for fault in study.faults]
    parts += [(("strategy", s.kind), s.chosen) for s in study.strategies]
    return {factor_name(path) for start, node in parts for path in _varied(node, start)}


def _varied(node: Any, path: Path) -> Iterator[Path]:
    if isinstance(node, Levels):
        if node.varied:
            yield path
    elif isinstance(node, (BaseModel, dict, list)):
        for name, value in fields(node):
            yield from _varied(value, (*path, name))


def _used(factors: dict[str, list[Level]], scenarios: tuple[Scenario, ...]) -> dict[str, list[Level]]:
    used = {name: {repr(s.levels.get(name)) for s in scenarios if name in s.levels} for name in factors}
    return {name: [level for level in levels if repr(level) in used[name]] for name, levels in factors.items()}


def _check_faults(study: Study) -> None:
    kinds = [fault.kind for fault in study.faults]
    for place, kind in enumerate(kinds):
        if kind in kinds[:place]:
            message = f"a second {kind} fault makes two factors with one name (`{kind}.percentage`)"
            allowed = "one entry a kind of fault, with a list where it varies"
            raise InputError(Problem(message, path=f"faults[{place}]", allowed=allowed))


def _check_size(study: Study) -> None:
    found = size(study)
    if found > MOST_SCENARIOS:
        allowed = f"at most {MOST_SCENARIOS:,}; shorten a list, or fix a field"
        raise InputError(Problem(f"expands to {found:,} scenarios", allowed=allowed))


def _check_unique(scenarios: tuple[Scenario, ...]) -> None:
    seen: dict[str, Scenario] = {}
    stacks: set[str] = set()
    for scenario in scenarios:
        what, known_by = f"{scenario.strategy.known_as} of {scenario.client}", content_id(scenario.levels)
        if scenario.id in seen:
            raise InputError(Problem(f"the same scenario is declared twice ({what})", path="strategies"))
        if known_by in stacks:
            hint = "give one of them a `name`"
            raise InputError(Problem(f"two stacks would be known by the same words ({what})", "strategies", hint=hint))
        seen[scenario.id] = scenario
        stacks |= {known_by} if scenario.strategy.stack else set()
