"""What the search for a rate asks of a study, and the load that it makes of it."""

from __future__ import annotations

import pytest
from tests.support.studies import study

from patternbench.analyze.load.rate_search import Limits, RateStep, capacity, parse_objective
from patternbench.cli.capacity import in_words
from patternbench.run.single.rate_rounds import RateFixture, RateRound, _one_scenario, of_url
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration


def test_a_url_becomes_an_open_study_that_asks_for_its_path() -> None:
    scenario = _one_scenario(of_url("http://127.0.0.1:1/items?limit=5").study())
    assert scenario.workload.request is not None
    assert list(scenario.workload.request.path) == ["/items?limit=5"]
    assert scenario.system.addresses == ["http://127.0.0.1:1"]


def test_a_round_has_the_rate_and_the_duration_of_the_search_and_all_else_of_the_study() -> None:
    scenario = _one_scenario(of_url("http://127.0.0.1:1/").study())
    rate_fixture = RateFixture.__new__(RateFixture)
    rate_fixture.scenario, rate_fixture.duration = scenario, Duration.parse("3s")
    at = rate_fixture._at(70.5).workload.open
    assert at is not None and at.rate is not None and at.duration is not None
    assert (list(at.rate), list(at.duration), list(at.in_flight)) == ([70.5], [Duration.parse("3s")], [10_000])


def message(*steps: RateStep) -> str:
    objective = parse_objective("p95 <= 100ms")
    rounds = [RateRound(step, 0.01, 0.02, "") for step in steps]
    return in_words(rounds, capacity([], objective), objective, Limits())


def test_the_words_on_the_knee_count_the_calls_that_they_rest_on() -> None:
    few = message(RateStep(10, 50, 0), RateStep(20, 100, 0), RateStep(40, 200, 60))
    assert few.endswith(" Up to 20/s 0 of 150 calls missed it.")
    assert message(RateStep(10, 20_000, 3), RateStep(20, 40_000, 900)).endswith(
        " Up to 10/s 3 of 20,000 calls missed it."
    )
    assert "missed it" not in message(RateStep(10, 50, 40)).partition("/s")[2]


@pytest.mark.parametrize("workload", ["{open: {rate: [1, 2], duration: 1s}}", "{closed: {users: 1, requests: 5}}"])
def test_a_study_of_several_scenarios_or_without_a_rate_is_refused(workload: str) -> None:
    strategies = "[{client: native, baseline: {}}]"
    with pytest.raises(InputError, match=r"2 scenarios|no rate to search"):
        _one_scenario(
            study(f"patternbench: 1\nname: x\nsystem: target\nworkload: {workload}\nstrategies: {strategies}\n")
        )
