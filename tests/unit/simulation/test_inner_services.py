"""Faults on services inside a model, which no description of a system has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.simulated import as_if_measured, model, simulate

from patternbench.records.journal import DONE
from patternbench.report.build import measures
from patternbench.simulation import calibrating, evidence
from patternbench.terms.problems import InputError

MODEL = """\
patternbench-model: 1
name: pair
entry: front
services:
  front: {workers: 100, times: {fixed: 1ms}, calls: [{together: [{to: store}]}]}
  store: {workers: 10, times: {exponential: 5ms}}
"""
ALONE = "patternbench-model: 1\nname: alone\nentry: front\nservices: {front: {workers: 10, times: {fixed: 1ms}}}\n"
STUDY = """\
patternbench: 1
name: pair
system: {url: "http://127.0.0.1:1"}
rounds: 2
warm_up: 1s
workload: {open: {rate: [50, 100], spacing: poisson, duration: 6s}, request: {path: /, timeout: 200ms}}
faults: [FAULT]
"""
FREEZE = "{freeze: {}, where: store, when: {from: 2s, for: [0ms, 2s]}}"
ABORT = "{abort: {percentage: [0, 30]}, where: front -> store}"


@pytest.mark.parametrize(("fault", "least"), [(FREEZE, 20), (ABORT, 20)])
def test_a_fault_acts_on_a_service_and_on_a_link_that_only_the_model_has(
    tmp_path: Path, fault: str, least: float
) -> None:
    run, entries = simulate(STUDY.replace("FAULT", fault), model(tmp_path, MODEL), tmp_path / "run")
    assert {entry.status for entry in entries} == {DONE}
    rounds = measures(run).rounds
    name = next(name for name in rounds.columns if name in ("freeze.when.for", "abort.percentage"))
    failed = rounds.groupby(name)["failure_rate"].mean()
    assert failed.min() < 2
    assert failed.max() > least


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (FREEZE.replace("store", "stor"), "the model has no service stor.*did you mean `store`"),
        (FREEZE.replace("2s, for", "7s, for"), "begins at 7s, when the round of 6s is over"),
    ],
)
def test_a_fault_on_a_service_that_the_model_does_not_have_or_after_the_round_is_refused(
    tmp_path: Path, fault: str, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        simulate(STUDY.replace("FAULT", fault), model(tmp_path, MODEL), tmp_path / "run")


def test_a_check_says_how_many_scenarios_the_model_could_not_simulate(tmp_path: Path) -> None:
    run, _ = simulate(STUDY.replace("FAULT", FREEZE), model(tmp_path, MODEL), tmp_path / "run")
    division = evidence.divide(evidence.read(as_if_measured(run).path), (), ())
    assert calibrating._unable(division, model(tmp_path, MODEL).model) == []
    assert calibrating._unable(division, model(tmp_path, ALONE).model) == [
        "without 2 scenarios that can't be simulated (the model has no service store)"
    ]
