"""A history that is looked at after every run: how often it shows a change that is not there, and misses one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from patternbench.analyze.statements.change_points import changes, course
from patternbench.terms.arrays import Floats

Draw = Callable[[np.random.Generator, int], Floats]
HISTORIES, MOST = 150, 80


def normal(rng: np.random.Generator, runs: int) -> Floats:
    return rng.standard_normal(runs)


def heavy(rng: np.random.Generator, runs: int) -> Floats:
    return rng.standard_t(3, runs)


def skewed(rng: np.random.Generator, runs: int) -> Floats:
    return rng.exponential(1.0, runs)


def far_off(rng: np.random.Generator, runs: int) -> Floats:
    """One run in ten is far off to one side."""
    return rng.standard_normal(runs) + 8.0 * (rng.random(runs) < 0.1)


NOISES: list[Draw] = [normal, heavy, skewed, far_off]


def bound(count: int) -> float:
    """The most that a simulated rate of 5 % may show: three standard errors above."""
    return float(0.05 + 3 * np.sqrt(0.05 * 0.95 / count))


def ever_shows(values: Floats, lines: int = 1) -> bool:
    """Whether any look shows a change, of those after each run from the twentieth on."""
    return any(changes(values[:runs], lines) for runs in range(20, len(values) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("draw", NOISES)
def test_where_nothing_changes_at_most_5_of_100_histories_ever_show_a_change(draw: Draw) -> None:
    rng = np.random.default_rng(36)
    shown = sum(ever_shows(draw(rng, MOST)) for _ in range(HISTORIES))
    assert shown / HISTORIES <= bound(HISTORIES)


@pytest.mark.slow
def test_of_ten_lines_that_do_not_change_at_most_5_of_100_histories_ever_show_one() -> None:
    rng, histories = np.random.default_rng(37), 60
    shown = sum(any(ever_shows(normal(rng, 40), 10) for _ in range(10)) for _ in range(histories))
    assert shown / histories <= bound(histories)


@pytest.mark.parametrize("draw", NOISES)
def test_the_last_runs_are_to_be_watched_at_5_of_100_looks_at_most_where_nothing_changes(draw: Draw) -> None:
    rng, looks = np.random.default_rng(38), 400
    watched = sum(course(draw(rng, 33)).watched is not None for _ in range(looks))
    assert watched / looks <= bound(looks)


@pytest.mark.parametrize(("step", "after", "least"), [(3.0, 10, 0.8), (2.0, 20, 0.8), (1.5, 40, 0.8)])
def test_a_change_of_this_many_spreads_is_shown_in_80_of_100_histories_near_its_place(
    step: float, after: int, least: float
) -> None:
    rng, histories = np.random.default_rng(39), 100
    near = 0
    for _ in range(histories):
        values = normal(rng, 40 + after)
        values[40:] += step
        near += any(abs(at - 40) <= 3 for at in course(values).changes)
    assert near / histories >= least


def test_looking_after_every_run_at_the_doubt_of_one_look_would_be_wrong_more_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The p of a look counts several times: counted once, more histories show a change that is not there."""
    drawn = [normal(np.random.default_rng(seed), 45) for seed in range(60)]
    kept = sum(map(ever_shows, drawn))
    monkeypatch.setattr("patternbench.analyze.statements.change_points.LOOKS", 1 / 10)
    assert sum(map(ever_shows, drawn)) > kept
