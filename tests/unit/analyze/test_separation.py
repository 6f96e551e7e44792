"""How well an early number tells lost rounds from recovered ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from patternbench.analyze.separation import separation

FEW = np.array([1.0, 2.0, 3.0, 4.0])


def test_rounds_that_are_wholly_apart_have_an_alarm_between_them() -> None:
    found = separation(np.arange(10.0, 20.0), np.arange(0.0, 8.0))
    assert found is not None
    assert (found.area, found.high, found.caught, found.false) == (1, 1, 1, 0)
    assert found.threshold == 8.5
    assert 0.6 < found.low < 0.8, "eight rounds of a kind promise no more"
    back = separation(np.arange(0.0, 8.0), np.arange(10.0, 20.0))
    assert back is not None and (back.area, back.low) == (0, 0)


def test_the_area_is_the_chance_to_be_greater_and_ties_count_half() -> None:
    found = separation(np.array([1.0, 2, 3, 3, 5]), np.array([1.0, 1, 2, 3, 4]))
    assert found is not None
    u = stats.mannwhitneyu([1, 2, 3, 3, 5], [1, 1, 2, 3, 4]).statistic
    assert found.area == pytest.approx(u / 25)


def test_with_too_few_rounds_or_numbers_nothing_is_said() -> None:
    assert separation(FEW, np.arange(20.0)) is None
    assert separation(np.append(FEW, np.nan), np.arange(20.0)) is None


def test_numbers_that_are_all_alike_are_a_coin() -> None:
    found = separation(np.ones(6), np.ones(7))
    assert found is not None and found.area == 0.5


@pytest.mark.parametrize(("shift", "rounds"), [(0.0, 10), (1.0, 12), (2.0, 15), (1.0, 40)])
def test_the_interval_holds_the_true_area_in_93_of_100_cases(shift: float, rounds: int) -> None:
    rng, hit, runs = np.random.default_rng(1), 0, 1000
    true = float(stats.norm.cdf(shift / np.sqrt(2)))
    for _ in range(runs):
        found = separation(rng.normal(shift, 1, rounds), rng.normal(0, 1, rounds))
        assert found is not None
        hit += found.low <= true <= found.high
    assert hit / runs >= 0.93 - 0.02
