"""What a table says of how many calls its shares are of limits how sure a difference may be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_runs, compare_with_baseline
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.pairing import _of_all_pairs

#: Two and five failures of 1,200 calls each, in three rounds that look alike.
ALIKE = {"baseline": 100 * 2 / 400, "retry": 100 * 5 / 400}


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
