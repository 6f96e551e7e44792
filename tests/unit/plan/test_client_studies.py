"""The studies that compare clients and the mesh: who takes part, what acts alone, and how long they take."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from tests.support.studies import ROOT

from patternbench.conformance.cases import VECTORS
from patternbench.drivers import limits, registry
from patternbench.drivers.origins import plain_fields
from patternbench.drivers.stacks import policy
from patternbench.lab.systems import file_of
from patternbench.plan import estimate
from patternbench.plan.expand import Plan, expand
from patternbench.run.before import evidence
from patternbench.study.load import load

OF_CLIENTS = ("libraries", "libraries-quick", "resilience-patterns-all")
LONGEST = {
    "anti-patterns-hedged-overload": 5,
    "anti-patterns-layers": 5,
    "anti-patterns-long-timeout": 5,
    "anti-patterns-no-jitter": 5,
    "anti-patterns-retry-budget": 5,
    "anti-patterns-small-window": 5,
    "libraries-quick": 20,
    "mesh": 20,
    "mesh-quick": 12,
    "published-pair-quick": 10,
    "resilience-patterns-all": 60,
    "rule-of-thumb-quick": 20,
    "rule-of-thumb": 60,
    "standard-handler-quick": 5,
}
"""Of studies that are to be run whole in one sitting, in minutes."""
RESTARTED = ("layers", "mesh")
"""Whose service is restarted for each round."""
COMPARED, FAR = (0.5, 0.95), 0.03
"""The parts of good calls whose times libraries.yaml compares, and how far each is to be from a further attempt."""
QUICK = {f"{name}-quick": name for name in ("libraries", "mesh", "published-pair", "rule-of-thumb", "standard-handler")}
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


@pytest.mark.parametrize("name", ["libraries", "libraries-quick"])
def test_no_percentile_that_is_compared_lies_where_a_further_attempt_begins(name: str) -> None:
    for scenario in planned(name).scenarios:
        share, retry = float(str(scenario.levels["abort.percentage"])) / 100, scenario.strategy.retry
        if retry and share:
            most = retry.max_attempts.level
            begins = [(1 - share**attempts) / (1 - share**most) for attempts in range(1, most)]
            assert min(abs(part - at) for part in COMPARED for at in begins) > FAR


@pytest.mark.parametrize(("quick", "whole"), QUICK.items())
def test_a_quick_form_asks_the_same_of_fewer_scenarios_or_as_many(quick: str, whole: str) -> None:
    short, long = (load(ROOT / "studies" / f"{name}.yaml") for name in (quick, whole))
    assert (short.system, short.strategies) == (long.system, long.strategies)
    reported = ([one.levels for one in planned(name).scenarios] for name in (quick, whole))
    fewer, more = ([{**levels, "duration": None} for levels in every] for every in reported)
    assert [levels for levels in fewer if levels not in more] == []


@pytest.mark.parametrize(("name", "longest"), LONGEST.items())
def test_a_study_ends_in_time_as_far_as_that_can_be_reported(name: str, longest: int) -> None:
    study, plan = load(ROOT / "studies" / f"{name}.yaml"), planned(name)
    assert isinstance(study.rounds, int)
    warm_ups = len(plan.scenarios) * study.rounds if study.engine_only else 1
    warming_s = warm_ups * study.longest_warm_up.seconds
    restarts = study.rounds * len(plan.scenarios) if study.system.name in RESTARTED else 0
    assert estimate.seconds(plan.scenarios, study.rounds, warming_s, restarts) < 60 * longest


def test_the_standard_handler_of_the_study_has_the_defaults_of_its_package() -> None:
    (case,) = json.loads((VECTORS / "standard_handler.json").read_text())["cases"]
    study = load(ROOT / "studies" / "standard-handler.yaml")
    stack = next(one.stack for one in study.strategies if one.name == "standard")
    assert stack is not None
    written = [plain_fields({"entry": policy(entry, "")})["entry"] for entry in stack]
    assert len(written) == len(case["stack"])
    for due, got in zip(case["stack"], written, strict=True):
        assert isinstance(got, dict)
        ((kind, fields),) = due.items()
        assert _among(got[kind], fields) == fields


def _among(written: object, names: Mapping[str, object]) -> dict[str, object]:
    """Of a policy that a study writes out, the fields of these names."""
    assert isinstance(written, dict)
    return {name: written.get(name) for name in names}


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
    troubles = {(scenario.levels["rate"], scenario.levels["abort.percentage"]) for scenario in scenarios}
    assert len(troubles) == 3
    assert len(scenarios) == (1 + len(OF_THE_MESH) + len(clients)) * len(troubles)
