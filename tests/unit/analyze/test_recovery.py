"""When a round is as before again, against rounds worked out by hand and rounds in which nothing happens."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.recovery import Recovery, recovery

RATE, LASTS, START, END = 20, 30.0, 10.0, 18.0
ROUNDS = 400


def steady(seconds: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twenty operations per second, all good, all as long."""
    began = np.arange(int(RATE * LASTS)) / RATE
    return began, np.full(len(began), seconds), np.ones(len(began), dtype=bool)


def test_a_round_in_which_nothing_happens_was_never_disturbed() -> None:
    assert recovery(*steady(), START, END) == Recovery(0.0, None, 0.0)


def test_failures_and_late_answers_disturb_until_the_last_second_that_has_them() -> None:
    began, seconds, good = steady()
    good[(began >= 12) & (began < 14)] = False
    seconds[(began >= 14) & (began < 21)] = 0.31
    judged = recovery(began, seconds, good, START, END)
    assert judged == Recovery(pytest.approx(75.0), 2.0, 3.0)


def test_a_disturbance_that_ends_before_its_cause_has_recovered_at_once() -> None:
    began, seconds, good = steady()
    good[(began >= 10) & (began < 13)] = False
    judged = recovery(began, seconds, good, START, END)
    assert judged is not None
    assert (judged.seen_after, judged.recovered_after) == (0.0, 0.0)


def test_a_round_that_ends_disturbed_has_not_recovered() -> None:
    began, seconds, good = steady()
    good[began >= 15] = False
    judged = recovery(began, seconds, good, START, END)
    assert judged is not None
    assert judged.recovered_after is None


def test_without_operations_before_it_no_one_can_say_what_is_usual() -> None:
    began, seconds, good = steady()
    late = began >= 9.5
    assert recovery(began[late], seconds[late], good[late], START, END) is None


@pytest.mark.parametrize("failing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rate", [10, 100])
@pytest.mark.parametrize("tail", ["exponential", "log-normal"])
def test_at_most_two_of_a_hundred_rounds_in_which_nothing_happens_count_as_disturbed(
    tail: str, rate: int, failing: float
) -> None:
    rng, disturbed = np.random.default_rng(rate), 0
    for _ in range(ROUNDS):
        began = np.sort(rng.uniform(0, 40, rng.poisson(40 * rate)))
        draw = rng.exponential(1, len(began)) if tail == "exponential" else rng.lognormal(0, 1, len(began))
        judged = recovery(began, draw, rng.random(len(began)) >= failing, START, END)
        disturbed += judged is not None and judged.seen_after is not None
    assert disturbed <= 0.02 * ROUNDS


def test_a_disturbance_since_which_no_operation_began_says_nothing_of_how_it_went_on() -> None:
    """Of a service that stands still, all users may wait for answers to the end of the round."""
    began, seconds, good = (column[:100] for column in steady())
    assert recovery(began, seconds, good, START, END) is None
