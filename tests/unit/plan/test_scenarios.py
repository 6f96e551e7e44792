"""What a scenario says of itself."""

from __future__ import annotations

import pytest
from tests.support.studies import completed

from patternbench.plan.expand import expand
from patternbench.plan.scenarios import Scenario
from patternbench.study.load import loads
from patternbench.study.model.configuration import Configuration
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

RAMP = "workload: {open: {schedule: {ramp: {from: 1, to: 9, over: 5s}}, duration: 5s}}\n"
USERS = "workload: {closed: {users: 2, duration: 5s, start_over: 3s}}\n"
FAULT = "faults: [{delay: {percentage: 50, duration: 9ms}%s}]\n"


@pytest.mark.parametrize(
    ("part", "steady"),
    [
        (USERS, True),
        (USERS.replace("3s}", "2001ms}"), True),
        (USERS.replace("3s}", "3001ms}"), False),
        (RAMP, False),
        (USERS + FAULT % "", True),
        (USERS + FAULT % ", when: {from: 1s, for: 1s}", False),
    ],
)
def test_whether_a_slow_first_part_says_that_the_service_was_cold(part: str, steady: bool) -> None:
    """Load that still rises, and a fault that comes and goes, slow down a part of a round by themselves."""
    (scenario,) = expand(loads(completed(part), "study.yaml")).scenarios
    assert scenario.is_steady_after(Duration.parse("3s")) == steady


def test_a_damaged_configuration_of_a_stored_plan_is_named_by_its_place() -> None:
    (scenario,) = expand(loads(completed(USERS), "study.yaml")).scenarios
    kept = Configuration.model_validate(scenario.as_json()["config"])
    odd = kept.model_copy(update={"workload": {**kept.workload, "closed": {"users": "many"}}})
    with pytest.raises(InputError, match=r"^closed\.users.*: a scenario is damaged: "):
        Scenario.of(odd, scenario.levels)
