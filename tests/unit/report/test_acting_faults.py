"""Faults of which one acts at a time are one factor to a reader, whose levels name the fault that acts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.factors import factors
from tests.support.synthetic_run import synthetic_run

from patternbench.plan.factors import Factor, Level
from patternbench.records.stored import PlannedScenario
from patternbench.report.acting_faults import FAULT, acting_faults
from patternbench.report.layout import distinct, layout
from patternbench.report.model import RunReport
from patternbench.study.model.configuration import Configuration
from patternbench.terms.quantities import Seconds
from patternbench.terms.roles import Role, Unit

FREEZE, CRASH = "freeze.when.for", "crash_2.when.for"
SPANS = [("0ms", "0ms"), ("4s", "0ms"), ("0ms", "4s")]
SAID = ["no fault", "freeze cinema for 4 s", "crash registry for 4 s"]


def factor(name: str) -> Factor:
    return Factor(name, ("faults", *name.split(".")), ("0ms", "4s"), Role.FAULT, Unit.DURATION)


def scenario(freeze: str, crash: str, method: str = "a") -> PlannedScenario:
    written = {
        "freeze": {"where": "cinema", "when": {"from": "5s", "for": freeze}},
        "crash_2": {"where": "registry", "when": {"from": "5s", "for": crash}},
    }
    levels: dict[str, Level] = {"method": method, FREEZE: freeze, CRASH: crash, "users": 5}
    return PlannedScenario(
        id=f"{method} {freeze} {crash}", levels=levels, config=Configuration.model_validate({"faults": written})
    )


SCENARIOS = [scenario(*spans, method) for method in ("a", "b") for spans in SPANS]
FACTORS = {**factors({"method": ["a", "b"]}), FREEZE: factor(FREEZE), CRASH: factor(CRASH), **factors({"users": [5]})}


def test_scenarios_of_several_faults_say_which_of_them_acts() -> None:
    faults = acting_faults(FACTORS, SCENARIOS)
    assert list(faults.factors) == ["method", FAULT, "users"]
    assert list(faults.factors[FAULT].levels) == SAID
    assert [faults.reported(one.levels) for one in SCENARIOS[:2]] == [
        {"method": "a", FAULT: message, "users": 5} for message in SAID[:2]
    ]


def test_the_seconds_of_an_analysis_are_reported_as_the_durations_of_a_plan() -> None:
    faults = acting_faults(FACTORS, SCENARIOS)
    assert faults.reported({CRASH: Seconds(4.0), FREEZE: Seconds(0.0)}) == {FAULT: "crash registry for 4 s"}


def test_a_single_fault_keeps_its_factors() -> None:
    alone = {name: one for name, one in FACTORS.items() if name != CRASH}
    faults = acting_faults(alone, SCENARIOS)
    assert faults.factors == alone
    assert faults.reported(SCENARIOS[1].levels) == SCENARIOS[1].levels


def test_faults_that_act_together_keep_their_factors() -> None:
    together = [*SCENARIOS, scenario("4s", "4s")]
    assert acting_faults(FACTORS, together).factors == FACTORS


def test_faults_that_a_configuration_does_not_have_keep_their_factors() -> None:
    bare = [PlannedScenario(id=one.id, levels=one.levels) for one in SCENARIOS]
    assert acting_faults(FACTORS, bare).factors == FACTORS


@pytest.fixture(scope="module")
def run() -> RunReport:
    made = synthetic_run(rounds=1, users=[50], fault=[0])
    return replace(made, factors=FACTORS, scenarios=SCENARIOS)


def test_a_condition_names_the_faults_that_act_and_no_figure_runs_along_one_of_them(run: RunReport) -> None:
    arranged = layout(run)
    assert distinct(placed.condition for placed in arranged.scenarios) == SAID
    assert not arranged.axis.quantity
    assert arranged.reference == "a"
