"""Screens a study: all of its scenarios are simulated, and those are measured that may be the choice.

The conditions (levels of load, faults, circumstances) are the user's questions, and all stay. Under each condition the
configurations are ranked by the study's own aim: first those that keep its limits, then by its first objective, each by
the mean of its simulated rounds. Every condition keeps as many as there is room for, the baseline among them, since a
choice is compared with it. What the model says of scenarios that were never checked is only a reason to look there:
measuring decides, and the report says what it corrected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from patternbench.analyze.recommend.objectives import Constraint, Objective, parse_limit, parse_objective
from patternbench.plan.expand import Plan
from patternbench.plan.factors import BASELINE
from patternbench.plan.scenarios import Scenario
from patternbench.records import screened
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs
from patternbench.records.screened import KeptScenario, ScreenRecord
from patternbench.report.sections.criteria import criteria_of
from patternbench.simulation import model_file, refusals
from patternbench.simulation.prepared import unwatched
from patternbench.simulation.scratch_runs import Rehearsal
from patternbench.study.load import StudyFile
from patternbench.study.models import Screen, Study
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.quantities import level_text
from patternbench.terms.roles import Role

PATH = "design.screen"
ConditionKey = tuple[str, ...]


@dataclass(frozen=True)
class ScreeningCriteria:
    """What ranks configurations: the first objective, and the limits."""

    objective: Objective
    limits: tuple[Constraint, ...]

    @property
    def responses(self) -> list[str]:
        """The responses that it needs."""
        return list(dict.fromkeys([self.objective.response, *(one.response for one in self.limits)]))

    def rank(self, means: Mapping[str, float]) -> tuple[bool, float]:
        """Return a key by which the better one is less; what has no value comes last."""
        broken = any(not _keeps(limit, means.get(limit.response, np.nan)) for limit in self.limits)
        value = means.get(self.objective.response, np.nan)
        signed = value if self.objective.minimise else -value
        return broken, signed if np.isfinite(signed) else np.inf


def _keeps(limit: Constraint, value: float) -> bool:
    return value <= limit.bound if limit.at_most else value >= limit.bound


class StudyScreen:
    """Leaves scenarios out of a plan by what a model says of them; remembers what it did."""

    def __init__(self, file: StudyFile) -> None:
        self._file = file
        self.record: ScreenRecord | None = None

    def choose(self, study: Study, plan: Plan, inputs: Inputs) -> Plan:
        """Return the plan of what is to be measured; all of it where the study has no screen. Raises InputError."""
        screen = study.design.screen
        if screen is None:
            return plan
        model = model_file.read(inputs.path(str(screen.with_)))
        wrong = refusals.problems(study, plan, model.model)
        if wrong:
            raise InputError(wrong)
        rehearsal = Rehearsal(unwatched(study), self._file, plan, inputs)
        rounds = rehearsal.rounds(model.model, screen.rounds)
        aim = _aim(study, plan, rounds)
        means = _means(rounds, aim.responses)
        kept = _kept(plan, means, aim, screen)
        self.record = ScreenRecord(
            model=model.model.name,
            sha256=model.sha256,
            objective=aim.objective.response,
            minimise=aim.objective.minimise,
            rounds=screen.rounds,
            scenarios=len(plan.scenarios),
            kept=[_told(one, means) for one in kept],
        )
        return replace(plan, scenarios=tuple(kept))

    def keep(self, folder: RunFolder) -> None:
        """Keep in a run's folder what it did; raises OSError."""
        if self.record is not None:
            screened.write(folder, self.record)


def _aim(study: Study, plan: Plan, rounds: pd.DataFrame) -> ScreeningCriteria:
    """Return the aim of a study, or the one that its report would assume."""
    criteria = criteria_of(study, plan.factors, list(rounds.columns))
    return ScreeningCriteria(parse_objective(criteria.objectives[0]), tuple(map(parse_limit, criteria.limits)))


def _means(rounds: pd.DataFrame, responses: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the means of responses by scenario."""
    names = [name for name in responses if name in rounds.columns]
    means = rounds.groupby("scenario", sort=False)[names].mean()
    rows = means.to_dict("index").items()
    return {str(scenario): {name: float(row[name]) for name in names} for scenario, row in rows}


def _kept(
    plan: Plan, means: Mapping[str, Mapping[str, float]], aim: ScreeningCriteria, screen: Screen
) -> list[Scenario]:
    """Return the scenarios to measure, in the plan's order. Raises InputError where there is too little room."""
    conditions: dict[ConditionKey, list[Scenario]] = {}
    for one in plan.scenarios:
        conditions.setdefault(_condition(one, plan), []).append(one)
    room = screen.keep // len(conditions)
    if room < 2:  # noqa: PLR2004 - a choice has two sides
        allowed = f"at least {2 * len(conditions)}: two for each of {len(conditions)} conditions"
        raise InputError(Problem("leaves nothing to choose from", f"{PATH}.keep", value=screen.keep, allowed=allowed))
    ids = {one.id for group in conditions.values() for one in _best(group, means, aim, room)}
    return [one for one in plan.scenarios if one.id in ids]


def _condition(scenario: Scenario, plan: Plan) -> ConditionKey:
    """Return the levels of all factors that one doesn't choose."""
    names = [name for name, factor in plan.factors.items() if factor.role not in (Role.PATTERN, Role.CLIENT)]
    return tuple(level_text(scenario.levels.get(name)) for name in names)


def _best(
    group: Sequence[Scenario], means: Mapping[str, Mapping[str, float]], aim: ScreeningCriteria, room: int
) -> list[Scenario]:
    """Return as many scenarios of a condition as there is room for, the baseline first."""
    ordered = sorted(group, key=lambda one: (one.strategy.kind != BASELINE, *aim.rank(means.get(one.id, {}))))
    return ordered[:room]


def _told(scenario: Scenario, means: Mapping[str, Mapping[str, float]]) -> KeptScenario:
    found = means.get(scenario.id, {})
    return KeptScenario(
        scenario=scenario.id,
        predicted={name: value if np.isfinite(value) else None for name, value in found.items()},
    )
