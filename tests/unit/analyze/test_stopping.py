"""The stopping rule: decisions, words, and coverage under repeated looks."""

import numpy as np
import pytest

from patternbench.analyze.problems import DataError
from patternbench.analyze.stopping import Rule, decide, next_block, parse_rule, saving, strict_confidence

RULE = Rule("p95", 0.05, relative=True, fewest=3, most=30)


def test_equal_rounds_stop_at_once() -> None:
    assert decide([2.0, 2.0, 2.0], RULE).reason == "narrow_enough"


def test_too_few_rounds_never_stop() -> None:
    assert decide([2.0, 2.0], RULE).reason == "too_few"


def test_noisy_rounds_go_on_and_say_how_many_to_expect() -> None:
    decision = decide([1.0, 2.0, 3.0], RULE)
    assert not decision.stop
    assert decision.expected_rounds == 30


def test_at_most_rounds_stop_whatever_the_noise() -> None:
    decision = decide(np.random.default_rng(1).lognormal(0, 2, 30), RULE)
    assert decision.stop
    assert decision.reason == "at_most"


def test_missing_and_infinite_rounds_do_not_count() -> None:
    assert decide([2.0, np.nan, 2.0, np.inf], RULE).rounds == 2


def test_a_mean_of_zero_never_divides() -> None:
    assert decide([-1.0, 0.0, 1.0], RULE).reason == "too_wide"


def test_an_absolute_width_has_its_unit() -> None:
    assert parse_rule({"response": "p95", "half_width": "20ms"}, 3, 30).half_width == pytest.approx(0.02)
    assert parse_rule({"response": "p95", "half_width": "5%"}, 3, 30) == RULE


def test_all_that_is_wrong_with_a_rule_is_said_at_once() -> None:
    with pytest.raises(DataError) as raised:
        parse_rule({"half_width": "wide"}, 2, 1)
    assert [p.where for p in raised.value.problems] == [
        "rounds.until.response",
        "rounds.until.half_width",
        "rounds.min",
        "rounds.max",
    ]


def test_a_time_without_a_unit_is_refused() -> None:
    with pytest.raises(DataError, match="Write 20ms"):
        parse_rule({"response": "p95", "half_width": "0.02"}, 3, 30)


def test_the_next_block_holds_the_open_scenarios_in_order() -> None:
    rounds = {"noisy": [1.0, 2.0, 3.0], "steady": [2.0, 2.0, 2.0], "new": [1.0]}
    assert next_block(rounds, RULE) == ["noisy", "new"]


def test_what_was_saved_is_said() -> None:
    found = saving({"steady": [2.0, 2.0, 2.0], "steady too": [3.0, 3.0, 3.0]}, RULE)
    assert found.words == "6 of 60 rounds were needed: 90% saved."


def test_looking_often_costs_confidence_but_less_than_bonferroni() -> None:
    assert 0.95 < strict_confidence(3, 30, 0.95) < 1 - 0.05 / 28


def test_a_single_look_needs_no_correction() -> None:
    assert strict_confidence(10, 10, 0.95) == 0.95


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.01, 0.03, 0.06, 0.1, 0.2, 1.0])
def test_the_interval_at_stopping_covers_as_often_as_it_says(spread: float) -> None:
    covered = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        values = list(rng.normal(100, 100 * spread, RULE.fewest))
        while not (decision := decide(values, RULE)).stop:
            values.append(rng.normal(100, 100 * spread))
        assert decision.mean is not None
        assert decision.half_width is not None
        covered += abs(decision.mean - 100) <= decision.half_width
    # stricter looks make it cover more than it says where the first look suffices or none does: up to 97.8 %
    assert 930 <= covered <= 985
