"""The search for a rate within an objective, against a queue whose answer is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from patternbench.analyze.load import rate_search
from patternbench.analyze.load.rate_search import (
    Capacity,
    Limits,
    RateObjective,
    RateStep,
    capacity,
    knee,
    parse_objective,
    search,
)
from patternbench.terms.data_problems import DataError

SERVICE_S = 0.01
"""Mean service time of the M/M/1 queue: it takes 100 calls per second at most."""
OBJECTIVE = parse_objective("p95 <= 100ms")
EXACT = 1 / SERVICE_S + math.log(OBJECTIVE.allowed) / OBJECTIVE.seconds
"""P(response > t) = exp(-(mu - lambda) t), so that the rate at which it is 5 % is known."""


def round_of(rate: float, rng: np.random.Generator, spread: float, calls: int = 2000) -> RateStep:
    """A round at the queue: its speed differs from round to round, as a machine's does."""
    speed = (1 / SERVICE_S) * math.exp(spread * rng.standard_normal())
    late = math.exp(-(speed - rate) * OBJECTIVE.seconds) if rate < speed else 1.0
    return RateStep(rate, calls, int(rng.binomial(calls, late)))


def found(seed: int, spread: float = 0.03, limits: Limits | None = None) -> tuple[Capacity, list[RateStep]]:
    limits = limits or Limits(start=5)
    rng, steps, asking = np.random.default_rng(seed), [], search(OBJECTIVE, limits)
    rate = next(asking, None)
    while rate is not None:
        steps.append(round_of(rate, rng, spread))
        try:
            rate = asking.send(steps[-1])
        except StopIteration:
            rate = None
    return capacity(rate_search.evidence(steps, limits), OBJECTIVE), steps


@pytest.mark.parametrize("spread", [0.0, 0.03, 0.08])
def test_the_interval_holds_the_queues_rate_about_as_often_as_it_says(spread: float) -> None:
    answers = [found(seed, spread)[0] for seed in range(200)]
    reported = [one for one in answers if one.low is not None and one.high is not None]
    held = [one for one in reported if one.low <= EXACT <= one.high]  # type: ignore[operator]
    assert len(reported) > 0.75 * len(answers)
    assert len(held) / len(reported) >= 0.9


def test_where_no_round_is_saturated_the_ends_are_those_of_the_likelihood_ratio_of_a_straight_line() -> None:
    steps = [RateStep(r, 1000, m) for r, m in ((80, 11), (90, 24), (100, 60), (80, 18), (90, 31), (100, 44))] * 2
    answer = capacity(steps, OBJECTIVE)
    x = np.array([one.rate for one in steps], dtype=float)
    y = np.log([one.missed / (one.calls - one.missed) for one in steps]) - math.log(0.05 / 0.95)

    def left(place: float) -> float:
        """The squares that the best line through zero at this place leaves."""
        z = x - place
        return float(((y - (z @ y) / (z @ z) * z) ** 2).sum())

    places = np.linspace(85.0, 125.0, 40_001)
    squares = np.array([left(place) for place in places])
    t = stats.t.ppf(0.975, len(steps) - 2)
    inside = places[squares <= squares.min() * (1 + t**2 / (len(steps) - 2))]
    assert answer.rate == pytest.approx(places[squares.argmin()], rel=3e-3)
    ends = inside[0] * (1 - rate_search.CURVED), inside[-1] * (1 + rate_search.CURVED)
    assert (answer.low, answer.high) == pytest.approx(ends, rel=0.02)


def test_a_service_that_falls_off_a_cliff_gets_the_gap_in_which_it_does_and_no_slope_from_saturated_rounds() -> None:
    steps = [RateStep(rate, 1000, missed) for _ in range(5) for rate, missed in ((85, 0), (100, 0), (115, 1000))]
    answer = capacity(steps, OBJECTIVE)
    assert answer.low is not None
    assert answer.high is not None
    assert answer.rate == pytest.approx(math.sqrt(100 * 115), rel=0.01)
    assert 97.5 < answer.low < 101
    assert 114 < answer.high < 118


def test_on_a_cliff_the_rates_come_nearer_to_it_block_by_block() -> None:
    asking, requested = search(OBJECTIVE, Limits(start=50)), []
    rate = next(asking, None)
    while rate is not None:
        requested.append(rate)
        try:
            rate = asking.send(RateStep(rate, 1000, 0 if rate < 91 else 1000))
        except StopIteration:
            rate = None
    blocks = [sorted(requested[-3 * place : len(requested) - 3 * place + 3]) for place in range(5, 0, -1)]
    spans = [block[-1] / block[0] for block in blocks]
    assert spans[0] == pytest.approx(1.15 / 0.85)
    assert spans[1] < 1.2
    assert spans[-1] <= 1.05
    assert blocks[-1][0] < 91 < blocks[-1][-1] * 1.02


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mixed", [0, 1, 20, 999, 1000])
@pytest.mark.parametrize("calls", [1, 1000, 10**9])
@pytest.mark.parametrize("rates", [(85.0, 100.0, 115.0), (1e-6, 2e-6, 1e6), (99.9999999, 100.0, 100.0000001)])
def test_rounds_of_all_calls_missed_or_none_and_one_between_are_answered_in_words(
    rates: tuple[float, float, float], calls: int, mixed: int
) -> None:
    few = calls * mixed // 1000
    for middles in ([few, 0, calls], [0, few, calls], [calls, few, 0], [0, 0, few], [few, calls, calls]):
        steps = [RateStep(rate, calls, missed) for _ in range(5) for rate, missed in zip(rates, middles, strict=True)]
        steps[1] = RateStep(rates[1], calls, few)
        answer = capacity(steps, OBJECTIVE)
        assert answer.note or (answer.low is not None and answer.high is not None)
        assert answer.low is None or math.isfinite(answer.low)


@pytest.mark.filterwarnings("error")
def test_rounds_without_any_call_have_no_capacity_and_say_so() -> None:
    assert capacity([RateStep(rate, 0, 0) for rate in (90, 100, 110)], OBJECTIVE).note


def test_rounds_whose_machine_wanders_get_a_warning_next_to_their_interval() -> None:
    rates = [rate for block in range(5) for rate in ((85, 100, 115) if block % 2 else (115, 100, 85))]
    shares = [1 / (1 + math.exp(3 - (rate - 100) / 10 - place / 7)) for place, rate in enumerate(rates)]
    steps = [RateStep(rate, 2000, round(2000 * share)) for rate, share in zip(rates, shares, strict=True)]
    assert "resemble the ones before them" in capacity(steps, OBJECTIVE).doubt


def test_the_search_asks_the_same_rates_of_the_same_service() -> None:
    assert [step.rate for step in found(7)[1]] == [step.rate for step in found(7)[1]]


def test_a_service_that_keeps_the_objective_at_any_rate_has_no_capacity_found() -> None:
    asking, limits = search(OBJECTIVE, Limits(most=100)), Limits(most=100)
    steps = [RateStep(next(asking), 100, 0)]
    with pytest.raises(StopIteration):
        while True:
            steps.append(RateStep(asking.send(steps[-1]), 100, 0))
    assert max(step.rate for step in steps) <= 100
    assert capacity(rate_search.evidence(steps, limits), OBJECTIVE).rate is None


def test_a_service_that_misses_the_objective_at_once_is_asked_for_less_and_then_given_up() -> None:
    asking = search(OBJECTIVE, Limits(start=8))
    rates = [next(asking)]
    with pytest.raises(StopIteration):
        while True:
            rates.append(asking.send(RateStep(rates[-1], 100, 100)))
    assert rates[:5] == [8, 8, 4, 4, 2] and len(rates) < 40


def test_no_answer_lies_beyond_the_rates_that_were_repeated() -> None:
    steps = [RateStep(rate, 1000, missed) for rate in (90, 100, 110) for missed in (1, 1, 2 + rate // 50)]
    assert capacity(steps, OBJECTIVE).rate is None


def test_rounds_that_differ_too_much_give_no_interval() -> None:
    steps = [
        RateStep(rate, 1000, missed)
        for rate, missed in ((90, 400), (100, 10), (110, 300), (90, 2), (100, 500), (110, 6))
    ]
    assert capacity(steps, OBJECTIVE).low is None


def asked(rate_of: Callable[[int], float], limits: Limits | None = None) -> tuple[Capacity, list[RateStep]]:
    """The answer of a service that, at each round, takes what ``rate_of`` says, and the rounds that were asked for."""
    limits = limits or Limits(start=10, rounds=4)
    steps, asking = list[RateStep](), search(OBJECTIVE, limits)
    rate = next(asking, None)
    while rate is not None:
        missed = 1 / (1 + math.exp(3 - 30 * (rate / rate_of(len(steps)) - 1)))
        steps.append(RateStep(rate, 1000, round(1000 * missed)))
        try:
            rate = asking.send(steps[-1])
        except StopIteration:
            rate = None
    return capacity(rate_search.evidence(steps, limits), OBJECTIVE), steps


@pytest.mark.parametrize("later", [800.0, 320.0, 170.0, 25.0])
def test_a_service_that_was_cold_or_goes_slow_while_its_ends_are_found_is_looked_for_again(later: float) -> None:
    answer, steps = asked(lambda round_: 200.0 if round_ < 9 else later)
    assert answer.low is not None, answer.note
    assert answer.high is not None
    assert answer.low <= later <= answer.high
    assert len(steps) < 40


def test_a_service_that_stays_as_it_is_is_looked_for_once() -> None:
    answer, steps = asked(lambda _: 200.0)
    assert len(steps) == 7 + 3 + 12, "doubled to a miss that is asked again, halved, then four blocks of three"
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low <= 200 <= answer.high


def test_a_service_that_never_stays_the_same_is_given_up_in_the_end() -> None:
    """Twice as quick after each ten rounds: every search ends below what it takes by then."""
    answer, steps = asked(lambda round_: 200.0 * 2.0 ** (round_ // 10))
    assert len(steps) < 100
    assert answer.note or answer.low is not None


def test_one_stall_does_not_lead_the_search_astray() -> None:
    asking = search(OBJECTIVE, Limits(start=8))
    assert next(asking) == 8
    assert asking.send(RateStep(8, 100, 90)) == 8
    assert asking.send(RateStep(8, 100, 0)) == 16


def test_the_knee_is_the_last_rate_before_any_that_missed_more_than_one_in_a_thousand() -> None:
    assert knee([RateStep(10, 5000, 0), RateStep(40, 5000, 4), RateStep(20, 5000, 1), RateStep(80, 5000, 900)]) == 40
    assert knee([RateStep(10, 100, 50)]) is None
    assert knee([RateStep(10, 5000, 0), RateStep(20, 5000, 900), RateStep(40, 5000, 0)]) == 10, (
        "what lies beyond a bad one"
    )
    assert knee([RateStep(10, 5000, 0), RateStep(20, 5000, 0)]) == 20, "none was bad"
    assert knee([RateStep(10, 1001, 1), RateStep(20, 1000, 1)]) == 10, "the bound itself is bad"
    assert knee([RateStep(20, 5000, 0), RateStep(20, 5000, 900)]) is None, "a rate that was bad once is"
    assert knee([]) is None


def test_an_objective_is_a_quantile_and_a_time() -> None:
    assert parse_objective("p99 <= 1.5s") == RateObjective("p99 <= 1.5s", 1 - 0.99, 1.5)
    assert parse_objective("p999<=200ms").allowed == pytest.approx(0.001)
    for text in ("p95", "p95 < 100ms", "mean <= 1s", "p95 <= 100", "p95 <= 0ms"):
        with pytest.raises(DataError, match="Write for example"):
            parse_objective(text)
