"""What the engine is given of a model and a scenario: services in its units, and faults as windows of the round."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.golden import is_golden
from tests.support.simulated import MODEL, STUDY, model
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.plan.scenarios import Scenario
from patternbench.simulation import refusals
from patternbench.simulation.engine_model import FOR_GOOD_US, acted, engine_model
from patternbench.terms.units import Duration

WARM_UP = Duration.parse("1s")
TWO = MODEL + "  store: {workers: 1, times: {fixed: 1ms}}\n"


def scenario(faults: str, text: str = STUDY) -> Scenario:
    return expand(study(text, faults=faults)).scenarios[0]


def faults_of(tmp_path: Path, faults: str, text: str = MODEL) -> object:
    return engine_model(model(tmp_path, text).model, scenario(faults), WARM_UP, 7)["faults"]


def test_one_service_is_written_in_the_short_form(tmp_path: Path) -> None:
    made = engine_model(model(tmp_path).model, scenario("[]"), WARM_UP, 7)
    service = {"workers": 4, "times": {"exponential_us": 5000}}
    assert made == {"model": 1, "seed": 7, "network_us": 100, "service": service, "faults": []}


def test_a_fault_counts_from_the_end_of_the_warm_up(tmp_path: Path) -> None:
    written = "[{freeze: {}, where: target, when: [{from: 2s, for: 500ms}, {from: 4s}]}]"
    assert faults_of(tmp_path, written) == [
        {"kind": {"freeze": {}}, "from_us": 3_000_000, "to_us": 3_500_000},
        {"kind": {"freeze": {}}, "from_us": 5_000_000, "to_us": FOR_GOOD_US},
    ]


def test_a_fault_of_the_whole_round_acts_in_its_warm_up_too(tmp_path: Path) -> None:
    written = "[{delay: {percentage: 20, duration: 50ms, spread: 5ms}}, {abort: {percentage: 0}}]"
    settings = {"percentage": 20, "duration_us": 50_000, "spread_us": 5_000}
    assert faults_of(tmp_path, written) == [{"kind": {"delay": settings}, "from_us": 0, "to_us": FOR_GOOD_US}]


def test_a_fault_is_placed_on_its_service_or_link_where_there_are_several(tmp_path: Path) -> None:
    written = "[{partition: {}, where: target -> store, when: {from: 1s, for: 1s}}, {freeze: {}, where: store}]"
    made = faults_of(tmp_path, written, TWO)
    assert made == [
        {"kind": {"partition": {}}, "from": "target", "at": "store", "from_us": 2_000_000, "to_us": 3_000_000},
        {"kind": {"freeze": {}}, "at": "store", "from_us": 0, "to_us": FOR_GOOD_US},
    ]


def test_the_journal_has_the_faults_that_began_in_the_round() -> None:
    written = "[{freeze: {}, where: target, when: [{from: 2s, for: 500ms}, {from: 4s, for: 9s}, {from: 20s}]}]"
    done = acted(scenario(written), WARM_UP, 6_000_000)
    assert [(one.name, one.where, one.began_us, one.ended_us) for one in done] == [
        ("freeze", "target", 3_000_000, 3_500_000),
        ("freeze", "target", 5_000_000, 6_000_000),
    ]


def test_everything_of_a_service_reaches_the_engine_in_its_units(tmp_path: Path) -> None:
    more = """\
    slowdown: [{at: 1, factor: 1}, {at: 4, factor: 1.5}]
    line: {limit: 9, order: lifo, deadline: 1s}
    limit: {rate: 2.5, burst: 2}
    replicas: 3
    waits: false
    operations: {"GET /a": {times: {fixed: 2ms}}}
    calls:
      - together: [{to: store, share: 25, times: 2, timeout: 9ms, policies: [{timeout: 20ms}], on_failure: ignore}]
"""
    text = MODEL + more + "  store: {workers: 1, times: {fixed: 1ms}}\n"
    made = engine_model(model(tmp_path, text).model, scenario("[]"), WARM_UP, 1)
    policies = [{"timeout": {"after_us": 20_000}}, {"timeout": {"after_us": 9_000}}]
    call = {"to": "store", "share": 0.25, "ignored": True, "policies": policies}
    assert made["entry"] == "target"
    services = made["services"]
    assert isinstance(services, dict)
    assert services["target"] == {
        "workers": 4,
        "times": {"exponential_us": 5000},
        "slowdown": [[1, 1], [4, 1.5]],
        "queue": {"order": "lifo", "full_status": 503, "deadline_us": 1_000_000, "limit": 9},
        "door": {"calls": 2500, "per_us": 1_000_000_000, "burst": 2, "status": 429},
        "replicas": 3,
        "balance": "round_robin",
        "waits": False,
        "operations": {"/GET%20%2Fa": {"times": {"fixed_us": 2000}, "calls": [[call, call]]}},
        "calls": [[call, call]],
    }


def test_a_setting_of_the_study_gives_a_number_that_the_model_leaves_to_it(tmp_path: Path) -> None:
    text = MODEL.replace("workers: 4", 'workers: "${workers}"').replace("network:", "settings: {workers: 4}\nnetwork:")
    varied = study(STUDY, system="{name: target, settings: {workers: [2, 4]}}")
    plan = expand(varied)
    found = model(tmp_path, text).model
    made = [engine_model(found, one, WARM_UP, 1)["service"] for one in plan.scenarios]
    assert {str(service) for service in made} == {
        "{'workers': 2, 'times': {'exponential_us': 5000}}",
        "{'workers': 4, 'times': {'exponential_us': 5000}}",
    }
    assert refusals.problems(varied, plan, found) == []


REFUSED = {
    "a client of a library": ({"strategies": "[{client: resilience4j, baseline: {}}]"}, "strategies[0].client"),
    "another system": ({"system": "httpbin"}, "system"),
    "a setting that the model does not know": (
        {"system": "{name: target, settings: {queue: '5'}}"},
        "system.settings.queue",
    ),
    "a fault that the engine does not know": ({"faults": "[{slow: {bandwidth: 1MB/s}}]"}, "faults[0].slow"),
    "a fault on a component that the model lacks": (
        {"faults": "[{freeze: {}, where: envoy, when: {from: 1s, for: 1s}}]"},
        "faults[0].where",
    ),
    "steps that read answers": (
        {
            "workload": "{open: {rate: 5, duration: 5s}, journey: [{path: /, until_expected: {limit: 1s}, "
            "expect: {statuses: [200]}}]}"
        },
        "workload.journey.steps[0].until_expected",
    ),
    "steps that expect a failure": (
        {"workload": "{open: {rate: 5, duration: 5s}, journey: [{path: /, expect: {statuses: [404]}}]}"},
        "workload.journey.steps[0].expect.statuses",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_model_can_not_simulate_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    changes, path = REFUSED[name]
    changed = study(STUDY, **changes)
    found = refusals.problems(changed, expand(changed), model(tmp_path).model)
    assert [problem.path for problem in found] == [path]
    is_golden(f"problems/simulated-{name.replace(' ', '-')}.txt", "\n".join(map(str, found)) + "\n")


def test_a_setting_at_another_level_is_refused_with_the_one_of_the_model(tmp_path: Path) -> None:
    text = MODEL.replace("network:", "settings: {workers: 4}\nnetwork:")
    varied = study(STUDY, system="{name: target, settings: {workers: [2, 4]}}")
    (problem,) = refusals.problems(varied, expand(varied), model(tmp_path, text).model)
    assert (problem.path, problem.value, problem.allowed) == ("system.settings.workers", 2, "4")
