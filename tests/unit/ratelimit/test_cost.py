"""What a limiter cost and how exact it was, on tables small enough to judge by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from patternbench.ratelimit.analyze import cost
from patternbench.ratelimit.analyze.cost import Noise
from patternbench.ratelimit.analyze.throttling import LimitRule

RULE = LimitRule(window_us=1_000_000, limit=2, tolerance_us=20_000)


def test_an_answer_of_429_was_rejected_and_every_other_was_let_through() -> None:
    attempts = pd.DataFrame(
        {
            "group": ["high", "high", "low", "low"],
            "user": [0, 0, 0, 1],
            "start_us": [1, 2, 3, 4],
            "status": pd.array([200, 429, 500, None], dtype="UInt16"),
        }
    )
    found = cost.of_attempts(attempts)
    assert found["client"].tolist() == ["high 0", "high 0", "low 0"]
    assert found["allowed"].tolist() == [True, False, True]


def test_the_ends_of_the_scale_are_judged_on_the_same_arrivals() -> None:
    # Four requests at once on a limit of two: the third was wrongly let through, the fourth rightly rejected.
    table = pd.DataFrame({"client": ["a"] * 4, "time_us": [0, 1, 2, 3], "allowed": [True, True, True, False]})
    found = cost.judged(table, RULE)
    assert found["measured"]["deviation"] == 25
    assert found["measured"]["peak"] == 1.5
    assert found["no limiter"]["deviation"] == 50
    assert found["exact log"]["deviation"] == 0


def test_each_group_is_judged_by_its_own_requests() -> None:
    # Three requests of one user at once on a limit of two, all let through; another group stays below the limit.
    clients = ["far off 0", "far off 0", "far off 0", "low 0", "low 1"]
    table = pd.DataFrame({"client": clients, "time_us": [0, 1, 2, 3, 4], "allowed": [True] * 5})
    assert cost.by_group(table, RULE) == {"far off": pytest.approx(100 / 3), "low": 0}


def rounds(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_the_overhead_is_the_mean_difference_to_the_round_without_a_limiter_of_the_same_block() -> None:
    rows = rounds(algorithm=["none", "none", "gcra", "gcra"], block=[0, 1, 0, 1], ms=[10.0, 20.0, 13.0, 25.0])
    found = cost.overheads(rows, ["algorithm"], rows["algorithm"] == "none", "ms").set_index("algorithm")
    assert found.loc["none", "overhead"] == 0
    assert found.loc["gcra", "overhead"] == pytest.approx(4)
    assert found.loc["gcra", "percent"] == pytest.approx(400 / 15)
    # Differences 3 and 5: the mean 4, give or take t(0.975, 1) = 12.706 standard errors of 1.
    assert found.loc["gcra", "low"] == pytest.approx(4 - 12.706, abs=1e-3)
    assert found.loc["gcra", "high"] == pytest.approx(4 + 12.706, abs=1e-3)


def test_a_drift_that_meets_a_whole_block_is_no_part_of_the_overhead() -> None:
    rows = rounds(algorithm=["none", "none", "gcra", "gcra"], block=[0, 1, 0, 1], ms=[10.0, 90.0, 13.0, 93.0])
    found = cost.overheads(rows, ["algorithm"], rows["algorithm"] == "none", "ms").set_index("algorithm")
    assert found.loc["gcra", ["low", "overhead", "high"]].tolist() == pytest.approx([3, 3, 3])


@pytest.mark.slow
def test_the_interval_of_an_overhead_has_the_scatter_of_all_configurations_that_are_alike() -> None:
    """Two rounds of each give 12.7 standard errors alone; sixteen configurations together give 2.1, and are right."""
    rng = np.random.default_rng(5)
    names = [str(number) for number in range(16)]
    rows = rounds(algorithm=names * 2, block=[0] * 16 + [1] * 16, way=["a"] * 32, ms=[0.0] * 32)
    right = 0
    for _ in range(200):
        rows["ms"] = rng.normal(10, 1, 32) + 5 * rows["block"]
        found = cost.overheads(rows, ["algorithm", "way"], rows["algorithm"] == "0", "ms", ["way"])
        others = found[found["algorithm"] != "0"]
        right += int(((others["low"] < 0) & (others["high"] > 0)).sum())
        assert (others["high"] - others["low"]).max() < 12
    assert right / (200 * 15) == pytest.approx(0.95, abs=0.02)


def test_configurations_that_are_not_alike_keep_their_own_scatter() -> None:
    rows = rounds(
        algorithm=["none", "none", "near", "near", "far", "far"],
        distance=["0", "0", "0", "0", "25", "25"],
        block=[0, 1] * 3,
        ms=[10.0, 10.0, 11.0, 11.1, 60.0, 90.0],
    )
    by = ["algorithm", "distance"]
    found = cost.overheads(rows, by, rows["algorithm"] == "none", "ms", ["distance"]).set_index("algorithm")
    assert found.loc["near", "high"] - found.loc["near", "low"] == pytest.approx(2 * 12.706 * 0.05, abs=1e-3)
    assert found.loc["far", "high"] - found.loc["far", "low"] == pytest.approx(2 * 12.706 * 15, abs=0.1)
    assert found.loc["none", ["low", "overhead", "high"]].tolist() == [0, 0, 0]


def test_one_block_gives_an_overhead_without_an_interval() -> None:
    rows = rounds(algorithm=["none", "gcra"], block=[0, 0], ms=[10.0, 13.0])
    found = cost.overheads(rows, ["algorithm"], rows["algorithm"] == "none", "ms").set_index("algorithm")
    assert found.loc["gcra", "overhead"] == 3
    assert np.isnan(found.loc["gcra", "low"])


def test_without_rounds_without_a_limiter_the_overhead_is_unknown_and_not_zero() -> None:
    rows = rounds(algorithm=["gcra", "gcra"], block=[0, 1], ms=[13.0, 14.0])
    found = cost.overheads(rows, ["algorithm"], pd.Series(False, rows.index), "ms")
    assert found["overhead"].isna().all()
    assert found["mean"].tolist() == [13.5]


def test_a_few_differences_that_never_vary_are_not_clear() -> None:
    always = cost.mean_interval(np.array([0.5, 0.5, 0.5]))
    assert (always.p, always.has_interval) == (0.25, False)
    assert not any(cost.clear([always]))


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_the_interval_of_a_mean_is_students(values: list[float]) -> None:
    found = cost.mean_interval(np.array(values))
    assert found.low <= found.mean <= found.high or not found.has_interval
    if np.std(values) > 1e-6:
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (found.low, found.high) == pytest.approx((low, high))


def test_only_rounds_that_have_a_match_are_compared() -> None:
    redis = rounds(algorithm=["a", "b", "c"], block=[0, 0, 0], ms=[1.0, 2.0, 50.0])
    mariadb = rounds(algorithm=["a", "b"], block=[0, 0], ms=[4.0, 6.0])
    apart, pairs = cost.matched(mariadb, redis, ["algorithm"], "ms")
    assert len(pairs) == 2
    assert apart.mean == pytest.approx(3.5)


def test_what_a_block_does_to_all_algorithms_of_a_store_alike_counts_once_and_not_for_each() -> None:
    """Six algorithms move together with each block: as sure as three blocks, not as eighteen pairs."""
    shifts = {0: 1.0, 1: -0.4, 2: 0.2}
    one = rounds(algorithm=list("abcdef") * 3, block=sorted([0, 1, 2] * 6), ms=[10.0] * 18)
    other = one.assign(ms=one["ms"] + one["block"].map(shifts))
    apart, pairs = cost.matched(other, one, ["algorithm"], "ms")
    assert (len(pairs), apart.blocks) == (18, 3)
    assert apart.p == pytest.approx(stats.ttest_1samp(list(shifts.values()), 0).pvalue)


def test_a_contrast_that_one_far_round_bears_is_clear_only_if_rounds_scatter_evenly() -> None:
    uneven = cost.mean_interval(np.array([1.0, 1.1, 1.05, 1.02, 1.07, 0.2]))
    even = cost.mean_interval(np.array([1.0, 1.1, 1.05, 1.02, 1.07, 1.04]))
    assert uneven.p <= 0.05 < uneven.estimate.firm_p
    assert [one.condition for one in cost.clear([even])] == [""]
    assert cost.clear([uneven])[0].condition == ", if rounds scatter evenly to both sides"


def test_a_difference_of_two_means_reaches_as_far_as_students_interval() -> None:
    # t(0.975, 2) = 4.303; a difference of two single rounds scatters by sqrt(2) as much as one.
    noise = Noise(3.0, 2)
    assert noise.reach(1) == pytest.approx(4.303 * 3.0 * np.sqrt(2), abs=1e-2)
    assert noise.reach(4) == pytest.approx(noise.reach(1) / 2)
    assert Noise(np.nan, 0).reach(1) == np.inf


def test_contrasts_are_clear_after_a_correction_for_how_many_there_are() -> None:
    one = cost.mean_interval(np.array([1.0, 1.2, 1.9, 0.9]))
    none = cost.mean_interval(np.array([-1.0, 1.1, 0.4, -0.6]))
    single = cost.mean_interval(np.array([3.0]))
    assert one.p == pytest.approx(stats.ttest_1samp([1.0, 1.2, 1.9, 0.9], 0).pvalue)
    assert [bool(reported) for reported in cost.clear([one, none, single])] == [True, False, False]
    assert not any(cost.clear([one, *[none] * 9]))
    assert not any(cost.clear([single]))
