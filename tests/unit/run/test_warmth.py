"""Which warm-up a round gets, by what was started since the last one."""

from __future__ import annotations

import pytest

from patternbench.drivers import choice
from patternbench.run.round.warmth import WarmUpTime, warm_up_of, warm_ups
from patternbench.study.load import loads
from patternbench.terms.units import Duration

TWO_S, ZERO = Duration.parse("2s"), Duration.parse("0s")
NONE, BEFORE, WITHIN = WarmUpTime.NONE, WarmUpTime.BEFORE, WarmUpTime.WITHIN


@pytest.mark.parametrize("cold", [[], ["shop"], ["client native"], ["client native", "shop"]])
def test_whatever_was_started_is_warmed_before_the_round_of_a_librarys_client(cold: list[str]) -> None:
    assert warm_up_of(cold, by_engine=False, longest=TWO_S) is (BEFORE if cold else NONE)


@pytest.mark.parametrize("cold", [[], ["shop"]])
def test_the_load_engine_warms_up_in_every_round(cold: list[str]) -> None:
    assert warm_up_of(cold, by_engine=True, longest=TWO_S) is WITHIN


@pytest.mark.parametrize("by_engine", [True, False])
def test_a_study_that_wants_no_warm_up_gets_none(by_engine: bool) -> None:
    assert warm_up_of(["shop"], by_engine, ZERO) is NONE


def test_a_plan_counts_a_warm_up_for_each_round_that_starts_a_component_or_a_client() -> None:
    rounds = [("a", ["shop"]), ("a", []), ("b", []), ("b", []), ("a", ["shop"]), ("a", [])]
    assert list(warm_ups(rounds, by_engine=False, longest=TWO_S)) == [BEFORE, NONE, BEFORE, NONE, BEFORE, NONE]
    assert list(warm_ups(rounds, by_engine=True, longest=TWO_S)) == [WITHIN] * 6


STUDY = """\
patternbench: 1
name: x
system: {url: "http://127.0.0.1:1"}
after_start: {requests: 100}
workload: {closed: {users: 1, successes: 3}}
strategies: [{client: CLIENT, baseline: {}}]
"""


def test_a_start_is_warmed_by_calls_of_its_own_only_where_the_load_engine_drives_the_rounds() -> None:
    assert choice.start_problems(loads(STUDY.replace("CLIENT", "native"), "x.yaml")) == []
    (refused,) = choice.start_problems(loads(STUDY.replace("CLIENT", "[native, tower]"), "x.yaml"))
    assert (refused.path, refused.hint) == ("after_start", "leave it out, and set `warm_up`")


def test_a_round_without_a_warm_up_of_its_own_is_warmed_before_it_by_calls_after_a_start() -> None:
    reported = {one: one.with_calls_before for one in WarmUpTime}
    assert reported[WarmUpTime.NONE] is WarmUpTime.BEFORE
    assert reported[WarmUpTime.WITHIN] is WarmUpTime.WITHIN
