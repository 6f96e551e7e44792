"""Expansion: Algorithm 1 of Aderaldo et al. (2024), so that Equation 1 gives the number of scenarios.

``|S| x |F| x |U| x sum |CONF|``: system settings, faults and workload multiply; strategies add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from patternbench.plan import design
from patternbench.plan.scenarios import Level, Scenario, content_id, plain, strategy_name
from patternbench.study.levels import Levels
from patternbench.study.models import Strategy, Study
from patternbench.study.parts import FileName, Model, OneOf, written
from patternbench.study.problems import InputError, Problem

MOST_SCENARIOS = 100_000
SHORT_NAMES = ("workload.closed.", "workload.open.", "workload.", "strategy.", "system.settings.")
"""Prefixes that a factor's name leaves out; what is left is unambiguous."""

STACK = ("strategy", "stack")
"""Where a stack's policies stand: their factors are called as those of a strategy alone (``retry.max_attempts``)."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What a study asks for: its factors with their levels, and its scenarios in the paper's order."""

    factors: dict[str, list[Level]]
    scenarios: tuple[Scenario, ...]

    def files(self) -> list[str]:
        """The names of all files that some scenario reads, each once."""
        leaves = (leaf for scenario in self.scenarios for _, leaf in flatten(scenario.config))
        return list(dict.fromkeys(str(leaf) for leaf in leaves if isinstance(leaf, FileName)))

    def as_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {"factors": self.factors, "scenarios": [scenario.as_json() for scenario in self.scenarios]}


def expand(study: Study) -> Plan:
    """All scenarios of a study in declared order; raises InputError for a test space that makes no sense."""
    _check_faults(study)
    _check_size(study)
    configs = list(_configs(study))
    factors = factors_of(configs, _declared(study))
    kept = design.select(
        [(config, levels_of(config, factors)) for config in configs], factors, study.design, study.seed
    )
    scenarios = tuple(Scenario(content_id(config), levels, config) for config, levels in kept)
    _check_unique(scenarios)
    return Plan(_used(factors, scenarios), scenarios)


def size(study: Study) -> int:
    """The number of combinations before ``design`` leaves any out: Equation 1."""
    shared = math.prod(count(part) for part in (study.system, study.workload, *study.faults))
    return shared * sum(count(strategy) for strategy in study.strategies)


def count(node: Any) -> int:
    """How many concrete versions a part of a study has."""
    if isinstance(node, Levels):
        return len(node)
    if isinstance(node, (BaseModel, dict, list)):
        return math.prod(count(value) for _, value in _fields(node))
    return 1


def variants(node: Any) -> Iterator[Any]:
    """Every concrete version of a part, as nested dicts; the field declared first varies slowest."""
    if isinstance(node, Levels):
        yield from node
    elif isinstance(node, (BaseModel, dict)):
        yield from _combinations(dict(_fields(node)))
    elif isinstance(node, list):
        yield from ([*entries] for entries in itertools.product(*(list(variants(entry)) for entry in node)))
    else:
        yield node


def flatten(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The leaves of a nested configuration with their paths."""
    if isinstance(node, (dict, list)):
        for key, value in _fields(node):
            yield from flatten(value, (*path, key))
    else:
        yield path, node


def factor_name(path: Path) -> str:
    """The short name under which a path of a configuration is a factor: ``users``, ``abort.percentage``."""
    if path[:2] == STACK:
        path = (path[2], *path[4:])  # a policy's name, and not its kind once more
    name = ".".join(path)
    for prefix in ("faults.", *SHORT_NAMES):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def factors_of(configs: list[dict[str, Any]], declared: set[str]) -> dict[str, list[Level]]:
    """Every field with several levels over the configurations, or given as a list: name to levels in order."""
    seen: dict[str, list[Level]] = {}
    for config in configs:
        for name, value in _named_levels(config):
            levels = seen.setdefault(name, [])
            if value not in levels:
                levels.append(value)
    always = {"client", "strategy"}
    return {name: levels for name, levels in seen.items() if len(levels) > 1 or name in declared | always}


def levels_of(config: dict[str, Any], factors: Iterable[str]) -> dict[str, Level]:
    """The level of each factor that applies to a configuration."""
    named = dict(_named_levels(config))
    return {name: named[name] for name in factors if name in named}


def _named_levels(config: dict[str, Any]) -> Iterator[tuple[str, Level]]:
    for path, value in flatten({key: part for key, part in config.items() if key != "strategy"}):
        yield factor_name(path), plain(value)
    yield "strategy", strategy_name(config["strategy"])
    for path, value in flatten(config["strategy"], ("strategy",)):
        if path != ("strategy", "name"):
            yield factor_name(path), plain(value)


def _configs(study: Study) -> Iterator[dict[str, Any]]:
    faults = {fault.kind: getattr(fault, fault.kind) for fault in study.faults}
    shared = itertools.product(variants(study.system), variants(faults), variants(study.workload))
    for system, fault, workload in shared:
        for strategy in study.strategies:
            for client, choice in _strategy_variants(strategy):
                yield {"system": system, "faults": fault, "workload": workload, "client": client, "strategy": choice}


def _strategy_variants(strategy: Strategy) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from itertools.product(strategy.client, versions(strategy))


def versions(strategy: Strategy) -> list[dict[str, Any]]:
    """Every configuration of a strategy, whichever the client."""
    name = {"name": strategy.name} if strategy.name else {}
    return [{strategy.kind: config} | name for config in variants(getattr(strategy, strategy.kind))]


def _combinations(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*(list(variants(value)) for value in fields.values())):
        yield dict(zip(fields, values, strict=True))


def _fields(node: BaseModel | dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    """The parts of a node that are part of a configuration, with their names."""
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, list):
        yield from zip(_names(node), node, strict=True)
    else:
        kept = (name for name in type(node).model_fields if not (isinstance(node, Model) and node.omits(name)))
        yield from ((written(name), getattr(node, name)) for name in kept)


def _names(entries: list[Any]) -> list[str]:
    """What the entries of a list go by: their kinds, their own names when each has one of its own, or their places."""
    kinds = [_kind(entry) for entry in entries]
    if all(kinds):
        return [_numbered(kinds, place) for place in range(len(kinds))]
    names = [entry.get("name") if isinstance(entry, dict) else getattr(entry, "name", None) for entry in entries]
    own = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return [str(name) if own else str(place) for place, name in enumerate(names)]


def _kind(entry: Any) -> str:
    """The one thing that an entry is, such as a policy of a stack; nothing for an entry of several fields."""
    if isinstance(entry, OneOf):
        return entry.kind
    return str(next(iter(entry))) if isinstance(entry, dict) and len(entry) == 1 else ""


def _numbered(kinds: list[str], place: int) -> str:
    """A kind, with its number from the second of a kind on: ``timeout``, ``timeout_2``."""
    before = kinds[:place].count(kinds[place])
    return f"{kinds[place]}_{before + 1}" if before else kinds[place]


def _declared(study: Study) -> set[str]:
    """The names of the fields that were given as a list, even one of a single level."""
    parts: list[tuple[Path, Any]] = [(("system",), study.system), (("workload",), study.workload)]
    parts += [(("faults", fault.kind), getattr(fault, fault.kind)) for fault in study.faults]
    parts += [(("strategy", s.kind), getattr(s, s.kind)) for s in study.strategies]
    return {factor_name(path) for start, node in parts for path in _varied(node, start)}


def _varied(node: Any, path: Path) -> Iterator[Path]:
    if isinstance(node, Levels):
        if node.varied:
            yield path
    elif isinstance(node, (BaseModel, dict, list)):
        for name, value in _fields(node):
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
        what, known_by = f"{scenario.strategy} of {scenario.client}", content_id(scenario.levels)
        if scenario.id in seen:
            raise InputError(Problem(f"the same scenario is declared twice ({what})", path="strategies"))
        if known_by in stacks:
            hint = "give one of them a `name`"
            raise InputError(Problem(f"two stacks would be known by the same words ({what})", "strategies", hint=hint))
        seen[scenario.id] = scenario
        stacks |= {known_by} if "stack" in scenario.config["strategy"] else set()
