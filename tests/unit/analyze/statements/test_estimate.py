"""The one estimator of differences: textbook values, properties, and coverage by seeded simulation."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from patternbench.analyze.statements.estimate import Estimate, _back, apart, is_relative, middle, over, paired
from patternbench.terms.arrays import Floats

sides = st.lists(st.floats(0.01, 100), min_size=4, max_size=4)


def test_independent_rounds_get_welchs_test() -> None:
    x, y = np.array([19.0, 17.2, 18.1, 20.4, 16.0]), np.array([20.1, 22.9, 18.8, 25.0])
    found, welch = apart(x, y), stats.ttest_ind(y, x, equal_var=False)
    limits = welch.confidence_interval(0.95)
    assert found.p == pytest.approx(welch.pvalue)
    assert apart(x / 1e3, y / 1e3).p == pytest.approx(welch.pvalue), "the unit changes nothing"
    assert found.ends(0.95) == (pytest.approx(limits.low), pytest.approx(limits.high))


def test_rounds_of_one_block_get_the_paired_t_test() -> None:
    x, y = np.array([19.0, 17.2, 18.1]), np.array([20.1, 22.9, 18.8])
    found, paired_t = paired(x, y), stats.ttest_rel(y, x)
    limits = paired_t.confidence_interval(0.95)
    assert found.p == pytest.approx(paired_t.pvalue)
    assert found.ends(0.95) == (pytest.approx(limits.low), pytest.approx(limits.high))


def test_many_differences_are_estimated_at_once() -> None:
    x, y = np.random.default_rng(1).normal(0, 1, (2, 5, 7))
    assert paired(x, y).p == pytest.approx([paired(a, b).p for a, b in zip(x, y, strict=True)])
    assert apart(x, y).p == pytest.approx([apart(a, b).p for a, b in zip(x, y, strict=True)])


@given(sides, sides)
def test_exchanging_the_sides_turns_the_sign(a: list[float], b: list[float]) -> None:
    for estimate in (paired, apart):
        there, back = estimate(np.array(a), np.array(b)), estimate(np.array(b), np.array(a))
        assert there.value == pytest.approx(-back.value)
        assert there.ends(0.95)[0] == pytest.approx(-back.ends(0.95)[1], nan_ok=True)


@given(sides, sides, st.floats(0.01, 100))
def test_the_unit_does_not_change_a_ratio(a: list[float], b: list[float], by: float) -> None:
    one, other = (paired(np.log(np.array(a) * f), np.log(np.array(b) * f)) for f in (1.0, by))
    assert one.value == pytest.approx(other.value, abs=1e-9)


def test_rounds_that_never_vary_are_no_surer_than_their_number_allows() -> None:
    same, more = np.full(3, 0.1), np.full(3, 0.1 + 0.2)
    assert (paired(same, same).p, paired(same, more).p) == (1.0, 0.25), "the least p of three signs"
    # 0.1 + 0.2 is not 0.3 in doubles: the rounding is no difference
    assert paired(more, np.full(3, 0.3)).p == 1.0


def test_one_round_a_side_has_a_difference_but_no_interval() -> None:
    for estimate in (paired, apart):
        found = estimate(np.array([1.0]), np.array([3.0]))
        assert found.value == 2.0
        assert np.isnan([*found.ends(0.95), found.p]).all()


@pytest.mark.parametrize("estimate", [paired, apart])
def test_two_rounds_a_side_have_an_interval(estimate: Callable[[Floats, Floats], Estimate]) -> None:
    low, high = estimate(np.array([1.0, 1.1]), np.array([3.0, 3.2])).ends(0.95)
    assert low < 2.05 < high


def test_rounding_is_no_difference_between_independent_rounds_either_whatever_their_scale() -> None:
    rounded, exact = np.full((2, 3), 0.1 + 0.2), np.full((2, 3), 0.3)
    for scale in (1.0, 1e9):
        assert apart(rounded * scale, exact * scale).value.tolist() == [0.0, 0.0]
        assert paired(rounded * scale, exact * scale).value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("estimate", [paired, apart])
def test_a_large_response_does_not_round_a_small_one_away(estimate: Callable[[Floats, Floats], Estimate]) -> None:
    x = np.array([[1e-9, 1.1e-9, 1.2e-9], [1e9, 2e9, 3e9]])
    for one, other in ((x, x * 2), (x, x[::-1] * 2), (x[::-1], x * 2)):
        together = estimate(one, other)
        alone = [estimate(a, b) for a, b in zip(one, other, strict=True)]
        assert together.value.tolist() == [each.value for each in alone]
        assert together.error.tolist() == pytest.approx([each.error for each in alone], rel=1e-9)


@pytest.mark.parametrize("estimate", [paired, apart])
def test_of_many_responses_with_one_round_each_has_its_own_difference(
    estimate: Callable[[Floats, Floats], Estimate],
) -> None:
    found = estimate(np.array([[1.0], [10.0]]), np.array([[3.0], [40.0]]))
    assert found.value.tolist() == [2.0, 30.0]
    assert np.isnan(found.error).all()


def test_tiny_responses_differ_as_large_ones_do() -> None:
    x = np.array([1e-15, 1.1e-15, 1.2e-15])
    for estimate in (paired, apart):
        assert estimate(x, 2 * x).value == pytest.approx(1.1e-15, rel=1e-9, abs=0)


def test_without_a_shared_block_the_difference_is_unknown() -> None:
    found = paired(np.empty((2, 0)), np.empty((2, 0)))
    assert found.value.shape == (2,)
    assert np.isnan(found.value).all()


def test_independent_rounds_that_never_vary_have_the_degrees_of_freedom_of_both_sides() -> None:
    found = apart(np.full(3, 1.0), np.full(4, 2.0))
    assert (found.value, found.error, found.df, found.p) == (1.0, 0.0, 5.0, pytest.approx(2 / 35))


def test_conditions_that_never_vary_have_an_average_and_the_fewest_degrees_of_freedom() -> None:
    found = over([Estimate(1.0, 0.0, 4.0), Estimate(3.0, 0.0, 2.0)])
    assert (found.value, found.error, found.df) == (2.0, 0.0, 2.0)


def test_several_conditions_lend_each_other_degrees_of_freedom() -> None:
    found = over([Estimate(1.0, 0.5, 2.0), Estimate(3.0, 0.5, 2.0)])
    assert (found.value, found.error, found.df) == (2.0, pytest.approx(0.5 / np.sqrt(2)), pytest.approx(4.0))


def test_shares_and_what_can_be_zero_are_not_told_as_ratios() -> None:
    assert is_relative("p95", [0.1, 0.2])
    assert not is_relative("p95", [0.1, 0.0])
    assert not is_relative("failure_rate", [1.0, 2.0])
    assert middle(np.array([1.0, 4.0]), in_percent=True) == pytest.approx(2.0)
    assert middle(np.array([1.0, 4.0]), in_percent=False) == 2.5


@pytest.mark.parametrize("skew", [-0.8, -0.1, 0.1, 0.5, 1.5])
@pytest.mark.parametrize("end", [-2.2, -0.3, 0.4, 2.6])
def test_the_transformation_of_a_skewed_mean_is_undone_as_hall_has_it(skew: float, end: float) -> None:
    t = float(_back(end, np.array(skew)))
    assert ((1 + skew * t / 3) ** 3 - 1) / skew + skew / 6 == pytest.approx(end)
