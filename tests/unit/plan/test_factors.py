"""What a study says of its factors: where each stands, what it is to the experiment, and the unit of its levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.shipped_studies import shipped
from tests.support.studies import EXAMPLE, study

from patternbench.plan.expand import Plan, expand, factors_of_stored
from patternbench.plan.factors import is_baseline
from patternbench.records.stored import RunPlan
from patternbench.study.load import load, loads
from patternbench.study.model.settings import Settable
from patternbench.terms.problems import InputError
from patternbench.terms.roles import Role, Unit

STUDY = """\
patternbench: 1
name: x
system:
  name: shop
  settings: {limiter: [none, gcra], window: [6s], lease: [never, 20s], far: [0ms, 25ms], x.limit: [1]}
workload:
  open: {duration: 9s, schedule: {ramp: {from: 10/s, to: [1200/m], over: [5s]}}}
  request: {path: /, query: {page: [1]}, timeout: [1s]}
  parameters: {size: [10], wait: [5ms]}
faults:
  - delay: {percentage: [50], duration: [1ms]}
strategies:
  - {client: [native, resilience4j], baseline: {}}
  - {client: native, retry: {max_attempts: [2, 3], backoff: {fixed: {delay: [1ms, 2ms]}}, jitter: [none, 0.5]}}
"""
SYSTEM = Settable.model_validate(
    {
        "settings": {
            "limiter": {"default": "none", "about": "who is let in", "role": "pattern", "none": "none"},
            "window": {"default": "60s", "about": "of the limit", "role": "pattern", "unit": "duration"},
            "lease": {"default": "never", "about": "how long", "role": "pattern", "unit": "text"},
            "far": {"default": "0ms", "about": "to the store", "unit": "duration"},
            "x.limit": {"default": 1, "about": "whatever"},
        }
    }
)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return expand(loads(STUDY, "study.yaml"), SYSTEM)


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("limiter", Role.PATTERN, Unit.TEXT),
        ("window", Role.PATTERN, Unit.DURATION),
        ("lease", Role.PATTERN, Unit.TEXT),
        ("far", Role.WORLD, Unit.DURATION),
        ("x.limit", Role.WORLD, Unit.COUNT),
        ("schedule.ramp.to", Role.LOAD, Unit.RATE),
        ("schedule.ramp.over", Role.LOAD, Unit.DURATION),
        ("request.query.page", Role.WORLD, Unit.COUNT),
        ("request.timeout", Role.WORLD, Unit.DURATION),
        ("parameters.size", Role.WORLD, Unit.COUNT),
        ("parameters.wait", Role.WORLD, Unit.DURATION),
        ("delay.percentage", Role.FAULT, Unit.PERCENT),
        ("delay.duration", Role.FAULT, Unit.DURATION),
        ("client", Role.CLIENT, Unit.TEXT),
        ("strategy", Role.PATTERN, Unit.TEXT),
        ("retry.max_attempts", Role.PATTERN, Unit.COUNT),
        ("retry.backoff.fixed.delay", Role.PATTERN, Unit.DURATION),
        ("retry.jitter", Role.PATTERN, Unit.TEXT),
    ],
)
def test_the_role_and_unit_of_a_factor_are_those_that_its_field_declares(
    plan: Plan, name: str, role: Role, unit: Unit
) -> None:
    found = plan.factors[name]
    assert (found.role, found.unit) == (role, unit)


def test_a_factor_stands_at_its_path(plan: Plan) -> None:
    assert plan.factors["far"].path == ("system", "settings", "far")
    assert plan.factors["retry.max_attempts"].path == ("strategy", "retry", "max_attempts")


def test_a_pattern_knows_the_level_at_which_it_is_none_when_that_is_run(plan: Plan) -> None:
    nones = {name: factor.none for name, factor in plan.factors.items() if factor.none is not None}
    assert nones == {"limiter": "none", "strategy": "baseline"}


def test_the_baseline_is_every_pattern_at_none(plan: Plan) -> None:
    bases = [scenario.levels for scenario in plan.scenarios if is_baseline(scenario.levels, plan.factors)]
    assert {(levels["limiter"], levels["strategy"]) for levels in bases} == {("none", "baseline")}
    assert len(bases) == len(plan.scenarios) // (2 * 5)  # of two limiters, and of two baselines and eight retries


def kept(planned: dict[str, Any]) -> RunPlan:
    """A plan as its file holds it."""
    return RunPlan.model_validate_json(json.dumps({**planned, "rounds": []}))


def test_factors_survive_a_plans_file(plan: Plan) -> None:
    assert factors_of_stored(kept(plan.as_json())) == dict(plan.factors)


def test_the_factors_of_a_plan_that_knew_their_levels_alone_are_reported_from_its_scenarios() -> None:
    plan = expand(study(EXAMPLE))
    older = {**plan.as_json(), "factors": {name: list(factor.levels) for name, factor in plan.factors.items()}}
    assert factors_of_stored(kept(older)) == dict(plan.factors)


def test_a_share_of_traces_that_an_older_plan_calls_a_pattern_is_a_circumstance() -> None:
    plan = expand(study(EXAMPLE, traces="{sample: [0%, 1%]}"))
    reported = {name: factor.as_json() for name, factor in plan.factors.items()}
    reported["traces.sample"] |= {"role": "pattern", "none": "0%"}
    assert factors_of_stored(kept({**plan.as_json(), "factors": list(reported.values())})) == dict(plan.factors)


def test_what_an_older_plan_says_of_no_scenario_is_a_circumstance() -> None:
    found = factors_of_stored(kept({"factors": {"old": ["1s", "2s"]}, "scenarios": []}))["old"]
    assert (found.role, found.unit) == (Role.WORLD, Unit.DURATION)


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_every_factor_of_our_own_studies_is_known_by_its_field(path: Path) -> None:
    plan = expand(load(path))
    assert all(factor.path for factor in plan.factors.values())


def test_what_a_system_does_not_combine_is_left_out_and_said() -> None:
    system = SYSTEM.model_copy(update={"exclude": [{"limiter": "none", "far": ["25ms"]}]})
    made = loads(STUDY, "study.yaml")
    whole, part = expand(made, SYSTEM), expand(made, system)
    assert len(part.scenarios) == 3 * len(whole.scenarios) // 4
    assert part.left_out == (
        f"{len(whole.scenarios) // 4} combinations with limiter: none with far: 25ms: the system does not combine them",
    )


def test_a_study_of_nothing_but_what_a_system_does_not_combine_is_refused() -> None:
    system = SYSTEM.model_copy(update={"exclude": [{"limiter": ["none", "gcra"]}]})
    with pytest.raises(InputError, match="the system does not combine limiter: none or gcra"):
        expand(loads(STUDY, "study.yaml"), system)


PLACED = """\
patternbench: 1
name: x
system: {name: shop, in: [processes, containers], services: {web: {cpus: [none, 0.5], memory: [64MB, 1GiB]}}}
workload: {closed: {users: 1, duration: 1s}}
"""


def test_where_services_run_is_a_pattern_and_so_is_what_they_may_use() -> None:
    factors = expand(loads(PLACED, "study.yaml"), SYSTEM).factors
    placed = [factors[name] for name in ("system.in", "system.services.web.cpus", "system.services.web.memory")]
    assert {factor.role for factor in placed} == {Role.PATTERN}
    assert [factor.none for factor in placed] == ["processes", None, None]
    assert factors["system.services.web.cpus"].levels == ("none", 0.5)
