"""Rounds looked at other than as measured: typical ones, and at one speed of the machine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.support import noises

from patternbench.analyze.compare.comparison import Comparison, ComparisonOptions, compare_with_baseline
from patternbench.analyze.looks import Looks
from patternbench.analyze.neighbours import at_one_speed
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.analyze.statements.estimate import middle, typical_apart, typical_paired
from patternbench.terms.data_problems import DataError


def in_time(scenarios: int, blocks: int = 6, seed: int = 1) -> pd.DataFrame:
    """Equal scenarios on a machine whose speed wanders; ``started`` is their order, shuffled within blocks."""
    source = np.random.default_rng(seed)
    speed = np.cumsum(source.normal(0, 0.05, scenarios * blocks))
    cells = [(block, int(one)) for block in range(blocks) for one in source.permutation(scenarios)]
    table = pd.DataFrame(cells, columns=["block", "place"])
    noise = source.normal(0, 0.01, len(table))
    return table.assign(started=[f"2026-01-01T00:{i // 60:02}:{i % 60:02}" for i in range(len(table))]).assign(
        p95=np.exp(speed + noise), failure_rate=0.0
    )


def compared(table: pd.DataFrame, looks: Looks) -> Comparison:
    how = ComparisonOptions(by=("place",), responses=("p95",), looks=looks)
    return compare_with_baseline(table, ["place=0"], how)


def widths(found: Comparison) -> float:
    ends = [d.relative_interval for d in found.differences]
    return float(np.mean([one.high - one.low for one in ends if one.low is not None and one.high is not None]))


def test_neighbouring_rounds_take_out_the_speed_of_a_machine_that_wanders() -> None:
    table = in_time(24)
    measured, steadied = compared(table, Looks()), compared(table, Looks(neighbours=True))
    assert widths(steadied) < 0.6 * widths(measured)
    assert any("one speed of the machine" in note.text for note in steadied.notes)


def test_a_change_is_as_large_at_one_speed_as_it_was_measured() -> None:
    table = in_time(24)
    table.loc[table["place"] == 3, "p95"] *= 1.2
    found = {d.scenario: d for d in compared(table, Looks(neighbours=True)).differences}
    assert found["place=3"].relative == pytest.approx(20, abs=4)
    assert found["place=3"].verdict == "higher"


def test_fewer_than_twenty_scenarios_are_refused_with_what_to_do_instead() -> None:
    with pytest.raises(DataError, match="19 scenarios in a block are too few") as refused:
        compared(in_time(19), Looks(neighbours=True))
    assert "speed_probe" in str(refused.value)
    assert compared(in_time(20), Looks(neighbours=True)).differences


def test_few_scenarios_that_continue_alone_are_refused_though_the_first_blocks_had_many() -> None:
    table = in_time(20)
    with pytest.raises(DataError, match="2 scenarios in a block are too few"):
        compared(table[(table["block"] < 2) | (table["place"] < 2)], Looks(neighbours=True))


def test_shares_that_stay_as_they_are_are_said_to() -> None:
    _, (note,) = at_one_speed(in_time(20), ["failure_rate"], ["place"])
    assert "--neighbours changed nothing" in note.text


@pytest.mark.parametrize("column", ["block", "started"])
def test_rounds_without_order_or_blocks_are_refused(column: str) -> None:
    with pytest.raises(DataError, match=f"no column {column}"):
        at_one_speed(in_time(24).drop(columns=column), ["p95"], ["place"])


def test_rows_keep_their_order_and_shares_their_values_and_missing_rounds_stay_missing() -> None:
    table = in_time(24).sample(frac=1, random_state=3)
    table.iloc[5, table.columns.get_loc("p95")] = np.nan
    moved, notes = at_one_speed(table, ["p95", "failure_rate"], ["place"])
    assert moved.index.tolist() == table.index.tolist()
    assert moved["failure_rate"].equals(table["failure_rate"])
    assert moved["p95"].isna().tolist() == table["p95"].isna().tolist()
    assert "failure_rate" not in notes[0].text


def test_a_recommendation_at_one_speed_says_so() -> None:
    table = in_time(24)
    table.loc[table["place"] == 3, "p95"] *= 0.8
    criteria = Criteria(("minimise p95",), by=("place",), looks=Looks(neighbours=True))
    found = recommend(table, criteria)
    assert found.choices[0].verdict == "clear"
    assert [note.kind for note in found.notes].count("neighbours") == 1


# --- typical rounds


def test_typical_differences_are_yuens() -> None:
    source = np.random.default_rng(2)
    x, y = source.normal(0, 1, (2, 15))
    two = stats.ttest_ind(y, x, equal_var=False, trim=0.2)
    found = typical_apart(x, y)
    assert (found.in_errors, found.p) == pytest.approx((two.statistic, two.pvalue))
    gaps = np.sort(y - x)
    moved = stats.mstats.winsorize(gaps, (0.2, 0.2))
    error = np.sqrt(14 * moved.var(ddof=1) / (9 * 8))
    paired = typical_paired(x, y)
    assert (paired.value, paired.error, paired.df) == pytest.approx((stats.trim_mean(gaps, 0.2), error, 7.5))


def far_off(rounds: int = 30) -> pd.DataFrame:
    """Two of 30 rounds take ten times as long; B is 20 % slower than A."""
    source = np.random.default_rng(1)
    rows = [
        (block, name, slower * np.exp(source.normal(0, 0.03)) * (10 if block in far else 1))
        for name, slower, far in (("a", 1.0, (3,)), ("b", 1.2, (11,)))
        for block in range(rounds)
    ]
    return pd.DataFrame(rows, columns=["block", "place", "p95"])


@pytest.mark.parametrize(("typical", "verdict"), [(False, "inconclusive"), (True, "higher")])
def test_a_change_that_two_far_rounds_hide_is_shown_of_typical_rounds(typical: bool, verdict: str) -> None:
    how = ComparisonOptions(by=("place",), responses=("p95",), looks=Looks(typical=typical))
    found = compare_with_baseline(far_off(), ["place=a"], how)
    (d,) = found.differences
    assert d.verdict == verdict
    assert any(
        "--typical" in note.text if not typical else "Typical rounds are compared" in note.text for note in found.notes
    )
    if typical:
        assert d.centres[1] / d.centres[0] == pytest.approx(1.2, rel=0.03)


def test_the_best_of_typical_rounds_is_not_the_one_without_a_far_round() -> None:
    table = far_off()
    table = table[(table["place"] == "b") | True].assign(
        p95=np.where((table["place"] == "b") & (table["block"] == 11), 1.2, table["p95"])
    )
    table.loc[(table["place"] == "a") & (table["block"] < 3), "p95"] = 1000.0
    requested = Criteria(("minimise p95",), by=("place",))
    (measured,), (typical,) = (
        recommend(table, Criteria(**{**vars(requested), "looks": Looks(typical=on)})).choices for on in (False, True)
    )
    assert measured.chosen is not None
    assert typical.chosen is not None
    assert measured.chosen.scenario.levels == {"place": "b"}
    assert typical.chosen.scenario.levels == {"place": "a"}
    assert typical.verdict == "clear"


def test_fewer_than_eight_rounds_all_count() -> None:
    assert middle(np.array([1.0, 1.0, 1.0, 9.0]), in_percent=False, typical=True) == 3.0
    assert middle(np.array([1.0] * 9 + [90.0]), in_percent=False, typical=True) == 1.0
    found = compare_with_baseline(
        far_off(5), ["place=a"], ComparisonOptions(by=("place",), responses=("p95",), looks=Looks(typical=True))
    )
    assert any("All rounds count in 2 scenarios with fewer than 8 rounds." in note.text for note in found.notes)


def test_typical_rounds_that_a_coarse_clock_makes_alike_have_the_scatter_of_all() -> None:
    base = np.full(10, 10.0)
    gaps = np.array([-3.0, -2.0, *[1.0] * 6, 5.0, 6.0])
    found = typical_paired(base, base + gaps)
    assert found.error == pytest.approx(gaps.std(ddof=1) / np.sqrt(10))
    assert found.p > 0.1
    sides = typical_apart(base, base + gaps)
    assert sides.error == pytest.approx(gaps.std(ddof=1) / np.sqrt(10))


def failing(rounds: int = 30) -> pd.DataFrame:
    """A fast configuration that fails two of five calls in a sixth of its rounds, and a slow one that never fails."""
    source = np.random.default_rng(3)
    rows = [
        (block, name, took * np.exp(source.normal(0, 0.03)), 40.0 if name == "fast" and block % 6 == 0 else 0.0)
        for name, took in (("fast", 1.0), ("slow", 1.5))
        for block in range(rounds)
    ]
    return pd.DataFrame(rows, columns=["block", "place", "p95", "failure_rate"])


def test_a_limit_on_failures_counts_the_bad_rounds_that_typical_ones_leave_out() -> None:
    requested = Criteria(("minimise p95",), ("failure_rate <= 1%",), by=("place",), looks=Looks(typical=True))
    (choice,) = recommend(failing(), requested).choices
    fast = next(one for one in choice.candidates if one.scenario.levels["place"] == "fast")
    assert not fast.feasible
    assert fast.means["failure_rate"] == pytest.approx(40 / 6)


def test_a_clear_choice_of_typical_rounds_wins_their_resamples_too() -> None:
    table = far_off()
    table.loc[(table["place"] == "a") & (table["block"] < 3), "p95"] = 1000.0
    (choice,) = recommend(table, Criteria(("minimise p95",), by=("place",), looks=Looks(typical=True))).choices
    assert choice.chosen is not None
    assert choice.chosen.scenario.levels == {"place": "a"}
    assert choice.chosen.wins > 0.9


# --- how often they are wrong


def bound(runs: int) -> float:
    """The most that a simulated rate of 5 % may show: three standard errors above."""
    return float(0.05 + 3 * np.sqrt(0.0475 / runs))


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [8, 10, 30])
@pytest.mark.parametrize("noise", sorted({*noises.NOISES} - {"half of them skewed", "one of them stalls"}))
def test_typical_rounds_of_equal_configurations_differ_in_5_percent_at_most(noise: str, rounds: int) -> None:
    """Where only one of them is skewed or stalls, its typical round is another one, so that they aren't equal."""
    drawn = noises.NOISES[noise](np.random.default_rng(rounds), (4000, rounds, 2))
    assert np.mean(typical_paired(drawn[..., 0], drawn[..., 1]).p <= 0.05) <= bound(4000)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "rounds"), [("2 % tenfold", 30), ("5 % tenfold", 30), ("2 % tenfold", 10)])
def test_typical_rounds_show_a_gain_of_20_percent_next_to_tenfold_ones(share: str, rounds: int) -> None:
    drawn = noises.NOISES[share](np.random.default_rng(1), (2000, rounds, 2))
    assert np.mean(typical_paired(drawn[..., 0], drawn[..., 1] + 0.2).p <= 0.05) > 0.97


def frame(logs: np.ndarray, order: np.ndarray) -> pd.DataFrame:
    blocks, scenarios = logs.shape
    cells = pd.MultiIndex.from_product([range(blocks), range(scenarios)], names=["block", "place"]).to_frame(
        index=False
    )
    return cells.assign(started=(order + scenarios * np.arange(blocks)[:, None]).ravel(), p95=np.exp(logs).ravel())


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["log-normal", "drifting in time", "5 % tenfold", "two speeds, sticky"])
def test_at_one_speed_two_of_twenty_equal_scenarios_differ_in_5_percent_at_most_and_drift_costs_little(
    noise: str,
) -> None:
    rng, runs, stated, shown, as_measured = np.random.default_rng(3), 250, 0, 0, 0
    for _ in range(runs):
        series, order = noises.with_order(rng, noise, (1, 6, 20), spread=0.1 if noise == "drifting in time" else 0.05)
        logs = series[0]
        moved, _ = at_one_speed(frame(logs, order[0]), ["p95"], ["place"])
        steadied = np.log(moved["p95"].to_numpy()).reshape(logs.shape)
        stated += stats.ttest_rel(steadied[:, 0], steadied[:, 1]).pvalue <= 0.05
        shown += stats.ttest_rel(steadied[:, 2], steadied[:, 3] + 0.1).pvalue <= 0.05
        as_measured += stats.ttest_rel(logs[:, 2], logs[:, 3] + 0.1).pvalue <= 0.05
    assert stated / runs <= bound(runs)
    # Far rounds spoil the means that neighbours are held against: there it costs power, as the page says.
    assert shown / runs >= as_measured / runs - (0.15 if noise == "5 % tenfold" else 0.05)
    if noise == "drifting in time":
        assert shown / runs > as_measured / runs + 0.2
