"""Holds a model against rounds that it does not rest on: the same scenarios, simulated about as often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
import pandas as pd

from patternbench.analyze.recommend.objectives import parse_limit, parse_objective
from patternbench.analyze.statements import predicted
from patternbench.analyze.statements.predicted import PredictionError, RoundsOfBoth
from patternbench.records import held_out
from patternbench.records.held_out import HeldOut, PredictedResponse, PredictedScenario
from patternbench.report.measures import measures
from patternbench.report.model import counting
from patternbench.run.before.preflight import expanded
from patternbench.simulation.evidence import CalibrationSource, MeasuredScenario
from patternbench.simulation.model_file import SimulationModel
from patternbench.simulation.prepared import unwatched
from patternbench.simulation.scratch_runs import Rehearsal
from patternbench.study.models import Study
from patternbench.terms.arrays import Floats
from patternbench.terms.nearness import Nearness
from patternbench.terms.quantities import SHARES
from patternbench.terms.responses import BY_NAME, USUAL, counted_by

CHECKED = ("goodput", "p50", "p95", "p99", "failure_rate", "amplification", "recovered", "recovery_time")
"""The responses that every check is about."""
POINT, SECOND = 1.0, 1.0
STEPS = {"recovery_time": SECOND, "recovered": POINT}
"""The least error that counts, of responses of observers: one counts whole seconds, one is a share."""
LEAST_ROUNDS = 6


@dataclass(frozen=True)
class HeldOutPart:
    """Scenarios of one run that a model is held against."""

    source: CalibrationSource
    scenarios: tuple[MeasuredScenario, ...]


@dataclass(frozen=True)
class _CheckedScenario:
    """A scenario with the rounds of its run: measured, and simulated."""

    scenario: MeasuredScenario
    measured: pd.DataFrame
    simulated: pd.DataFrame


def check(model: SimulationModel, parts: Sequence[HeldOutPart], rule: str) -> HeldOut:
    """Return how far a model is off on scenarios of some runs that it does not rest on. Raises InputError."""
    of_it = [one for part in parts for one in part.scenarios]
    rounds = max(LEAST_ROUNDS, max((len(one.files) for one in of_it), default=0))
    checked = [one for part in parts for one in _checked(model, part, rounds)]
    names = dict.fromkeys(name for part in parts for name in checked_responses(part.source.study, checked))
    errors = {name: _errors(name, checked) for name in names}
    return HeldOut(
        rule=rule,
        rounds=rounds,
        verdicts=predicted.verdicts(errors),
        scenarios=[_scenario(one, place, errors) for place, one in enumerate(of_it)],
        covers=held_out.covering(_alike(parts, of_it)),
    )


def _checked(model: SimulationModel, part: HeldOutPart, rounds: int) -> list[_CheckedScenario]:
    measured = counting(measures(part.source.run).rounds)
    simulated = simulated_rounds(model, part, rounds)
    return [_CheckedScenario(one, measured, simulated) for one in part.scenarios]


def _alike(parts: Sequence[HeldOutPart], of_it: Sequence[MeasuredScenario]) -> list[Mapping[str, object]]:
    """Return the scenarios whose pattern and faults were checked, those that the model rests on among them."""
    kinds = [held_out.kinds_of(one.scenario.configuration) for one in of_it]
    system = of_it[0].scenario.system if of_it else None
    every = [(part.source, one) for part in parts for one in part.source.scenarios if one.scenario.system == system]
    driven = [source.driven(one).configuration for source, one in every]
    return [one for one in driven if held_out.kinds_of(one) in kinds]


def checked_responses(study: Study, checked: Sequence[_CheckedScenario]) -> list[str]:
    """Return the responses to check: those of every check, those compared by default, and what the study decides by."""
    stated = study.recommend
    asked = [parse_objective(text).response for text in stated.objectives] if stated else []
    asked += [parse_limit(text).response for text in stated.subject_to] if stated else []
    names = dict.fromkeys([*CHECKED, *USUAL, *asked])
    return [name for name in names if any(_has(one, name) for one in checked)]


def _has(one: _CheckedScenario, response: str) -> bool:
    return bool(np.isfinite(_values(one.measured, one.scenario, response)).any())


def step_of(response: str) -> float:
    """Return the least error of a response that counts, in its unit: of a share a point."""
    known = BY_NAME.get(response)
    return POINT if known and known.kind == "percent" else STEPS.get(response, 0.0)


def _errors(response: str, checked: Sequence[_CheckedScenario]) -> list[PredictionError]:
    return predicted.judge([_both(one, response) for one in checked], response, step_of(response))


def _both(one: _CheckedScenario, response: str) -> RoundsOfBoth:
    """Return the rounds of both sides; of a share with the calls that it is of."""
    by = counted_by(response) if response in SHARES else ""
    measured, simulated = (_values(rounds, one.scenario, response) for rounds in (one.measured, one.simulated))
    calls = tuple(_values(rounds, one.scenario, by) for rounds in (one.measured, one.simulated))
    known = len(calls[0]) == len(measured) and len(calls[1]) == len(simulated)
    return RoundsOfBoth(measured, simulated, (calls[0], calls[1]) if by and known else None)


def _values(rounds: pd.DataFrame, one: MeasuredScenario, response: str) -> Floats:
    if response not in rounds.columns:
        return np.empty(0)
    rows = rounds.loc[(rounds.loc[:, "scenario"] == one.scenario.id).to_numpy(bool), response]
    values: Floats = rows.to_numpy(float)
    return values


def _scenario(one: MeasuredScenario, place: int, errors: dict[str, list[PredictionError]]) -> PredictedScenario:
    responses = [_response(name, of_it[place]) for name, of_it in errors.items() if np.isfinite(of_it[place].measured)]
    return PredictedScenario(
        scenario=one.scenario.id, levels=dict(one.levels), rounds=len(one.files), responses=responses
    )


def _response(name: str, error: PredictionError) -> PredictedResponse:
    return PredictedResponse(response=name, measured=rounded(error.measured), **judged(error))


class JudgedError(TypedDict):
    """What a record keeps of an error next to what was measured; null where there is too little to know."""

    relative: bool
    verdict: Nearness
    predicted: float | None
    error: float | None
    low: float | None
    high: float | None


def judged(error: PredictionError) -> JudgedError:
    """Return an error as records keep it."""
    return JudgedError(
        relative=error.relative,
        verdict=error.nearness,
        predicted=rounded(error.predicted),
        error=rounded(error.error),
        low=rounded(error.low),
        high=rounded(error.high),
    )


def rounded(value: float) -> float | None:
    """Return a number with six digits, or null if it is unknown."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def simulated_rounds(model: SimulationModel, part: HeldOutPart, rounds: int) -> pd.DataFrame:
    """Return rounds of the scenarios in simulated time, in the form of the records. Raises InputError."""
    source, wanted = part.source, {one.scenario.id for one in part.scenarios}
    whole = expanded(source.study, source.inputs)
    plan = replace(whole, scenarios=tuple(one for one in whole.scenarios if one.id in wanted))
    return Rehearsal(unwatched(source.study), source.file, plan, source.inputs).rounds(model, rounds)
