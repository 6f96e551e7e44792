"""The stopping rule: decisions, words, and coverage under repeated looks."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from patternbench.analyze.stopping.rule import StoppingRule, confidences, decide, next_block, parse_rule, saving
from patternbench.terms.data_problems import DataError

RULE = StoppingRule("p95", 0.05, relative=True, fewest=3, most=30)


def test_rounds_that_are_all_equal_are_believed_from_six_on() -> None:
    first = decide([2.0, 2.0, 2.0], RULE)
    assert (first.stop, first.half_width, first.expected_rounds) == (False, None, 6)
    assert "the same in 3 rounds, too few to know its spread" in first.words
    assert decide([2.0] * 6, RULE).reason == "narrow_enough"
    assert decide([2.0] * 3, StoppingRule("p95", 0.05, relative=True, fewest=3, most=3)).stop


def test_a_clock_that_reads_the_same_time_twice_leaves_half_a_step_unknown() -> None:
    read = [0.005, 0.005, 0.005, 0.005, 0.005, 0.005, 0.006]
    assert decide(read, StoppingRule("p95", 1e-9, relative=False)).half_width >= 0.0005
    shares = StoppingRule("failure_rate", 1e-9, relative=False)
    assert decide([0.0] * 20 + [0.01], shares).half_width < 0.005


def test_too_few_rounds_never_stop() -> None:
    assert decide([2.0, 2.0], RULE).reason == "too_few"


def test_noisy_rounds_continue_and_say_how_many_to_expect() -> None:
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
    rounds = {"noisy": [1.0, 2.0, 3.0], "steady": [2.0, 2.001, 1.999], "new": [1.0]}
    assert next_block(rounds, RULE) == ["noisy", "new"]


def test_what_was_saved_is_said() -> None:
    rounds = {"steady": [2.0, 2.001, 1.999], "steady too": [3.0, 3.0, 3.0]}
    found = saving({name: decide(values, RULE) for name, values in rounds.items()}, RULE)
    assert found.words == "6 of 60 rounds were needed: 90% saved."


def test_looking_often_costs_confidence_where_the_choice_is_made_but_less_than_bonferroni() -> None:
    planned = confidences(3, 30, 0.95)
    assert planned[0] == planned[-1]
    assert 0.95 < planned[0] < min(planned[1:-1])
    assert max(planned) < 1 - 0.05 / 28


def test_a_single_look_needs_no_correction() -> None:
    assert confidences(10, 10, 0.95) == (0.95,)


def test_rounds_beyond_the_most_are_judged_like_the_last_look() -> None:
    values = np.linspace(1.0, 1.1, 32)
    last = confidences(RULE.fewest, RULE.most, RULE.confidence)[-1]
    expected = stats.t.ppf((1 + last) / 2, 31) * values.std(ddof=1) / np.sqrt(32)
    assert decide(values, RULE).half_width == pytest.approx(expected)


def covered(draw: Callable[[np.random.Generator], float], mean: float) -> int:
    """Run the rule 1,000 times, seeded, and count how often the interval at stopping holds the mean."""
    found = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        values = [draw(rng) for _ in range(RULE.fewest)]
        while not (decision := decide(values, RULE)).stop:
            values.append(draw(rng))
        assert decision.mean is not None
        assert decision.half_width is not None
        found += abs(decision.mean - mean) <= decision.half_width
    return found


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.01, 0.03, 0.06, 0.1, 0.2, 1.0])
def test_the_interval_at_stopping_covers_as_often_as_it_says(spread: float) -> None:
    assert 930 <= covered(lambda rng: rng.normal(100, 100 * spread), 100) <= 970


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.1, 0.15, 0.2])
def test_it_does_so_for_skewed_rounds_too(sigma: float) -> None:
    assert 930 <= covered(lambda rng: rng.lognormal(0, sigma), float(np.exp(sigma**2 / 2))) <= 970


@pytest.mark.parametrize("text", ["0%", "0ms"])
def test_a_half_width_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="isn't a half-width"):
        parse_rule({"response": "p95", "half_width": text}, 3, 30)
