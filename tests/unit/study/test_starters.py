"""First studies say what they promise, in the time that was given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.plan.expand import expand
from patternbench.study import starters
from patternbench.study.load import loads
from patternbench.study.starters import FEWEST, GOALS, LENGTHS_S, Budget, RunningService, StartedService, Subject
from patternbench.terms.problems import InputError

SUBJECTS: list[Subject] = [
    RunningService("http://127.0.0.1:8080", "/items/7?page=2"),
    StartedService("process", {"command": "node shop.js", "folder": ".."}, "/items/7"),
    StartedService("compose", {"file": "../compose.yaml", "services": {"web": 8080}}, "/"),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: getattr(subject, "kind", "url"))
@pytest.mark.parametrize("word", GOALS)
def test_each_first_study_is_a_study_with_as_many_scenarios_as_it_says(subject: Subject, word: str) -> None:
    goal = GOALS[word]
    study = loads(starters.study(subject, goal, Budget(5, 3)), f"{word}.yaml")
    assert (study.name, study.rounds) == (word, 5)
    assert len(expand(study).scenarios) == goal.scenarios


@given(minutes=st.floats(1, 600), scenarios=st.integers(2, 12))
def test_a_run_takes_no_longer_than_was_given(minutes: float, scenarios: int) -> None:
    try:
        plan = starters.budget(scenarios, minutes)
    except InputError as error:
        assert f"at least {round(Budget(FEWEST, 2).minutes(scenarios) + 0.5)}" in str(error)
        return
    assert plan.rounds >= FEWEST
    assert plan.minutes(scenarios) <= minutes


def test_more_time_first_gives_more_rounds_then_longer_ones() -> None:
    plans = [starters.budget(10, minutes) for minutes in (2, 4, 10, 120)]
    assert plans == [Budget(3, 2), Budget(7, 2), Budget(9, 5), Budget(30, 5)]


@pytest.mark.parametrize("seconds", LENGTHS_S)
def test_the_first_study_of_faults_has_callers_who_feel_the_freeze_and_a_retry_that_can_act(seconds: int) -> None:
    """Users who wait send nothing into a freeze, a short one is beyond p95, and without a time-out no one retries."""
    text = starters.study(SUBJECTS[1], GOALS["faults"], Budget(5, seconds))
    scenarios = expand(loads(text, "faults.yaml")).scenarios
    lengths = [window.for_ for scenario in scenarios for window in scenario.faults[0].windows]
    frozen = {length.level.us for length in lengths if length and length.level.us}
    assert all(scenario.workload.open for scenario in scenarios)
    assert min(frozen) > 0.05 * seconds * 1e6
    (timeouts,) = {repr(policy.timeout) for each in scenarios for policy in each.strategy.stack or () if policy.timeout}
    assert "300" in timeouts


def test_a_system_file_says_how_the_lab_starts_what_is_measured() -> None:
    assert starters.system(StartedService("process", {"command": "node shop.js", "ready": {"path": "/"}}, "/")) == (
        "patternbench-system: 1\nname: service\nabout: what is measured\ncomponents:\n  - process:\n"
        '      name: "service"\n      command: "node shop.js"\n      ready: {"path": "/"}\nendpoint: service\n'
    )
