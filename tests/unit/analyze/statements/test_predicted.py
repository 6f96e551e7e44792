"""How near predictions are said to be: the rule by examples, and how often each word is wrong, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.statements.predicted import (
    PredictionError,
    RoundsOfBoth,
    judge,
    median_error,
    overall,
)
from patternbench.terms.arrays import Floats
from patternbench.terms.nearness import Nearness

RUNS = 400
PROMISED = 0.05


def one(measured: list[float], predicted: list[float], response: str = "p99", step: float = 0.0) -> PredictionError:
    return judge([RoundsOfBoth(np.array(measured), np.array(predicted))], response, step)[0]


def test_the_error_is_the_change_from_what_was_measured_with_its_interval() -> None:
    found = one([0.1, 0.101, 0.099], [0.105, 0.104, 0.106])
    assert found.relative
    assert found.error == pytest.approx(5.0, abs=0.1)
    assert found.low < found.error < found.high
    assert found.nearness is Nearness.NEAR


@pytest.mark.parametrize(
    ("predicted", "word"),
    [
        ([0.104, 0.105, 0.106], Nearness.NEAR),
        ([0.119, 0.120, 0.121], Nearness.FAR),
        ([0.149, 0.150, 0.151], Nearness.NOT_USABLE),
        ([0.0604, 0.0605, 0.0606], Nearness.NOT_USABLE),
        ([0.124, 0.125, 0.126], Nearness.INCONCLUSIVE),
        ([0.080, 0.105, 0.140], Nearness.INCONCLUSIVE),
    ],
)
def test_a_word_is_said_where_the_whole_interval_allows_it(predicted: list[float], word: Nearness) -> None:
    assert one([0.0999, 0.1, 0.1001], predicted).nearness is word


def test_a_share_of_calls_is_near_within_a_point() -> None:
    assert one([0.0, 0.0, 0.0], [0.4, 0.5, 0.6], "failure_rate", 1.0).nearness is Nearness.NEAR
    assert one([0.1, 0.2, 0.1], [6.0, 6.1, 6.0], "failure_rate", 1.0).nearness is Nearness.NOT_USABLE
    near = one([50.0, 50.1, 49.9], [53.0, 53.1, 52.9], "failure_rate", 1.0)
    assert (near.nearness, near.relative, near.error) == (Nearness.NEAR, False, pytest.approx(3.0))


def test_rounds_that_all_recovered_are_near_those_that_all_did_too() -> None:
    assert one([100.0] * 6, [100.0] * 6, "recovered", 1.0).nearness is Nearness.NEAR
    assert one([100.0] * 6, [0.0] * 6, "recovered", 1.0).nearness is Nearness.NOT_USABLE


def test_too_few_rounds_say_nothing() -> None:
    assert one([0.1], [0.1, 0.1]).nearness is Nearness.INCONCLUSIVE
    assert one([float("nan")] * 3, [0.1, 0.1]).nearness is Nearness.INCONCLUSIVE


def test_one_scenario_that_is_not_usable_makes_the_response_so() -> None:
    near, far = one([0.1, 0.1001], [0.1, 0.1001]), one([0.1, 0.1001], [0.3, 0.3001])
    open_ = one([0.1, 0.2], [0.1, 0.2])
    assert overall([near, far, open_]) is Nearness.NOT_USABLE
    assert overall([near, open_]) is Nearness.INCONCLUSIVE
    assert overall([near, near]) is Nearness.NEAR
    assert overall([]) is Nearness.INCONCLUSIVE


def test_the_median_error_is_over_scenarios() -> None:
    errors = [one([0.1, 0.1], [0.1 * factor] * 2) for factor in (0.9, 1.02, 1.5)]
    assert median_error(errors) == pytest.approx(10.0)


def rounds(generator: np.random.Generator, mean: float, count: int, spread: float) -> Floats:
    values: Floats = mean * np.exp(generator.normal(0, spread, count))
    return values


def share_of(word: Nearness, truth: float, scenarios: int, spread: float = 0.05, count: int = 8) -> float:
    """How often any scenario is given a word where each prediction is off by a true factor."""
    generator = np.random.default_rng(7)
    hits = 0
    for _ in range(RUNS):
        both = [
            RoundsOfBoth(rounds(generator, 1.0, count, spread), rounds(generator, truth, count, spread))
            for _ in range(scenarios)
        ]
        hits += any(error.nearness is word for error in judge(both, "p99"))
    return hits / RUNS


@pytest.mark.slow
@pytest.mark.parametrize("scenarios", [1, 10])
@pytest.mark.parametrize(
    ("word", "truth"),
    [
        (Nearness.NEAR, 1.101),
        (Nearness.NEAR, 1 / 1.101),
        (Nearness.FAR, 1.2501),
        (Nearness.NOT_USABLE, 1.2499),
        (Nearness.NOT_USABLE, 1 / 1.2499),
    ],
)
def test_a_word_is_wrong_in_at_most_five_of_a_hundred_checks(word: Nearness, truth: float, scenarios: int) -> None:
    """At the very bar, where a wrong word is likeliest; three standard errors of as many simulated checks."""
    assert share_of(word, truth, scenarios) <= PROMISED + 3 * np.sqrt(PROMISED * (1 - PROMISED) / RUNS)


@pytest.mark.slow
def test_a_good_model_is_called_near_and_a_bad_one_not_usable() -> None:
    assert share_of(Nearness.NEAR, 1.01, 1, spread=0.02) > 0.9
    assert share_of(Nearness.NOT_USABLE, 1.6, 1, spread=0.02) > 0.99


def test_a_share_without_a_failure_is_near_only_as_far_as_its_calls_show() -> None:
    def nearness(calls: float) -> Nearness:
        rounds = RoundsOfBoth(np.zeros(3), np.zeros(6), (np.full(3, calls), np.full(6, 4000.0)))
        return judge([rounds], "failure_rate", 1.0)[0].nearness

    assert nearness(400) is Nearness.NEAR
    assert nearness(20) is Nearness.INCONCLUSIVE, "60 calls don't show that fewer than 6 % fail"
