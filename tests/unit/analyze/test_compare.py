"""Differences between scenarios, their intervals, and the release gate."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patternbench.analyze.compare import (
    How,
    Interval,
    compare_runs,
    compare_with_baseline,
    mean_intervals,
    paired_intervals,
    smallest_detectable,
)
from patternbench.analyze.gate import judge, parse_condition, rounds_to_decide, simultaneous_level
from patternbench.analyze.problems import DataError

Intervals = Callable[..., tuple[Interval, Interval]]


def run(slower: float = 1.0, seed: int = 1, rounds: int = 12, spread: float = 0.05) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for block in range(rounds):
        for users in (10, 80):
            for strategy, factor in (("baseline", 1.0), ("retry", 0.7)):
                p95 = users * 0.01 * factor * slower * np.exp(rng.normal(0, spread))
                delay = None if strategy == "baseline" else 0.05
                rows.append((block, users, strategy, delay, p95, rng.uniform(1, 2)))
    return pd.DataFrame(rows, columns=["block", "users", "strategy", "delay", "p95", "failure_rate"])


def test_a_worked_example_of_the_rank_test_and_cliffs_delta() -> None:
    a, b = pd.DataFrame({"s": "x", "y": [1.0, 2, 3, 4]}), pd.DataFrame({"s": "x", "y": [3.0, 5, 6, 7]})
    found = compare_runs(a, b, How(by=("s",))).differences[0]
    # of 16 pairs B is above A in 14, below in 1, equal in 1: delta = 13 / 16
    assert found.delta == pytest.approx(13 / 16)
    assert found.size == "large"
    assert (found.means, found.difference, found.relative) == ((2.5, 5.25), 2.75, pytest.approx(110))


def test_few_rounds_give_welchs_interval_and_say_so() -> None:
    a, b = pd.DataFrame({"s": "x", "y": [1.0, 2, 3, 4]}), pd.DataFrame({"s": "x", "y": [3.0, 5, 6, 7]})
    comparison = compare_runs(a, b, How(by=("s",)))
    # Welch: error 1.07044, df 5.5848, t 2.4915
    assert comparison.differences[0].interval.method == "welch"
    assert comparison.differences[0].interval.low == pytest.approx(2.75 - 2.4915 * 1.07044, abs=1e-3)
    assert "few_rounds" in [note.kind for note in comparison.notes]


def test_a_slower_run_is_found_slower_everywhere() -> None:
    comparison = compare_runs(run(), run(slower=1.2, seed=2), How(responses=("p95",)))
    assert {d.verdict for d in comparison.differences} == {"higher"}
    assert len(comparison.differences) == 4
    assert all(d.relative == pytest.approx(20, abs=5) for d in comparison.differences)


def test_inside_a_run_each_scenario_meets_its_own_baseline() -> None:
    comparison = compare_with_baseline(run(), ["strategy=baseline"], How(responses=("p95",)))
    assert [d.levels["users"] for d in comparison.differences] == [10, 80]
    assert all(d.relative == pytest.approx(-30, abs=5) for d in comparison.differences)


def test_the_noise_floor_is_what_equal_configurations_differ_by() -> None:
    floor = compare_runs(run(rounds=40), run(seed=2, rounds=40), How(responses=("p95",))).noise_floor["p95"]
    # two means of 40 rounds with 5 % spread differ by 1.96 * 5 % * sqrt(2 / 40) = 2.2 % 95 times in 100
    assert floor == pytest.approx(2.2, abs=0.4)


def test_the_smallest_detectable_effect_is_the_textbooks() -> None:
    x = np.array([9.0, 11.0] * 5)
    # sd 1.0541, error 0.4714, df 18: (2.1009 + 0.8621) * 0.4714 / 10
    assert smallest_detectable(x, x, 0.95) == pytest.approx(13.97, abs=0.01)


def test_scenarios_and_columns_that_only_one_side_has_are_named() -> None:
    a, b = run(), run(seed=2).drop(columns="failure_rate")
    notes = [n.text for n in compare_runs(a, b[b["users"] == 10]).notes]
    assert any("Only A has response failure_rate" in text for text in notes)
    assert any("2 scenarios only in A, not compared: users=80, strategy=baseline and 1 more" in text for text in notes)


def test_runs_without_a_common_scenario_are_refused_with_an_example_of_each() -> None:
    b = run()
    b["users"] += 1
    with pytest.raises(DataError, match="no scenario in common"):
        compare_runs(run(), b)


def test_a_baseline_level_that_does_not_exist_lists_the_levels() -> None:
    with pytest.raises(DataError, match="strategy has no level basline"):
        compare_with_baseline(run(), ["strategy=basline"])


def test_a_table_in_which_nothing_tells_scenarios_apart_says_what_to_type() -> None:
    with pytest.raises(DataError, match="--by users,strategy"):
        compare_runs(pd.DataFrame({"p95": [1.0, 2.0]}), pd.DataFrame({"p95": [1.0, 2.0]}))


def test_rounds_that_never_vary_have_a_constant_interval() -> None:
    a, b = pd.DataFrame({"s": ["x"] * 3, "y": 2.0}), pd.DataFrame({"s": ["x"] * 3, "y": 3.0})
    found = compare_runs(a, b, How(by=("s",))).differences[0]
    assert (found.interval.low, found.interval.high, found.interval.method) == (1.0, 1.0, "constant")


def test_one_round_a_side_has_no_interval_and_no_verdict() -> None:
    a, b = pd.DataFrame({"s": ["x"], "y": 2.0}), pd.DataFrame({"s": ["x"], "y": 3.0})
    comparison = compare_runs(a, b, How(by=("s",)))
    assert comparison.differences[0].verdict == "undecided"
    assert "no_interval" in [note.kind for note in comparison.notes]


def test_a_response_missing_everywhere_on_one_side_is_said_not_computed() -> None:
    a, b = run(), run(seed=2)
    b["p95"] = np.nan
    found = compare_runs(a, b, How(responses=("p95",)))
    assert {d.verdict for d in found.differences} == {"undecided"}
    assert {d.interval.method for d in found.differences} == {"none"}


def test_p_values_are_corrected_for_how_many_were_looked_at() -> None:
    found = compare_runs(run(), run(seed=2)).differences
    assert all(d.p_adjusted >= d.p for d in found if d.p is not None and d.p_adjusted is not None)


def test_among_many_differences_of_few_rounds_large_ones_are_still_found() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (block, place, strategy, rng.lognormal(0, 0.02) * (5 if strategy == "retry" and place < 50 else 1))
        for block in range(10)
        for place in range(100)
        for strategy in ("baseline", "retry")
    ]
    table = pd.DataFrame(rows, columns=["block", "place", "strategy", "p95"])
    found = compare_with_baseline(table, ["strategy=baseline"], How(by=("place", "strategy"))).differences
    # the smallest p of ten signed ranks is 2 / 2^10; times 100 differences it would be 0.2
    assert all(d.p_adjusted is not None and d.p_adjusted < 0.01 for d in found[:50])
    assert sum(d.p_adjusted is not None and d.p_adjusted < 0.05 for d in found[50:]) <= 6


@pytest.mark.parametrize("intervals", [mean_intervals, paired_intervals])
def test_one_outlier_does_not_stretch_an_interval_a_thousandfold(intervals: Intervals) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.lognormal(0, 0.1, 10), rng.lognormal(0, 0.1, 10)
    y[0] = 20.0
    low, high = intervals(x, y, 0.95, rng)[1].low, intervals(x, y, 0.95, rng)[1].high
    assert low is not None
    assert high is not None
    assert -100 < low < 190 < high < 10_000


def test_scenarios_meet_whether_their_levels_are_whole_numbers_or_not() -> None:
    a, b = run(), run(seed=2)
    assert len(compare_runs(a, b.assign(users=b["users"].astype(float)), How(responses=("p95",))).differences) == 4


# --- the gate
# -------------------------------------------------------------------------------------------------------


def gate(slower: float, condition: str, rounds: int = 12, spread: float = 0.05) -> str:
    a, b = run(rounds=rounds, spread=spread), run(slower=slower, seed=2, rounds=rounds, spread=spread)
    strict = simultaneous_level(0.95, 4, 1)
    return judge(compare_runs(a, b, How(level=strict, responses=("p95",))), [parse_condition(condition)])[0].outcome


def test_the_gate_fails_when_the_whole_interval_lies_beyond() -> None:
    assert gate(1.3, "p95 > +10%") == "fail"


def test_the_gate_passes_when_every_interval_lies_short() -> None:
    assert gate(1.0, "p95 > +10%", spread=0.02) == "pass"


def test_the_gate_is_undecided_when_an_interval_straddles_the_limit() -> None:
    assert gate(1.1, "p95 > +10%") == "undecided"


def test_the_gate_takes_times_with_a_unit() -> None:
    assert parse_condition("p95 > +20ms").change == pytest.approx(0.02)
    assert gate(1.3, "p95 > +10ms") == "fail"


def test_more_rounds_are_estimated_from_the_width_of_the_interval() -> None:
    condition = parse_condition("p95 > +10%")
    comparison = compare_runs(run(), run(slower=1.08, seed=2), How(responses=("p95",)))
    straddling = [d for d in comparison.differences if d.relative_interval.high > 10]
    assert all((rounds_to_decide(d, condition) or 0) > 0 for d in straddling)


@pytest.mark.parametrize("text", ["p95 > 10%", "p95", "p95 >= +10%", "p95 > +10", "failure_rate > +10ms", "> +10%"])
def test_a_condition_that_could_be_misread_is_refused_with_what_to_type(text: str) -> None:
    with pytest.raises(DataError, match="--fail-if"):
        parse_condition(text)


def test_a_condition_on_a_response_that_was_not_compared_is_refused() -> None:
    comparison = compare_runs(run(), run(seed=2), How(responses=("p95",)))
    with pytest.raises(DataError, match="Did you mean p95"):
        judge(comparison, [parse_condition("p99 > +10%")])


# --- properties
# -----------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(1.5, 4))
def test_adding_noise_widens_the_interval_of_a_difference(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(100, 1, 10), rng.normal(105, 1, 10)
    narrow = mean_intervals(x, y, 0.95, np.random.default_rng(1))[0]
    wide = mean_intervals(100 + (x - 100) * factor, 105 + (y - 105) * factor, 0.95, np.random.default_rng(1))[0]
    assert wide.high - wide.low > narrow.high - narrow.low


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-3, 1e3))
def test_the_unit_does_not_change_a_relative_difference(scale: float) -> None:
    x, y = np.random.default_rng(1).normal(100, 5, (2, 10))
    a, b = (mean_intervals(x * s, y * s, 0.95, np.random.default_rng(1))[1] for s in (1.0, scale))
    assert (a.low, a.high) == pytest.approx((b.low, b.high))


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [6, 10, 20])
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_hold_the_true_difference_as_often_as_they_say(rounds: int, skewed: bool) -> None:
    covered = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        noise = rng.normal(0, 0.1, (2, rounds))
        x, y = (np.exp(noise) if skewed else 1 + noise) * np.array([[100.0], [120.0]])
        interval = mean_intervals(x, y, 0.95, rng)[1]
        covered += interval.low <= 20 <= interval.high
    assert 930 <= covered <= 970


def disturbed(rounds: int = 12, seed: int = 5) -> pd.DataFrame:
    """Blocks differ by a factor of up to 2; inside each, retrying takes 20 % off."""
    source = np.random.default_rng(seed)
    rows = []
    for block in range(rounds):
        machine = source.uniform(1, 2)
        for strategy, factor in (("baseline", 1.0), ("retry", 0.8)):
            rows.append((block, strategy, machine * factor * np.exp(source.normal(0, 0.02))))
    return pd.DataFrame(rows, columns=["block", "strategy", "p95"])


@pytest.mark.parametrize(("rounds", "method"), [(12, "paired bootstrap"), (4, "paired t")])
def test_inside_a_run_rounds_are_paired_by_block_so_that_what_a_block_did_to_both_cancels(
    rounds: int, method: str
) -> None:
    table, how = disturbed(rounds), How(by=("strategy",), responses=("p95",))
    (paired,) = compare_with_baseline(table, ["strategy=baseline"], how).differences
    (apart,) = compare_with_baseline(table.drop(columns="block"), ["strategy=baseline"], how).differences
    assert (paired.interval.method, paired.verdict) == (method, "lower")
    low, high = paired.relative_interval.low, paired.relative_interval.high
    assert low is not None
    assert high is not None
    assert low < -20 < high
    assert high - low < 10
    assert paired.detectable is not None
    assert apart.detectable is not None
    assert paired.detectable < apart.detectable / 2


def test_rounds_are_paired_by_their_block_and_not_by_their_place_in_the_table() -> None:
    table, how = disturbed(), How(by=("strategy",), responses=("p95",))
    shuffled = table.sample(frac=1, random_state=3)
    one, other = (compare_with_baseline(t, ["strategy=baseline"], how).differences[0] for t in (table, shuffled))
    assert one.interval == other.interval


def test_rounds_whose_block_lacks_a_partner_are_left_out_and_named() -> None:
    table, how = disturbed(), How(by=("strategy",), responses=("p95",))
    comparison = compare_with_baseline(table.drop(index=[0, 3]), ["strategy=baseline"], how)
    assert comparison.differences[0].rounds == (10, 10)
    note = next(note.text for note in comparison.notes if note.kind == "unpaired")
    assert note.startswith("2 values are left out")


def test_paired_intervals_cover_as_often_as_they_claim() -> None:
    source, covered = np.random.default_rng(11), 0
    for _ in range(1000):
        block = source.normal(0, 1, 10)
        x, y = 10 + block + source.normal(0, 0.3, 10), 10.5 + block + source.normal(0, 0.3, 10)
        interval, _ = paired_intervals(x, y, 0.95, source)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 0.5 <= interval.high
    assert 930 <= covered <= 970
