"""The capacity that shares of a run are of: given by its study, or measured before its rounds and after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patternbench.drivers.driver import DriverError
from patternbench.drivers.engine import JobError
from patternbench.lab.host.processes import StartError
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import any_shares
from patternbench.records.inputs import Inputs
from patternbench.records.stored import MeasuredCapacity
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.model.levels import Levels
from patternbench.study.models import ALWAYS_THERE, Strategy, Study
from patternbench.study.workload.policies import Baseline

if TYPE_CHECKING:
    from patternbench.analyze.load.rate_search import Limits, RateObjective
    from patternbench.run.single.rate_rounds import MeasuresRates

BEFORE, AFTER = "before", "after"
"""When a capacity was measured, in the manifest."""


def needed(study: Study, plan: Plan) -> DeclaredCapacity | None:
    """Return the capacity that a study declares; None where none of its rates is a share of it."""
    return study.capacity if any_shares(plan.scenarios) else None


def lacking(study: Study, plan: Plan, noted: Mapping[str, MeasuredCapacity], over: bool) -> str | None:
    """Return when a capacity is to be measured now: before the rounds, or after them once they are ``over``."""
    declared = needed(study, plan)
    if declared is None:
        return None
    if BEFORE not in noted:
        return BEFORE
    return AFTER if over and declared.rate is None and AFTER not in noted else None


def measured(study: Study, plan: Plan, declared: DeclaredCapacity, inputs: Inputs) -> MeasuredCapacity:
    """Return the capacity: the one that is given, or the one that is measured now; a note says why there is none."""
    if declared.rate is not None:
        return MeasuredCapacity(rate=declared.rate)
    from patternbench.run.single.rate_rounds import fixture_of  # noqa: PLC0415 - scipy is slow to load

    asked = asked_of(declared)
    try:
        with fixture_of(study, inputs, bare(plan.scenarios[0]), declared.duration, asked.objective) as up:
            return searched(up, asked)
    except (DriverError, JobError, StartError) as error:
        return MeasuredCapacity(rate=None, note=str(error))


@dataclass(frozen=True)
class AskedCapacity:
    """What a search for a capacity keeps, and where it looks."""

    objective: RateObjective
    limits: Limits


def asked_of(declared: DeclaredCapacity) -> AskedCapacity:
    """Return what a study asks of the search for its capacity."""
    from patternbench.analyze.load import rate_search as rates  # noqa: PLC0415 - scipy is slow to load

    limits = rates.Limits(start=declared.start, most=declared.most, rounds=declared.rounds)
    return AskedCapacity(rates.parse_objective(declared.asked), limits)


def searched(up: MeasuresRates, asked: AskedCapacity) -> MeasuredCapacity:
    """Search the capacity of what is up. Raises DriverError or JobError."""
    from patternbench.analyze.load import rate_search as rates  # noqa: PLC0415 - scipy is slow to load
    from patternbench.run.single.rate_rounds import driven  # noqa: PLC0415 - as the line above

    steps = [one.step for one in driven(up, asked.objective, asked.limits)]
    found = rates.capacity(rates.evidence(steps, asked.limits), asked.objective)
    return MeasuredCapacity(
        rate=found.rate,
        low=found.low,
        high=found.high,
        objective=asked.objective.text,
        rounds=len(steps),
        note=found.note,
        doubt=found.doubt,
    )


def bare(scenario: Scenario) -> Scenario:
    """Return a scenario without faults and without a pattern: the system itself, which all shares are of."""
    strategy = Strategy(client=Levels.one(ALWAYS_THERE), baseline=Baseline())
    return replace(scenario, faults=(), client=ALWAYS_THERE, strategy=strategy)
