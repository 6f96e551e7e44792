"""Faults that would never act are refused before anything starts, each at its place in the study."""

from __future__ import annotations

from pathlib import Path

from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: faulty
system: {{name: {system}}}
workload: {{open: {{rate: 10, duration: 5s}}}}
strategies: [{{client: native, baseline: {{}}}}]
faults:
"""


def problems(faults: str, system: str = "target") -> list[str]:
    study = loads(STUDY.format(system=system) + faults, "x.yaml")
    return [str(problem) for problem in preflight.described_problems(study, expand(study), Inputs(Path()))]


def test_a_window_that_begins_when_the_round_is_over_is_refused() -> None:
    (found,) = problems("- {crash: {}, where: target, when: [{from: 4s, for: 1s}, {from: 5s, for: 1s}]}\n")
    assert "faults[0].when: begins at 5s, when the round of 5s is over" in found
    assert problems("- {crash: {}, where: target, when: {from: 4999ms}}\n") == []


def test_a_way_that_only_some_levels_of_a_setting_make_is_refused() -> None:
    cut = "- {partition: {}, where: balancer-1 -> redis}\n"
    assert problems(cut, "shop-behind-two-balancers, settings: {store: redis}") == []
    found = problems(cut, "shop-behind-two-balancers, settings: {store: [redis, memory]}")
    assert ["faults[0].where: there is no such link" in problem for problem in found] == [True]


def test_all_faults_that_act_nowhere_are_told_of_at_once() -> None:
    found = problems("- {freeze: {}, where: targt}\n- {stall: {percentage: 5}, where: a -> target}\n")
    assert ["did you mean `target`?" in found[0], "allowed: edge -> envoy, envoy -> target" in found[1]] == [True, True]


def test_a_fault_needs_its_place_in_the_scenarios_alone_in_which_it_acts() -> None:
    stores = "shop-behind-two-balancers, settings: {store: [redis, memory]}"
    cut = "- {freeze: {}, where: redis, when: {from: 1s, for: [0ms, 1s]}}\n"
    where = "faults[0].where: there is no such component"
    assert [where in problem for problem in problems(cut, stores)] == [True]
    assert problems(cut + "design: {exclude: [{store: memory, freeze.when.for: 1s}]}\n", stores) == []


def test_a_fault_that_acts_in_no_scenario_needs_its_place_all_the_same() -> None:
    stores = "shop-behind-two-balancers, settings: {store: [redis, memory]}"
    found = problems("- {freeze: {}, where: redis, when: {from: 1s, for: 0ms}}\n", stores)
    assert ["there is no such component" in problem for problem in found] == [True]
