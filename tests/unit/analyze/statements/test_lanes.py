"""Whether a change is the same on every lane: by hand, by statsmodels' and scipy's tests, and in degenerate cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.oneway import anova_oneway

from patternbench.analyze.statements.lanes import Sameness, compared_between_lanes, heterogeneity, shown
from patternbench.analyze.statements.lines import Pair
from patternbench.analyze.statements.shown import Shown

RNG = np.random.default_rng(5)
LANES = {"a": RNG.normal(0.0, 1, 4), "b": RNG.normal(0.3, 1, 6), "c": RNG.normal(2.0, 2, 5)}


def run(on: dict[str, float], blocks: int, spread: float, seed: int = 1, lanes_wide: float = 3.0) -> pd.DataFrame:
    """Rounds of a baseline and a retry, whose p95 is higher by these ratios on each lane, in ``blocks`` a lane."""
    rng, rows = np.random.default_rng(seed), []
    for number, (lane, ratio) in enumerate((lane, ratio) for _ in range(blocks) for lane, ratio in on.items()):
        speed = lanes_wide if lane == "a" else 1.0
        for scenario, factor in (("base", 1.0), ("retry", ratio)):
            value = speed * factor * float(np.exp(spread * rng.standard_normal()))
            rows.append({"scenario": scenario, "block": number, "status": "done", "call_success_p95": value})
    return pd.DataFrame(rows)


def lane_of(on: dict[str, float], blocks: int) -> dict[int, str]:
    return dict(enumerate([*on] * blocks))


def compared(on: dict[str, float], blocks: int = 6, spread: float = 0.02, **more: float) -> tuple[Sameness, str]:
    pairs = [Pair("retry", "base", "retry", "retry")]
    rounds = run(on, blocks, spread, lanes_wide=more.get("lanes_wide", 3.0))
    (found,) = compared_between_lanes(rounds, pairs, ["call_success_p95"], lane_of(on, blocks))
    return found.verdict, found.condition


def test_the_test_is_the_larger_of_fishers_and_welchs_analysis_of_variance() -> None:
    found = heterogeneity(LANES)
    groups = list(LANES.values())
    fisher = anova_oneway(groups, use_var="equal").pvalue
    welch = anova_oneway(groups, use_var="unequal", welch_correction=True).pvalue
    assert found.p.even == pytest.approx(max(fisher, welch))
    assert found.p.firm >= found.p.even


def test_i2_is_what_of_the_scatter_is_more_than_chance_and_its_interval_is_that_of_f() -> None:
    found = heterogeneity(LANES)
    f = stats.f_oneway(*LANES.values()).statistic
    assert found.i2 == pytest.approx(1 - 1 / f)
    low, high = (1 - stats.f.ppf(q, 2, 12) / f for q in (0.975, 0.025))
    assert found.i2_ends == pytest.approx((max(0, low), high))


def test_each_lane_has_its_own_mean_change_with_its_own_error() -> None:
    for lane, values in LANES.items():
        estimate = heterogeneity(LANES).on[lane]
        assert estimate.value == pytest.approx(values.mean())
        assert estimate.error == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)))


def test_a_lane_with_one_block_is_shown_and_decides_nothing() -> None:
    found = heterogeneity({"a": np.array([1.0]), "b": np.array([5.0])})
    assert set(found.on) == {"a", "b"}
    assert np.isnan(found.i2)
    assert not found.is_same(100.0)
    assert shown([found], 0.05) == [Shown.NOT]


def test_changes_that_never_scatter_are_no_surer_than_the_ways_in_which_blocks_fall_to_lanes() -> None:
    unlike = heterogeneity({"a": np.zeros(3), "b": np.ones(3)})
    assert unlike.p.even == pytest.approx(1 / 20)
    assert heterogeneity({"a": np.ones(3), "b": np.ones(3)}).p.even == 1.0
    assert heterogeneity({"a": np.ones(3), "b": np.ones(3)}).is_same(0.01)


def test_the_same_change_on_machines_of_other_speeds_is_the_same_on_all_lanes() -> None:
    assert compared({"a": 1.4, "b": 1.4, "c": 1.4}, spread=0.01) == (Sameness.SAME, "")


def test_a_change_that_is_another_on_one_lane_differs() -> None:
    assert compared({"a": 1.4, "b": 1.4, "c": 2.0})[0] is Sameness.DIFFERS


def test_scatter_or_too_few_blocks_leave_it_open() -> None:
    assert compared({"a": 1.4, "b": 1.4, "c": 1.4}, spread=0.5)[0] is Sameness.INCONCLUSIVE
    assert compared({"a": 1.4, "b": 2.0}, blocks=1)[0] is Sameness.INCONCLUSIVE


def test_a_share_is_compared_in_points() -> None:
    rounds = run({"a": 1.0, "b": 1.0}, 6, 0.0).rename(columns={"call_success_p95": "success_rate"})
    rounds["success_rate"] = [
        90.0 + 2 * (s == "retry") + 0.1 * (b % 4) for s, b in rounds[["scenario", "block"]].values
    ]
    pairs = [Pair("retry", "base", "retry", "retry")]
    (found,) = compared_between_lanes(rounds, pairs, ["success_rate"], lane_of({"a": 1, "b": 1}, 6))
    assert found.verdict is Sameness.SAME
    assert str(found.text_on("a")).startswith("+2 points")


def test_nothing_is_the_same_on_all_lanes_where_one_of_them_shows_too_little() -> None:
    alike = {lane: np.log(1.1) + 0.001 * np.arange(6) for lane in "ab"}
    assert heterogeneity(alike).is_same(0.1)
    assert not heterogeneity({**alike, "c": np.array([1.0])}).is_same(0.1)
    assert not heterogeneity({**alike, "c": np.empty(0)}).is_same(0.1)


def test_a_lane_without_a_valid_round_is_one_of_all_lanes() -> None:
    rounds = run({"a": 1.4, "b": 1.4}, 6, 0.01)
    lanes = {**lane_of({"a": 1.4, "b": 1.4}, 6), 99: "c"}
    (found,) = compared_between_lanes(rounds, [Pair("retry", "base", "retry", "retry")], ["call_success_p95"], lanes)
    assert found.verdict is Sameness.INCONCLUSIVE
