"""What a run's rounds say of the boundary that its study searches: the configurations, their rounds, their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from patternbench.analyze.boundary.search import DoseTrial, Search, SearchAnswer, answer
from patternbench.plan.doses import LeveledScenario, SearchedConfiguration, configurations, dose_field, today
from patternbench.plan.factors import Factors, Level
from patternbench.report.held_rounds import condition, held, search_of
from patternbench.report.labels import factor_title, level_text, level_with_unit
from patternbench.report.model import counting
from patternbench.study.boundary import Boundary
from patternbench.study.models import Study

_ALWAYS = ("client", "strategy")


class SearchedPlan(Protocol):
    """What a search was planned as: by a study's plan, or by that of a run."""

    @property
    def scenarios(self) -> Sequence[LeveledScenario]:
        """A scenario for each configuration at each dose."""

    @property
    def factors(self) -> Factors:
        """The factors by their names."""


@dataclass(frozen=True)
class SearchedBoundary:
    """A configuration that was searched: its name, its scenarios, its rounds in their order, and what they say."""

    name: str
    configuration: SearchedConfiguration
    tries: Sequence[DoseTrial]
    answer: SearchAnswer

    @property
    def measured(self) -> bool:
        """Whether any of its rounds is over."""
        return bool(self.tries)


@dataclass(frozen=True)
class Margins:
    """All that a run's rounds say of its boundary; ``today`` is the dose that the study itself has, if known."""

    boundary: Boundary
    search: Search
    factor: str
    today: float | None
    searched: Sequence[SearchedBoundary]


def margins(
    rounds: pd.DataFrame, plan: SearchedPlan, study: Study, boundary: Boundary, capacity: float | None = None
) -> Margins:
    """Return what the rounds of a search say. Shares are of the ``capacity``, where it is known."""
    factor, search = dose_field(study, boundary).factor, search_of(boundary)
    every = configurations(plan.scenarios, factor)
    outcomes, names = _outcomes(boundary, rounds), named([one.levels for one in every], plan.factors)
    searched = [_searched(name, one, rounds, outcomes, search) for name, one in zip(names, every, strict=True)]
    tried = [one for one in searched if one.measured]
    return Margins(boundary, search, factor, today(study, boundary, capacity), tried)


def _outcomes(boundary: Boundary, rounds: pd.DataFrame) -> dict[object, bool | None]:
    """Whether each round that counts was held, by the index of its row."""
    response = condition(boundary.of).response
    counted = counting(rounds)
    if response not in counted:
        return {}
    return {at: held(boundary, {response: float(value)}) for at, value in counted[response].items()}


def _searched(
    name: str,
    one: SearchedConfiguration,
    rounds: pd.DataFrame,
    outcomes: Mapping[object, bool | None],
    search: Search,
) -> SearchedBoundary:
    doses = {scenario: dose for dose, scenario in one.scenarios.items()}
    ordered = rounds.sort_values("round").scenario.items()
    tries = [DoseTrial(doses[str(scenario)], outcomes.get(at)) for at, scenario in ordered if scenario in doses]
    return SearchedBoundary(name, one, tries, answer(tries, search))


def named(levels: Sequence[Mapping[str, Level]], factors: Factors) -> list[str]:
    """Return the names of configurations: their strategy, and what else differs between them."""
    differs = {name for one in levels for name in one if len({repr(other.get(name)) for other in levels}) > 1} - {
        "strategy"
    }
    return [_name(one, [name for name in one if name in differs], factors) for one in levels]


def _name(levels: Mapping[str, Level], distinct: Sequence[str], factors: Factors) -> str:
    words = [
        f"{factor_title(name)} {level_with_unit(factors[name], levels[name]) if name in factors else levels[name]}"
        for name in distinct
        if name not in _ALWAYS
    ]
    client = [str(levels.get("client"))] if "client" in distinct else []
    return ", ".join([" ".join([*client, level_text(levels.get("strategy"))]), *words])
