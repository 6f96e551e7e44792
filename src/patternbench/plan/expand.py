"""Expansion: Algorithm 1 of Aderaldo et al. (2024), so that Equation 1 gives the number of scenarios.

``|S| x |F| x |U| x sum |CONF|``: system settings, faults and workload multiply; strategies add up.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from pydantic import BaseModel

from patternbench.plan import design
from patternbench.plan.doses import searched
from patternbench.plan.factors import (
    NOTHING_DECLARED,
    UNKNOWN,
    Factor,
    FactorField,
    Factors,
    Level,
    StoredFactor,
    factor_name,
    factor_of,
    known_fields,
    with_levels,
)
from patternbench.plan.scenarios import Scenario, content_id
from patternbench.study.faults import Fault, by_name, clashes
from patternbench.study.model.configuration import Configuration
from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import FileName
from patternbench.study.model.settings import Rule, Settable
from patternbench.study.model.tree import Path, count, fields, leaves, plain, variants
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem

MOST_SCENARIOS = 100_000
ALWAYS = ("client", "strategy")
"""Fields that are factors of every study, even with a single level."""


@dataclass(frozen=True)
class Plan:
    """The plan of a study: its factors by name, and its scenarios in the paper's order.

    ``left_out`` names the combinations that the system can't have, and that are therefore not scenarios.
    """

    factors: Factors
    scenarios: tuple[Scenario, ...]
    left_out: tuple[str, ...] = ()

    def files(self) -> list[str]:
        """Return the names of all files that some scenario reads, each once."""
        values = (value for scenario in self.scenarios for _, value in scenario.leaves())
        return list(dict.fromkeys(str(value) for value in values if isinstance(value, FileName)))

    def as_json(self) -> dict[str, object]:
        """Return the plan as plain data."""
        factors = [factor.as_json() for factor in self.factors.values()]
        left_out = {"left_out": list(self.left_out)} if self.left_out else {}
        return {"factors": factors, "scenarios": [scenario.as_json() for scenario in self.scenarios], **left_out}


def expand(study: Study, system: Settable = NOTHING_DECLARED) -> Plan:
    """All scenarios of a study in declared order. Raises InputError for an invalid test space.

    ``system`` describes the settings of the study's system.
    """
    study = searched(study)
    _check_size(study)
    _check_faults(study)
    every, named = list(_scenarios(study)), NamedLevels()
    factors = factors_of(map(named.of, every), _declared(study), known_fields(study, study.strategies, system))
    leveled = [replace(scenario, levels=levels_of(named.of(scenario), factors)) for scenario in every]
    selected = design.select(leveled, factors, study.design, study.seed)
    scenarios, left_out = _possible(selected, system)
    _check_unique(scenarios)
    return Plan(_used(factors, scenarios), scenarios, left_out)


class StoredScenario(Protocol):
    """A scenario as a run's plan keeps it."""

    @property
    def levels(self) -> dict[str, Level]:
        """The level of each factor that applies, or all levels of one."""

    @property
    def config(self) -> Configuration:
        """Its configuration, which its levels complete."""


class StoredPlan(Protocol):
    """A plan as a run keeps it."""

    @property
    def factors(self) -> Sequence[StoredFactor]:
        """The factors."""

    @property
    def scenarios(self) -> Sequence[StoredScenario]:
        """The scenarios."""


def factors_of_stored(planned: StoredPlan) -> dict[str, Factor]:
    """Return the factors of a run's plan; of an older plan, which held their levels alone, as its scenarios tell."""
    reported = {factor.name: Factor.of_stored(factor) for factor in planned.factors}
    if all(reported.values()):
        return {name: factor for name, factor in reported.items() if factor}
    meanings: dict[str, FactorField] = {}
    for stored in planned.scenarios:
        if not set(reported) <= set(meanings):
            scenario = Scenario.of(stored.config, stored.levels)
            meanings |= known_fields(scenario, [scenario.strategy], NOTHING_DECLARED)
    return {one.name: factor_of(one.name, one.levels, meanings.get(one.name, UNKNOWN)) for one in planned.factors}


def size(study: Study) -> int:
    """Return the number of combinations before ``design`` leaves any out: Equation 1."""
    shared = math.prod(count(part) for part in (study.system, study.workload, study.sampling, *study.faults))
    return shared * sum(count(strategy) for strategy in study.strategies)


class NamedLevels:
    """The level of every field of a scenario, by the field's name. Scenarios share parts; each is walked only once."""

    def __init__(self) -> None:
        # A part is kept with its levels: another one can't have its identity as long as it lives.
        self._by_part: dict[tuple[int, Path], tuple[object, dict[str, Level]]] = {}

    def of(self, scenario: Scenario) -> dict[str, Level]:
        """Return the levels of one scenario, its parts in declared order."""
        named: dict[str, Level] = {}
        for path, part in scenario.parts():
            named |= self._of_part(part, path)
        return named

    def _of_part(self, part: object, path: Path) -> dict[str, Level]:
        key = id(part), path
        if key not in self._by_part:
            levels = {factor_name(at): cast(Level, plain(value)) for at, value in leaves(part, path)}
            self._by_part[key] = part, levels
        return self._by_part[key][1]


def factors_of(
    named: Iterable[Mapping[str, Level]], declared: set[str], meanings: Mapping[str, FactorField]
) -> dict[str, Factor]:
    """Every field with several levels over the scenarios, or given as a list, by name, its levels in order."""
    seen: dict[str, list[Level]] = {}
    for scenario in named:
        for name, value in scenario.items():
            levels = seen.setdefault(name, [])
            if value not in levels:
                levels.append(value)
    varied = {name: levels for name, levels in seen.items() if len(levels) > 1 or name in declared.union(ALWAYS)}
    return {name: factor_of(name, levels, meanings[name]) for name, levels in varied.items()}


def levels_of(named: Mapping[str, Level], factors: Iterable[str]) -> dict[str, Level]:
    """Return the level of each factor that applies to a scenario."""
    return {name: named[name] for name in factors if name in named}


def _scenarios(study: Study) -> Iterator[Scenario]:
    shared = itertools.product(
        variants(study.system), variants(study.faults), variants(study.workload), variants(study.sampling)
    )
    for system, faults, workload, sampling in shared:
        for index, strategy in enumerate(study.strategies):
            for one in variants(strategy):
                yield Scenario(system, tuple(faults), workload, one.client.level, one, index, sampling=sampling)


def _declared(study: Study) -> set[str]:
    """Return the names of the fields that were given as a list, even one of a single level."""
    parts: list[tuple[Path, object]] = [(("system",), study.system), (("workload",), study.workload)]
    for name, fault in by_name(study.faults).items():
        parts += [(("faults", name), fault.chosen), (("faults", name), fault.bounds)]
    parts += [(("strategy", s.kind), s.chosen) for s in study.strategies]
    parts += [(("traces",), study.sampling)]
    return {factor_name(path) for start, node in parts for path in _varied(node, start)}


def _varied(node: object, path: Path) -> Iterator[Path]:
    if isinstance(node, Levels):
        if node.varied:
            yield path
    elif isinstance(node, (BaseModel, dict, list)):
        for name, value in fields(node):
            yield from _varied(value, (*path, name))


def _possible(scenarios: Iterable[Scenario], system: Settable) -> tuple[tuple[Scenario, ...], tuple[str, ...]]:
    """Return the scenarios whose settings go together, and of the others how many there are by which rule."""
    refused: Counter[str] = Counter()
    kept = []
    for scenario in scenarios:
        rule = system.refused(scenario.system.setting_levels)
        if rule is None:
            kept.append(scenario)
        else:
            refused[_in_words(rule)] += 1
    if not kept:
        message = f"the system does not combine {'; nor '.join(refused)}"
        raise InputError(Problem(message, path="system.settings", hint="choose other levels"))
    reported = (
        f"{_combinations(number)} with {words}: the system does not combine them" for words, number in refused.items()
    )
    return tuple(kept), tuple(reported)


def _combinations(number: int) -> str:
    return f"{number:,} combination{'' if number == 1 else 's'}"


def _in_words(rule: Rule) -> str:
    """Return a rule as a reader says it: ``algorithm: gcra with synchronisation: lazy or eager``."""
    sides = ((name, levels if isinstance(levels, list) else [levels]) for name, levels in rule.items())
    return " with ".join(f"{name}: {' or '.join(map(str, levels))}" for name, levels in sides)


def _used(factors: Factors, scenarios: tuple[Scenario, ...]) -> dict[str, Factor]:
    used = {name: {repr(s.levels.get(name)) for s in scenarios if name in s.levels} for name in factors}
    return with_levels(
        factors,
        {name: [level for level in factor.levels if repr(level) in used[name]] for name, factor in factors.items()},
    )


def _check_faults(study: Study) -> None:
    together = {number for faults in variants(study.faults) for number in clashes(faults)}
    if together:
        raise InputError([_clash(study.faults[number], number) for number in sorted(together)])


def _clash(fault: Fault, number: int) -> Problem:
    message = f"a second {fault.kind} fault acts at the same place ({fault.where}) at the same time"
    allowed = "one entry with a list where it varies, another `where`, or windows (`when`) that do not overlap"
    return Problem(message, path=f"faults[{number}]", allowed=allowed)


def _check_size(study: Study) -> None:
    total = size(study)
    if total > MOST_SCENARIOS:
        allowed = f"at most {MOST_SCENARIOS:,}; shorten a list, or fix a field"
        raise InputError(Problem(f"expands to {total:,} scenarios", allowed=allowed))


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
