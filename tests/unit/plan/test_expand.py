"""Expansion against the paper's Algorithm 1 and Equation 1."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.shipped_studies import shipped
from tests.support.studies import EXAMPLE, changed, levels, study

from patternbench.plan.expand import expand, size
from patternbench.plan.scenarios import Scenario, content_id
from patternbench.study.load import load, loads
from patternbench.study.model.configuration import Configuration
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

levels_of_users = st.lists(st.integers(1, 1000), min_size=1, max_size=4, unique=True)
percentages = st.lists(st.integers(0, 100), min_size=1, max_size=4, unique=True)
delays = st.lists(st.integers(1, 500).map(lambda ms: f"{ms}ms"), min_size=1, max_size=4, unique=True)


def text_of(users: list[int], faults: list[int], confs: list[list[str]]) -> str:
    strategies = [
        {"client": f"c{i}", "retry": {"max_attempts": 3, "backoff": {"fixed": {"delay": conf}}}}
        for i, conf in enumerate(confs)
    ]
    return json.dumps(
        {
            "patternbench": 1,
            "name": "x",
            "system": "target",
            "workload": {"closed": {"users": users, "successes": 1}},
            "faults": [{"abort": {"percentage": faults}}],
            "strategies": strategies,
        }
    )


@given(levels_of_users, percentages, st.lists(delays, min_size=1, max_size=4))
def test_equation_1_gives_the_number_of_scenarios(users: list[int], faults: list[int], confs: list[list[str]]) -> None:
    read = loads(text_of(users, faults, confs), "x.yaml")
    plan = expand(read)
    assert len(plan.scenarios) == len(faults) * len(users) * sum(map(len, confs)) == size(read)


@given(levels_of_users, percentages, st.lists(delays, min_size=1, max_size=3))
def test_algorithm_1_gives_the_order(users: list[int], faults: list[int], confs: list[list[str]]) -> None:
    plan = expand(loads(text_of(users, faults, confs), "x.yaml"))
    expected = [
        (f, u, f"c{i}", conf)
        for f in faults
        for u in users
        for i, confs_of_client in enumerate(confs)
        for conf in confs_of_client
    ]
    found = [
        (
            s.configuration["faults"]["abort"]["percentage"],
            s.configuration["workload"]["closed"]["users"],
            s.client,
            s.configuration["strategy"]["retry"]["backoff"]["fixed"]["delay"],
        )
        for s in plan.scenarios
    ]
    assert [(f, u, c, d) for f, u, c, d in found] == [(f, u, c, str_of(d)) for f, u, c, d in expected]


def str_of(text: str) -> str:
    return str(Duration.parse(text))


@given(levels_of_users, percentages, st.lists(delays, min_size=1, max_size=3))
def test_ids_are_unique_and_every_level_stands_in_equally_many_scenarios(
    users: list[int], faults: list[int], confs: list[list[str]]
) -> None:
    plan = expand(loads(text_of(users, faults, confs), "x.yaml"))
    assert len({s.id for s in plan.scenarios}) == len(plan.scenarios)
    for name, listed in (("users", users), ("abort.percentage", faults)):
        counts = Counter(s.levels[name] for s in plan.scenarios)
        assert sorted(counts) == sorted(listed)
        assert len(set(counts.values())) == 1, name


def test_the_examples_factors_are_what_varies() -> None:
    assert levels(expand(study())) == {
        "abort.percentage": [0, 20, 40, 60, 80],
        "users": [50, 100, 150],
        "client": ["resilience4j"],
        "strategy": ["baseline", "retry", "circuit_breaker"],
        "retry.backoff.exponential.initial": ["20ms", "40ms", "60ms"],
        "circuit_breaker.open_for": ["20ms", "40ms", "60ms"],
    }


def test_a_field_that_two_strategies_give_differently_is_a_factor_too() -> None:
    text = EXAMPLE + "  - {client: resilience4j, retry: {max_attempts: 3, backoff: {fixed: {delay: 1ms}}}}\n"
    assert levels(expand(study(text)))["retry.max_attempts"] == [6, 3]


def test_ids_and_order_are_golden() -> None:
    found = [s.id for s in expand(study()).scenarios]
    assert found[:3] == ["1d1a468ca209", "5efef036bf1e", "a01297f1eca8"]
    assert found[-1] == "8ec09b61ed16"
    assert content_id({"a": 1, "b": "20ms"}) == "4f7c0a6a8399"


def test_an_id_depends_on_the_value_and_not_on_how_it_is_written() -> None:
    one = expand(study(EXAMPLE.replace("20ms", "0.02s"))).scenarios
    assert [s.id for s in one] == [s.id for s in expand(study()).scenarios]


@pytest.mark.parametrize(
    ("old", "new"),
    [("successes: 10", "successes: 11"), ("/bytes/1000", "/bytes/1001"), ("status: 503", "status: 500")],
)
def test_any_level_changes_every_id(old: str, new: str) -> None:
    before = {s.id for s in expand(study()).scenarios}
    assert not before & {s.id for s in expand(study(EXAMPLE.replace(old, new))).scenarios}


def test_name_seed_and_rounds_change_no_id() -> None:
    before = [s.id for s in expand(study()).scenarios]
    assert before == [s.id for s in expand(study(changed(name="other", seed="8", rounds="3"))).scenarios]


def test_two_faults_of_one_kind_at_one_place_and_time_are_refused() -> None:
    text = EXAMPLE.replace("strategies:", "  - abort: {percentage: [5], status: 500}\nstrategies:", 1)
    with pytest.raises(InputError, match="a second abort fault acts at the same place"):
        expand(study(text))


def test_faults_of_two_kinds_act_together() -> None:
    text = EXAMPLE.replace("strategies:", "  - delay: {percentage: [0, 50], duration: 100ms}\nstrategies:", 1)
    plan = expand(study(text))
    assert len(plan.scenarios) == 210
    assert [fault.kind for fault in plan.scenarios[0].faults] == ["abort", "delay"]


def test_the_same_scenario_twice_is_refused() -> None:
    with pytest.raises(InputError, match="declared twice"):
        expand(study(EXAMPLE + "  - {client: resilience4j, baseline: {}}\n"))


def test_a_test_space_without_end_is_refused_before_it_is_made() -> None:
    users = ", ".join(map(str, range(1, 2001)))
    text = EXAMPLE.replace("[50, 100, 150]", f"[{users}]").replace("status: 503", "status: [500, 501, 502, 503, 504]")
    with pytest.raises(InputError, match="expands to 350,000 scenarios; allowed: at most 100,000; shorten"):
        expand(study(text))


def test_zip_makes_levels_move_together() -> None:
    text = EXAMPLE.replace("[0, 20, 40, 60, 80]", "[0, 40, 80]")
    plan = expand(study(changed(text, design="{zip: [[users, abort.percentage]]}")))
    assert {(s.levels["users"], s.levels["abort.percentage"]) for s in plan.scenarios} == {
        (50, 0),
        (100, 40),
        (150, 80),
    }


def test_exclude_leaves_combinations_out_and_their_levels_with_them() -> None:
    plan = expand(study(changed(design="{exclude: [{users: [50, 100]}, {strategy: retry}]}")))
    assert levels(plan)["users"] == [150]
    assert "retry.backoff.exponential.initial" not in plan.factors


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ("{zip: [[]]}", "needs two factors"),
        ("{zip: [[users]]}", "needs two factors"),
        ("{zip: [[users, abort.percentage]]}", "levels cannot move together: users has 3, abort.percentage has 5"),
        ("{zip: [[users, usrs]]}", "did you mean `users`"),
        ("{zip: [[users, client], [client, users]]}", "zipped twice"),
        ("{exclude: [{}]}", "is empty"),
        ("{exclude: [{users: 51}]}", "isn't a level of it"),
        ("{exclude: [{user: 50}]}", "did you mean `users`"),
        ("{exclude: [{client: resilience4j}]}", "leaves no scenario"),
    ],
)
def test_a_design_that_makes_no_sense_is_refused(design: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        expand(study(changed(design=design)))


@pytest.mark.parametrize("file", shipped(), ids=lambda path: path.stem)
def test_a_scenario_read_back_from_its_plan_is_the_same_scenario(file: Path) -> None:
    for scenario in expand(load(file)).scenarios[:60]:
        stored = json.loads(json.dumps(scenario.as_json()))
        again = Scenario.of(Configuration(**stored["config"]), stored["levels"])
        assert (again.id, again.as_json()) == (scenario.id, stored)


def test_every_level_of_a_scenario_is_a_value_of_its_type() -> None:
    scenario = expand(study()).scenarios[1]
    assert scenario.workload.closed is not None
    assert scenario.strategy.retry is not None
    assert isinstance(scenario.workload.closed.think_time.level, Duration)
    assert isinstance(scenario.strategy.retry.max_attempts.level, int)


FAULTS = """\
patternbench: 1
name: faulty
system: target
workload: {open: {rate: 10, duration: 9s}}
faults:
  - {freeze: {}, where: target, when: {from: 1s, for: [0ms, 1s]}}
  - {crash: {}, where: target, when: {from: 3s, for: [0ms, 2s]}}
  - {abort: {percentage: [0, 20]}}
"""


def test_faults_act_one_at_a_time_where_the_design_says_so() -> None:
    assert len(expand(study(FAULTS)).scenarios) == 8
    alone = expand(study(FAULTS + "design: {faults: one_at_a_time}\n")).scenarios
    acting = [[fault.kind for fault in scenario.faults if fault.acts] for scenario in alone]
    assert sorted(acting) == [[], ["abort"], ["crash"], ["freeze"]]
