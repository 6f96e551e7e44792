"""Intervals over rounds: textbook values, properties, and coverage by seeded simulation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from patternbench.analyze.intervals import GroupedRounds, median_interval, median_table

values = st.lists(st.floats(0.001, 1000), min_size=1, max_size=30)


def test_ten_rounds_give_the_second_and_the_ninth_observation() -> None:
    found = median_interval(range(1, 11))
    assert (found.median, found.low, found.high) == (5.5, 2, 9)
    assert found.coverage == pytest.approx(1 - 2 * 11 / 1024)


def test_five_rounds_cannot_reach_95_percent_and_say_so() -> None:
    found = median_interval([3, 1, 2, 5, 4])
    assert (found.low, found.high, found.coverage) == (1, 5, pytest.approx(0.9375))


def test_one_round_has_no_confidence_at_all() -> None:
    found = median_interval([7.0])
    assert (found.median, found.low, found.high, found.coverage) == (7, 7, 7, 0)


def test_undefined_rounds_are_left_out_and_not_counted() -> None:
    assert median_interval([np.nan, 1, 2, 3]).rounds == 3
    nothing = median_interval([np.nan])
    assert nothing.rounds == 0
    assert np.isnan(nothing.median)


@given(values)
def test_the_median_lies_in_its_interval(found: list[float]) -> None:
    interval = median_interval(found)
    assert min(found) <= interval.low <= interval.median <= interval.high <= max(found)


@given(values, st.permutations(range(30)))
def test_the_order_of_rounds_changes_nothing(found: list[float], order: list[int]) -> None:
    assert median_interval([found[i] for i in order if i < len(found)]) == median_interval(found)


@given(st.integers(6, 200))
def test_from_six_rounds_on_the_coverage_is_reached_and_not_wasted(count: int) -> None:
    interval = median_interval(np.arange(count))
    narrower = 1 - 2 * stats.binom.cdf(int(interval.low) + 1, count, 0.5)
    assert narrower < 0.95 <= interval.coverage


def test_the_median_table_keeps_the_order_of_groups() -> None:
    rounds = pd.DataFrame({"scenario": ["b", "a", "b"], "p95": [1.0, 5.0, 3.0]})
    table = median_table(rounds, ["scenario"], ["p95"])
    assert table[["scenario", "median", "rounds"]].values.tolist() == [["b", 2.0, 2], ["a", 5.0, 1]]


def test_the_median_table_of_no_rounds_is_empty() -> None:
    nothing = pd.DataFrame({"scenario": pd.Series(dtype=str), "p95": pd.Series(dtype=float)})
    table = median_table(nothing, ["scenario"], ["p95"])
    assert table.empty
    assert list(table.columns) == ["scenario", "response", "median", "low", "high", "rounds", "coverage"]


def test_the_median_table_agrees_with_the_interval_of_each_group() -> None:
    generator = np.random.default_rng(5)
    rounds = pd.DataFrame(
        {
            "scenario": generator.integers(0, 5, 60),
            "client": generator.choice(["a", "b"], 60),
            "p95": generator.random(60),
        }
    )
    table = median_table(rounds, ["scenario", "client"], ["p95"])
    assert len(table) == len(rounds[["scenario", "client"]].drop_duplicates()) == 10
    for row in table.itertuples():
        chosen = rounds[(rounds["scenario"] == row.scenario) & (rounds["client"] == row.client)]["p95"]
        expected = median_interval(chosen)
        assert (row.median, row.low, row.high) == (expected.median, expected.low, expected.high)


def test_the_medians_of_one_response_are_those_of_a_table_of_it() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"scenario": ["b", "a", "b", "c"] * 3, "p95": rng.random(12), "goodput": rng.random(12)})
    table.loc[3::4, "p95"] = np.nan
    table = table.assign(recovered=table["goodput"] > 0.5, valid=True)
    grouped = GroupedRounds(table, ["scenario"])
    for name in ("p95", "goodput", "recovered"):
        pd.testing.assert_frame_equal(grouped.of_one(name), median_table(table, ["scenario"], [name]))


def test_the_medians_of_one_response_of_no_rounds_are_none() -> None:
    table = pd.DataFrame({"scenario": [], "p95": []})
    assert GroupedRounds(table, ["scenario"]).of_one("p95").empty
