"""Faults of which one acts at a time, shown as one factor, ``fault``, whose levels name the one that acts.

In a plan each fault has its own factors (``freeze.when.for``, ``crash_2.when.for``), most of which are at zero in any
one scenario. A single fault, and faults that act together, keep their factors, since figures run along them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from patternbench.plan.factors import Factor, Factors, Level
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import factor_title, level_text, level_with_unit, numeric
from patternbench.study.faults import Fault, from_plain
from patternbench.terms.roles import Role, Unit

FAULT, NO_FAULT = "fault", "no fault"
Levels = Mapping[str, Level]
T = TypeVar("T", Level, object)
"""What levels are: those of a plan, or of an analysis."""


@dataclass(frozen=True)
class ActingFaults:
    """Factors with those of several faults as one; ``varied`` are these, ``texts`` the words for their levels."""

    factors: Factors
    varied: Sequence[Factor] = ()
    texts: Mapping[tuple[object, ...], str] = field(default_factory=dict)

    def reported(self, levels: Mapping[str, T]) -> dict[str, T]:
        """Levels, as a plan or an analysis has them, with those of the faults as one, where the first of them was."""
        text = self.texts.get(_key(self.varied, levels))
        if text is None:
            return dict(levels)
        names = {factor.name for factor in self.varied}
        return {FAULT if name in names else name: text if name in names else level for name, level in levels.items()}


def acting_faults(factors: Factors, scenarios: Sequence[PlannedScenario]) -> ActingFaults:
    """Return what scenarios have in place of several faults of which at most one acts; else the factors as they are."""
    varied = [one for one in factors.values() if one.varies and one.role is Role.FAULT and one.path[:1] == ("faults",)]
    acting = [_acting(scenario, varied) for scenario in scenarios if _says_all(scenario, varied)]
    several = len({one.path[1] for one in varied}) > 1
    if not several or len(acting) < len(scenarios) or any(len(words) > 1 for words in acting):
        return ActingFaults(factors)
    keys = (_key(varied, scenario.levels) for scenario in scenarios)
    texts = {key: "".join(words) or NO_FAULT for key, words in zip(keys, acting, strict=True)}
    fault = Factor(FAULT, ("faults",), tuple(dict.fromkeys(texts.values())), Role.FAULT, Unit.TEXT)
    kept = {FAULT if one in varied else name: fault if one in varied else one for name, one in factors.items()}
    return ActingFaults(kept, varied, texts)


def _key(factors: Sequence[Factor], levels: Mapping[str, object]) -> tuple[object, ...]:
    """Levels of factors, alike for a plan's ``4s`` and the seconds of an analysis."""
    return tuple(_value(factor, levels.get(factor.name)) for factor in factors)


def _value(factor: Factor, level: object) -> object:
    value = numeric(level, factor.unit)
    return level_text(level) if value is None else value


def _says_all(scenario: PlannedScenario, varied: Sequence[Factor]) -> bool:
    """Whether the configuration of a scenario has every fault of which it has levels."""
    return {one.path[1] for one in varied if one.name in scenario.levels} <= _faults(scenario).keys()


def _acting(scenario: PlannedScenario, varied: Sequence[Factor]) -> list[str]:
    """Return the faults with varying levels that act in a scenario, in words: ``crash registry for 4 s``."""
    own = {name: [one for one in varied if one.path[1] == name] for name in _faults(scenario)}
    acting = ((name, fault) for name, fault in _faults(scenario).items() if own[name] and fault.acts)
    return [_words(fault, own[name], scenario.levels) for name, fault in acting]


def _faults(scenario: PlannedScenario) -> dict[str, Fault]:
    """Return the faults of a scenario by name; without those that today's patternbench doesn't know."""
    faults: dict[str, Fault] = {}
    for name, written in scenario.config.faults.items():
        try:
            faults[name] = from_plain(name, written)
        except ValidationError:
            continue
    return faults


def _words(fault: Fault, factors: Sequence[Factor], levels: Levels) -> str:
    where = "" if fault.at_the_edge else f" {fault.where}"
    stated = [f"{_last(one.name)} {level_with_unit(one, levels[one.name])}" for one in factors if one.name in levels]
    return f"{fault.kind}{where}{' ' if stated else ''}{', '.join(stated)}"


def _last(name: str) -> str:
    return factor_title(name.rsplit(".", 1)[-1])
