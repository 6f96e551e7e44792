"""Differences between scenarios, their intervals, and the release gate."""

import math

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_runs, compare_with_baseline
from patternbench.analyze.compare.gate import if_even, judge, parse_condition, rounds_to_decide
from patternbench.analyze.compare.words import by_chance, change, detectable, interval, sentences
from patternbench.analyze.statements.family import together
from patternbench.terms.data_problems import DataError


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


def test_a_worked_example_of_cliffs_delta_and_of_the_ratio_of_geometric_means() -> None:
    a, b = pd.DataFrame({"s": "x", "y": [1.0, 2, 3, 4]}), pd.DataFrame({"s": "x", "y": [3.0, 5, 6, 7]})
    found = compare_runs(a, b, ComparisonOptions(by=("s",))).differences[0]
    # of 16 pairs B is above A in 14, below in 1, equal in 1: delta = 13 / 16
    assert found.delta == pytest.approx(13 / 16)
    assert found.size == "large"
    assert (found.means, found.difference) == ((2.5, 5.25), 2.75)
    # geometric means 24^(1/4) and 630^(1/4)
    assert found.centres == (pytest.approx(2.2134, abs=1e-4), pytest.approx(5.0100, abs=1e-4))
    assert found.relative == pytest.approx(100 * ((630 / 24) ** 0.25 - 1))


def test_two_runs_get_welchs_interval() -> None:
    a, b = pd.DataFrame({"s": "x", "y": [1.0, 2, 3, 4]}), pd.DataFrame({"s": "x", "y": [3.0, 5, 6, 7]})
    comparison = compare_runs(a, b, ComparisonOptions(by=("s",)))
    # Welch: error 1.07044, df 5.5848, t 2.4915
    assert comparison.differences[0].interval.method == "welch"
    assert comparison.differences[0].interval.low == pytest.approx(2.75 - 2.4915 * 1.07044, abs=1e-3)


def test_a_slower_run_is_found_slower_everywhere() -> None:
    comparison = compare_runs(run(), run(slower=1.2, seed=2), ComparisonOptions(responses=("p95",)))
    assert {d.verdict for d in comparison.differences} == {"higher"}
    assert len(comparison.differences) == 4
    assert all(d.relative == pytest.approx(20, abs=5) for d in comparison.differences)


def test_inside_a_run_each_scenario_meets_its_own_baseline() -> None:
    comparison = compare_with_baseline(run(), ["strategy=baseline"], ComparisonOptions(responses=("p95",)))
    assert [d.levels["users"] for d in comparison.differences] == [10, 80]
    assert all(d.relative == pytest.approx(-30, abs=5) for d in comparison.differences)


def test_the_noise_floor_is_what_equal_configurations_differ_by() -> None:
    floor = compare_runs(run(rounds=40), run(seed=2, rounds=40), ComparisonOptions(responses=("p95",))).noise_floor[
        "p95"
    ]
    # two means of 40 rounds with 5 % spread differ by 2.02 * 5 % * sqrt(2 / 40) = 2.3 % 95 times in 100
    assert floor == pytest.approx(2.2, abs=0.4)


def test_floors_and_effects_of_two_rounds_that_differ_a_lot_are_not_written_out() -> None:
    rounds = pd.DataFrame({"users": [1, 1, 2, 2], "block": [0, 1, 0, 1], "p95": [0.001, 90.0, 0.5, 40.0]})
    reported = " ".join(sentences(compare_runs(rounds, rounds, ComparisonOptions(responses=("p95",))), "p95"))
    assert (
        "noise floor is more than 1,000\u00a0%" in reported and "a change of more than 1,000\u00a0% would" in reported
    )


def test_the_smallest_detectable_effect_is_the_textbooks() -> None:
    a, b = (pd.DataFrame({"s": "x", "y": [-9.0, 11.0] * 5}) for _ in range(2))
    # sd 10.541, error 4.714, df 18: (2.1009 + 0.8621) * 4.714
    assert compare_runs(a, b, ComparisonOptions(by=("s",))).differences[0].detectable == pytest.approx(13.97, abs=0.01)


def test_scenarios_and_columns_that_only_one_side_has_are_named() -> None:
    a, b = run(), run(seed=2).drop(columns="failure_rate")
    notes = [n.text for n in compare_runs(a, b[b["users"] == 10]).notes]
    assert any("Only A has response failure_rate" in text for text in notes)
    assert any("2 scenarios only in A, not compared: users=80, strategy=baseline and 1 more" in text for text in notes)


def test_runs_without_a_common_scenario_are_refused_with_an_example_of_each() -> None:
    b = run()
    b["users"] += 1
    with pytest.raises(DataError) as raised:
        compare_runs(run(), b)
    assert str(raised.value).startswith("the two runs have no scenario in common.")
    assert "A has users=10, strategy=baseline; B has users=11, strategy=baseline." in str(raised.value)


def test_a_baseline_level_that_does_not_exist_lists_the_levels() -> None:
    with pytest.raises(DataError, match="strategy has no level basline"):
        compare_with_baseline(run(), ["strategy=basline"])


def test_a_table_in_which_nothing_tells_scenarios_apart_says_what_to_type() -> None:
    with pytest.raises(DataError, match="--by users,strategy"):
        compare_runs(pd.DataFrame({"p95": [1.0, 2.0]}), pd.DataFrame({"p95": [1.0, 2.0]}))


def test_a_constant_gap_of_few_rounds_has_no_interval_of_width_zero() -> None:
    def ends(rounds: int) -> tuple[float | None, float | None, str, str]:
        rows = [(block, s, y) for block in range(rounds) for s, y in (("a", 2.0), ("b", 3.0))]
        table = pd.DataFrame(rows, columns=["block", "s", "y"])
        (found,) = compare_with_baseline(table, ["s=a"], ComparisonOptions(by=("s",), responses=("y",))).differences
        return found.interval.low, found.interval.high, found.interval.method, found.verdict

    assert ends(3) == (None, None, "constant", "inconclusive")
    assert ends(6) == (1.0, 1.0, "constant", "higher"), "2^-5 is below 5 %"


def test_one_round_a_side_has_no_interval_and_no_verdict() -> None:
    a, b = pd.DataFrame({"s": ["x"], "y": 2.0}), pd.DataFrame({"s": ["x"], "y": 3.0})
    comparison = compare_runs(a, b, ComparisonOptions(by=("s",)))
    assert comparison.differences[0].verdict == "inconclusive"
    assert "no_interval" in [note.kind for note in comparison.notes]


def test_a_response_missing_everywhere_on_one_side_is_said_not_computed() -> None:
    a, b = run(), run(seed=2)
    b["p95"] = np.nan
    found = compare_runs(a, b, ComparisonOptions(responses=("p95",)))
    assert {d.verdict for d in found.differences} == {"inconclusive"}
    assert {d.interval.method for d in found.differences} == {"none"}


def test_p_values_are_corrected_for_how_many_were_looked_at_by_benjamini_and_hochberg() -> None:
    found = compare_runs(run(), run(seed=2, slower=1.01)).differences
    tested = sorted((d.p, d.p_adjusted) for d in found if d.p is not None and d.p_adjusted is not None)
    scaled = [p * len(tested) / rank for rank, (p, _) in enumerate(tested, 1)]
    assert [adjusted for _, adjusted in tested] == pytest.approx([min(scaled[i:]) for i in range(len(tested))])
    bonferroni = [min(1, len(tested) * p) for p, _ in tested]
    assert sum(adjusted < more for (_, adjusted), more in zip(tested, bonferroni, strict=True)) > len(tested) / 2


def test_among_many_differences_of_few_rounds_large_ones_are_still_found() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (block, place, strategy, rng.lognormal(0, 0.02) * (5 if strategy == "retry" and place < 50 else 1))
        for block in range(10)
        for place in range(100)
        for strategy in ("baseline", "retry")
    ]
    table = pd.DataFrame(rows, columns=["block", "place", "strategy", "p95"])
    found = compare_with_baseline(table, ["strategy=baseline"], ComparisonOptions(by=("place", "strategy"))).differences
    # the smallest p of ten signed ranks is 2 / 2^10; times 100 differences it would be 0.2
    assert all(d.p_adjusted is not None and d.p_adjusted < 0.01 for d in found[:50])
    assert sum(d.p_adjusted is not None and d.p_adjusted < 0.05 for d in found[50:]) <= 6


def test_the_p_of_three_rounds_can_be_small_and_matches_the_interval() -> None:
    table = pd.concat([disturbed(3, seed).assign(place=seed) for seed in range(30)])
    found = compare_with_baseline(table, ["strategy=baseline"], ComparisonOptions(by=("place", "strategy"))).differences
    assert len(found) == 30
    for d in found:
        assert (d.p <= 0.05) == (not d.relative_interval.low <= 0 <= d.relative_interval.high)
    assert any(d.p_adjusted < 0.05 for d in found)


def test_a_verdict_needs_the_corrected_p_and_not_only_an_interval_without_zero() -> None:
    source = np.random.default_rng(2)
    rows = [(b, p, s, source.lognormal(0, 0.1)) for b in range(6) for p in range(60) for s in ("baseline", "retry")]
    table = pd.DataFrame(rows, columns=["block", "place", "strategy", "p95"])
    comparison = compare_with_baseline(table, ["strategy=baseline"], ComparisonOptions(by=("place", "strategy")))
    alone = [d for d in comparison.differences if d.p <= 0.05]
    assert len(alone) > 0
    assert {d.verdict for d in comparison.differences} == {"inconclusive"}
    assert by_chance(comparison)[0].startswith(f"{len(alone)} of 60 differences are inconclusive although")


def test_shares_near_zero_are_reported_in_points_and_never_in_percent_of_themselves() -> None:
    a = pd.DataFrame({"s": "x", "failure_rate": [0.1, 0.3, 0.2, 0.2]})
    b = pd.DataFrame({"s": "x", "failure_rate": [20.0, 22.0, 21.0, 21.0]})
    comparison = compare_runs(a, b, ComparisonOptions(by=("s",)))
    (d,) = comparison.differences
    assert (change(d), d.in_percent) == ("+20.8 points", False)
    reported = " ".join([*sentences(comparison, "failure_rate"), interval(d), detectable(d)])
    assert "points" in reported
    assert "%" not in reported.replace("in 95 % of cases", "")


def test_scenarios_meet_whether_their_levels_are_whole_numbers_or_not() -> None:
    a, b = run(), run(seed=2)
    assert (
        len(
            compare_runs(a, b.assign(users=b["users"].astype(float)), ComparisonOptions(responses=("p95",))).differences
        )
        == 4
    )


# --- the gate
# -------------------------------------------------------------------------------------------------------


def gate(slower: float, condition: str, rounds: int = 12, spread: float = 0.05) -> str:
    a, b = run(rounds=rounds, spread=spread), run(slower=slower, seed=2, rounds=rounds, spread=spread)
    how = ComparisonOptions(level=together(0.95, 4), responses=("p95",), run_spread=0.0)
    return judge(compare_runs(a, b, how), [parse_condition(condition)])[0].outcome


def test_the_gate_fails_when_the_whole_interval_lies_beyond() -> None:
    assert gate(1.3, "p95 > +10%") == "fail"


def test_the_gate_passes_when_every_interval_lies_short() -> None:
    assert gate(1.0, "p95 > +10%", spread=0.02) == "pass"


def test_the_gate_is_undecided_when_an_interval_straddles_the_limit() -> None:
    assert gate(1.1, "p95 > +10%") == "inconclusive"


def test_the_gate_takes_times_with_a_unit() -> None:
    assert parse_condition("p95 > +20ms").change == pytest.approx(0.02)
    assert gate(1.3, "p95 > +10ms") == "fail"


def test_more_rounds_are_estimated_from_the_width_of_the_interval() -> None:
    condition = parse_condition("p95 > +10%")
    comparison = compare_runs(run(), run(slower=1.08, seed=2), ComparisonOptions(responses=("p95",)))
    straddling = [d for d in comparison.differences if d.firm_relative_interval.high > 10 > d.relative]
    assert straddling
    for d in straddling:
        half = d.firm_relative_interval.high - d.relative
        # the half width falls with the root of the rounds: it reaches the distance to the limit after so many
        assert rounds_to_decide(d, condition) == math.ceil(12 * (half / abs(d.relative - 10)) ** 2)


def test_a_side_that_lost_a_third_of_its_rounds_is_named_and_one_that_lost_a_tenth_is_not() -> None:
    def kinds(lost: int) -> list[str]:
        table = disturbed(rounds=30)
        kept = table[(table["strategy"] == "baseline") | (table["block"] >= lost)]
        how = ComparisonOptions(by=("strategy",), responses=("p95",))
        return [note.kind for note in compare_with_baseline(kept, ["strategy=baseline"], how).notes]

    assert "unequal_loss" in kinds(10)
    assert "unequal_loss" not in kinds(3)


def test_a_side_whose_rounds_stopped_by_themselves_has_lost_none() -> None:
    table = disturbed(rounds=30)
    kept = table[(table["strategy"] == "baseline") | (table["block"] < 10)]
    how = ComparisonOptions(by=("strategy",), responses=("p95",))
    assert "unequal_loss" not in {note.kind for note in compare_with_baseline(kept, ["strategy=baseline"], how).notes}


def test_a_response_that_one_side_never_has_hides_no_loss_in_another() -> None:
    table = disturbed(rounds=30)
    table["wait"] = np.where(table["strategy"] == "baseline", np.nan, 1.0)
    kept = table[(table["strategy"] == "baseline") | (table["block"] >= 10)]
    how = ComparisonOptions(by=("strategy",), responses=("wait", "p95"))
    (note,) = [n for n in compare_with_baseline(kept, ["strategy=baseline"], how).notes if n.kind == "unequal_loss"]
    assert "with a value of p95" in note.text


def test_the_gate_is_undecided_where_only_rounds_that_scatter_evenly_would_let_it_fail() -> None:
    """A bad round of one side far off makes t sure and leaves the test for uneven scatter undecided."""
    sides = {"a": [1.0, 1.01, 0.99, 1.0, 1.01, 0.99], "b": [1.2, 1.6, 1.55, 1.56, 1.57, 1.58]}
    rows = [(block, name, value) for name, values in sides.items() for block, value in enumerate(values)]
    table = pd.DataFrame(rows, columns=["block", "strategy", "p95"])
    comparison = compare_with_baseline(table, ["strategy=a"], ComparisonOptions(by=("strategy",), responses=("p95",)))
    (d,), condition = comparison.differences, parse_condition("p95 > +20%")
    assert judge(comparison, [condition])[0].outcome == "inconclusive"
    assert if_even(d, condition) == "fail"


@pytest.mark.parametrize("text", ["p95 > 10%", "p95", "p95 >= +10%", "p95 > +10", "failure_rate > +10ms", "> +10%"])
def test_a_condition_that_could_be_misread_is_refused_with_what_to_type(text: str) -> None:
    with pytest.raises(DataError, match="--fail-if"):
        parse_condition(text)


def test_a_condition_on_a_response_that_was_not_compared_is_refused() -> None:
    comparison = compare_runs(run(), run(seed=2), ComparisonOptions(responses=("p95",)))
    with pytest.raises(DataError, match="Did you mean p95"):
        judge(comparison, [parse_condition("p99 > +10%")])


def disturbed(rounds: int = 12, seed: int = 5) -> pd.DataFrame:
    """Blocks differ by a factor of up to 2; inside each, retrying takes 20 % off."""
    source = np.random.default_rng(seed)
    rows = []
    for block in range(rounds):
        machine = source.uniform(1, 2)
        for strategy, factor in (("baseline", 1.0), ("retry", 0.8)):
            rows.append((block, strategy, machine * factor * np.exp(source.normal(0, 0.02))))
    return pd.DataFrame(rows, columns=["block", "strategy", "p95"])


@pytest.mark.parametrize("rounds", [12, 4])
def test_inside_a_run_rounds_are_paired_by_block_so_that_what_a_block_did_to_both_cancels(rounds: int) -> None:
    table, how = disturbed(rounds), ComparisonOptions(by=("strategy",), responses=("p95",))
    (paired,) = compare_with_baseline(table, ["strategy=baseline"], how).differences
    (apart,) = compare_with_baseline(table.drop(columns="block"), ["strategy=baseline"], how).differences
    assert (paired.interval.method, paired.verdict) == ("paired t", "lower")
    low, high = paired.relative_interval.low, paired.relative_interval.high
    assert low is not None
    assert high is not None
    assert low < -20 < high
    assert high - low < 10
    assert paired.detectable is not None
    assert apart.detectable is not None
    assert paired.detectable < apart.detectable / 2


def test_rounds_are_paired_by_their_block_and_not_by_their_place_in_the_table() -> None:
    table, how = disturbed(), ComparisonOptions(by=("strategy",), responses=("p95",))
    shuffled = table.sample(frac=1, random_state=3)
    one, other = (compare_with_baseline(t, ["strategy=baseline"], how).differences[0] for t in (table, shuffled))
    assert one.interval == other.interval


def test_rounds_whose_block_lacks_a_partner_are_left_out_and_named() -> None:
    table, how = disturbed(), ComparisonOptions(by=("strategy",), responses=("p95",))
    comparison = compare_with_baseline(table.drop(index=[0, 3]), ["strategy=baseline"], how)
    assert comparison.differences[0].rounds == (10, 10)
    note = next(note.text for note in comparison.notes if note.kind == "unpaired")
    assert note.startswith("2 values are left out")


def test_rounds_without_a_common_block_have_no_difference() -> None:
    table, how = disturbed(), ComparisonOptions(by=("strategy",), responses=("p95",))
    early, first = table["block"] < table["block"].median(), table["strategy"] == "baseline"
    comparison = compare_with_baseline(table[early == first], ["strategy=baseline"], how)
    (difference,) = comparison.differences
    assert np.isnan(difference.difference)
    assert (difference.rounds, difference.verdict) == ((0, 0), "inconclusive")
