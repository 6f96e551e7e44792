"""What a table says of how many calls its shares are of limits how sure a difference may be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_runs, compare_with_baseline
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.estimate import of_weighted_calls
from patternbench.analyze.statements.pairing import _of_all_pairs, between_changes

CHANGE_OF_CHANGES = np.array([1.0, -1.0, -1.0, 1.0])
ALIKE = {"baseline": 100 * 2 / 400, "retry": 100 * 5 / 400}
"""Two and five failures of 1,200 calls each, in three rounds that look alike."""


def shares(**rates: float) -> pd.DataFrame:
    """Three blocks of one round per strategy, of 400 calls each, with the same share of failures in each round."""
    rows = [
        {"block": block, "strategy": name, "failure_rate": rate, "TotalCalls": 400}
        for block in range(3)
        for name, rate in rates.items()
    ]
    return pd.DataFrame(rows)


def test_shares_that_are_equal_in_every_round_are_no_surer_than_their_calls() -> None:
    how = ComparisonOptions(responses=("failure_rate",), by=("strategy",))
    (few,) = compare_with_baseline(shares(baseline=0.25, retry=0.5), ["strategy=baseline"], how).differences
    assert few.p is not None
    assert few.p > 0.2, "3 against 6 of 1,200 calls"
    assert few.verdict == "inconclusive"
    (many,) = compare_with_baseline(shares(baseline=0.25, retry=20.0), ["strategy=baseline"], how).differences
    assert many.verdict == "higher", "3 against 240 of 1,200 calls"


@pytest.mark.parametrize("known", ["both", "first", "second", "neither"])
def test_calls_that_only_one_side_counts_bound_nothing(known: str) -> None:
    """Fisher's test needs both sides, so a table without calls next to one with calls is compared by rounds alone."""
    a, b = (shares(x=rate).assign(failure_rate=[rate, rate * 1.1, rate * 0.9]) for rate in (0.25, 0.5))
    if known in ("second", "neither"):
        a = a.drop(columns="TotalCalls")
    if known in ("first", "neither"):
        b = b.drop(columns="TotalCalls")
    (found,) = compare_runs(a, b, ComparisonOptions(responses=("failure_rate",), by=("strategy",))).differences
    assert found.p is not None
    assert (found.p > 0.2) == (known == "both")


def test_columns_that_group_or_keep_books_are_no_responses() -> None:
    """Of a table with columns of its own only what was measured is compared, not the load or the number of a block."""
    rows = [
        {"block": block, "round": block * 2 + place, "users": users, "strategy": name, "wait": 1.0 + place + block / 10}
        for block in range(3)
        for users in (10, 20)
        for place, name in enumerate(("baseline", "retry"))
    ]
    found = compare_with_baseline(
        pd.DataFrame(rows), ["strategy=baseline"], ComparisonOptions(by=("strategy", "users"))
    )
    assert {each.response for each in found.differences} == {"wait"}


def test_of_several_conditions_the_one_that_differs_most_surely_stands_for_all_corrected_for_their_number() -> None:
    """Failures that rise under one load and fall as much under the other are equal in sum: only single loads differ."""

    def side(*rates: float) -> list[ScenarioRounds]:
        counts = {"failure_rate": np.full(3, 400.0)}
        return [ScenarioRounds(str(rate), {}, {"failure_rate": np.full(3, rate)}, {}, counts) for rate in rates]

    pairs = list(zip(side(1.0, 5.0, 2.0), side(5.0, 1.0, 2.0), strict=True))
    single = stats.fisher_exact([[12, 1188], [60, 1140]]).pvalue
    assert _of_all_pairs(pairs, "failure_rate") == pytest.approx(3 * single)


def side(rate: float, calls: float | None = 400.0) -> ScenarioRounds:
    """A scenario of three rounds that look alike, in blocks 0 to 2, with the calls of a round where they are known."""
    blocks, values = {"failure_rate": np.arange(3.0)}, {"failure_rate": np.full(3, rate)}
    counts = {} if calls is None else {"failure_rate": np.full(3, calls)}
    return ScenarioRounds(str(rate), {}, values, blocks, counts)


def p_between(ours: tuple[ScenarioRounds, ScenarioRounds], theirs: tuple[ScenarioRounds, ScenarioRounds]) -> float:
    return float(between_changes([ours], [theirs], "failure_rate", in_percent=False).p)


def test_changes_of_shares_that_are_equal_in_every_round_are_told_apart_no_surer_than_their_calls() -> None:
    few = p_between((side(30.0), side(0.25)), (side(30.0), side(0.5)))
    assert few > 0.8, "both changes are sure and large, and yet their difference is of 3 calls in 1,200"
    assert p_between((side(30.0), side(10.0)), (side(30.0), side(29.0))) < 1e-6, "20 points against 1"
    assert p_between((side(30.0, None), side(0.25)), (side(30.0), side(0.5))) == 0.25, "calls that aren't all counted"


def test_a_baseline_that_two_changes_share_cancels_out() -> None:
    base, ours, theirs = side(30.0, 20.0), side(10.0), side(20.0)
    shared, own = (p_between((base, ours), (other, theirs)) for other in (base, side(30.0, 20.0)))
    assert shared < 1e-9, "120 against 240 of 1,200"
    assert own > 0.05, "the few calls of the baselines count where they are two"
    assert shared == pytest.approx(stats.fisher_exact([[120, 1080], [240, 960]]).pvalue, rel=2)


def test_the_p_of_weighted_shares_is_that_of_the_interval_which_ends_at_zero() -> None:
    """One share of 10 in 100 less another of 1 in 100: the interval of Clopper and Pearson of each, by hand."""
    shares, calls = [np.array([10.0]), np.array([1.0])], [np.array([100.0]), np.array([100.0])]
    p = of_weighted_calls(np.array([1.0, -1.0]), shares, calls)
    low, high = stats.beta.ppf(p / 2, 10, 91), stats.beta.isf(p / 2, 2, 99)
    assert np.hypot(0.10 - low, high - 0.01) == pytest.approx(0.09)
    assert of_weighted_calls(np.array([1.0, -1.0]), [shares[0]] * 2, calls) == 1.0
    assert of_weighted_calls(np.array([1.0, -1.0]), shares, [calls[0], np.array([0.0])]) == 1.0


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5, 0.5), (0.02, 0.0, 0.02, 0.0), (0.4, 0.1, 0.4, 0.1)])
def test_of_equal_changes_of_shares_5_percent_at_most_are_told_apart_by_all_calls(shares: tuple[float, ...]) -> None:
    rng, draws, calls = np.random.default_rng(9), 400, 400
    hits = 100 * rng.binomial(calls, shares, (draws, 4)) / calls
    found = [of_weighted_calls(CHANGE_OF_CHANGES, row[:, None], np.full((4, 1), 400.0)) for row in hits]
    assert np.mean(np.array(found) < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
