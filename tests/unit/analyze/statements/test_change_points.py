"""A change of a series is told where two stretches of at least ten runs differ, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.analyze.statements.change_points import FEWEST_SIDE, course, splits
from patternbench.analyze.statements.estimate import apart
from patternbench.analyze.statements.verdict import Verdict


def noise(runs: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(runs)


@given(st.integers(0, 10_000), st.integers(8, 40))
def test_each_split_is_estimated_as_two_independent_sides_are(seed: int, runs: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.exponential(3.0, runs) + 50.0
    sizes = np.arange(3, runs - 2)
    found = splits(values, sizes)
    for place, size in enumerate(sizes):
        alone = apart(values[:size], values[size:])
        assert np.asarray(found.value)[place] == pytest.approx(float(alone.value))
        assert np.asarray(found.error)[place] == pytest.approx(float(alone.error))
        assert np.asarray(found.df)[place] == pytest.approx(float(alone.df))
        assert np.asarray(found.firm_p)[place] == pytest.approx(float(alone.firm_p), rel=1e-5, abs=1e-12)


def test_a_step_of_four_spreads_is_found_with_its_place_and_both_means() -> None:
    values = np.concatenate([noise(25, 3), noise(15, 4) + 4.0])
    found = course(values)
    assert found.verdict is Verdict.HIGHER
    (at,) = found.changes
    assert abs(at - 25) <= 1
    first, second = found.stretches
    assert first.low < 0 < first.high
    assert second.low < 4 < second.high


def test_two_steps_are_two_changes_and_the_word_is_that_of_the_last() -> None:
    values = np.concatenate([noise(20, 3), noise(20, 4) + 5.0, noise(20, 5) + 1.0])
    found = course(values)
    assert len(found.changes) == 2
    assert found.verdict is Verdict.LOWER


def test_nine_runs_after_a_step_are_no_change_but_to_be_watched_and_ten_are_one() -> None:
    values = np.concatenate([noise(40, 1), noise(FEWEST_SIDE, 2) + 5.0])
    early, late = course(values[:-1]), course(values)
    assert (early.changes, early.verdict, early.watched) == ((), Verdict.INCONCLUSIVE, Verdict.HIGHER)
    assert late.changes == (40,)
    assert late.watched is None


def test_two_runs_far_off_are_not_to_be_watched() -> None:
    assert course(np.concatenate([noise(30), [9.0, 9.0]])).watched is None


def test_below_twenty_runs_it_is_too_few_and_no_change_is_inconclusive_never_the_same() -> None:
    assert course(noise(19)).verdict is Verdict.TOO_FEW_RUNS
    assert course(noise(20)).verdict is Verdict.INCONCLUSIVE
    assert course(np.zeros(0)).verdict is Verdict.TOO_FEW_RUNS
    assert course(np.array([1.0])).stretches[0].mean == 1.0


def test_runs_that_never_vary_change_where_they_step_and_are_one_stretch_where_they_don_t() -> None:
    flat = np.full(24, 0.1)
    assert course(flat).changes == ()
    assert course(np.concatenate([flat, flat + 0.2])).changes == (24,)


def test_more_lines_together_ask_for_a_surer_change() -> None:
    values = np.concatenate([noise(20, 7), noise(20, 8) + 1.9])
    assert course(values).changes
    assert not course(values, lines=10**6).changes


@given(st.integers(0, 1000), st.floats(0.01, 1000), st.floats(-100, 100))
def test_the_unit_and_the_zero_of_values_change_nothing(seed: int, scale: float, offset: float) -> None:
    values = np.concatenate([noise(20, seed), noise(15, seed + 1) + 2.0])
    assert course(values).changes == course(offset + scale * values).changes
    assert [one.end - one.begin >= FEWEST_SIDE for one in course(values).stretches]
