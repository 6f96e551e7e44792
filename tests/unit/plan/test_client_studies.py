"""The studies that compare clients and the mesh: who takes part, what acts alone, and how long they take."""

from __future__ import annotations

import pytest
from tests.support.studies import ROOT

from patternbench.drivers import limits, registry
from patternbench.lab.systems import file_of
from patternbench.plan import estimate
from patternbench.plan.expand import Plan, expand
from patternbench.run import evidence
from patternbench.study.load import load

OF_CLIENTS = ("libraries", "libraries-quick", "resilience-patterns-all")
LONGEST_S = {"libraries-quick": 30 * 60, "resilience-patterns-all": 60 * 60, "rule-of-thumb": 60 * 60, "mesh": 60 * 60}
OF_THE_MESH = {"retries": 0, "outlier_failures": "none", "max_requests": "none", "adaptive_limit": "none"}


def planned(name: str) -> Plan:
    study = load(ROOT / "studies" / f"{name}.yaml")
    file = file_of(study.system)
    assert file is not None
    plan = expand(study, file)
    file.check(scenario.system.setting_levels for scenario in plan.scenarios)
    evidence.check(study, plan)
    return plan


@pytest.mark.parametrize("name", OF_CLIENTS)
def test_every_client_of_ours_takes_part_with_what_it_can_express(name: str) -> None:
    scenarios = planned(name).scenarios
    assert {scenario.client for scenario in scenarios} == set(registry.names())
    for scenario in scenarios:
        client = registry.find(scenario.client, {})
        assert list(registry.strategy_problems(client, scenario.strategy)) == []
        own = registry.limits_of(scenario.client, {})
        assert list(limits.problems(scenario.client, own, scenario.strategy)) == []


def test_the_quick_form_of_libraries_asks_the_same() -> None:
    whole, quick = (load(ROOT / "studies" / f"{name}.yaml") for name in OF_CLIENTS[:2])
    assert (whole.system, whole.faults, whole.strategies) == (quick.system, quick.faults, quick.strategies)


@pytest.mark.parametrize(("name", "longest_s"), LONGEST_S.items())
def test_a_study_ends_in_time_as_far_as_that_can_be_told(name: str, longest_s: float) -> None:
    study, plan = load(ROOT / "studies" / f"{name}.yaml"), planned(name)
    assert isinstance(study.rounds, int)
    warm_up_s = {"native": study.longest_warm_up.seconds} if study.engine_only else {}
    restarts = study.rounds * len(plan.scenarios) if name == "mesh" else 0
    assert estimate.seconds(plan.scenarios, study.rounds, warm_up_s, restarts) < longest_s


def test_client_and_mesh_never_act_together_and_each_acts_alone() -> None:
    scenarios = planned("mesh").scenarios
    acting = [
        [name for name, none in OF_THE_MESH.items() if scenario.levels[name] != none]
        + [str(scenario.levels["strategy"])] * (scenario.levels["strategy"] != "baseline")
        for scenario in scenarios
    ]
    assert {len(patterns) for patterns in acting} == {0, 1}
    clients = {"client_retry", "client_breaker", "client_bulkhead"}
    assert {pattern for patterns in acting for pattern in patterns} == {*OF_THE_MESH, *clients}
    assert len(scenarios) == (1 + len(OF_THE_MESH) + len(clients)) * 2 * 2
