"""What a limiter cost and how exact it was, on tables small enough to judge by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from patternbench.ratelimit.analyze import cost
from patternbench.ratelimit.analyze.cost import Noise, Wanted
from patternbench.ratelimit.analyze.throttling import Rule

RULE = Rule(window_us=1_000_000, limit=2, tolerance_us=20_000)


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


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_the_interval_of_a_mean_is_students(values: list[float]) -> None:
    found = cost.mean_interval(np.array(values))
    assert found.low <= found.mean <= found.high
    if np.std(values) > 1e-6:
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (found.low, found.high) == pytest.approx((low, high))


def test_only_rounds_that_have_a_match_are_compared() -> None:
    redis = rounds(algorithm=["a", "b", "c"], block=[0, 0, 0], ms=[1.0, 2.0, 50.0])
    mariadb = rounds(algorithm=["a", "b"], block=[0, 0], ms=[4.0, 6.0])
    apart, pairs = cost.matched(mariadb, redis, ["algorithm"], "ms")
    assert len(pairs) == 2
    assert apart.mean == pytest.approx(3.5)


def test_the_noise_is_the_pooled_scatter_within_what_is_alike() -> None:
    rows = rounds(store=["r", "r", "m", "m"], block=[0, 0, 0, 0], ms=[1.0, 3.0, 11.0, 13.0])
    found = cost.noise(rows, ["store"], "ms")
    assert (found.deviation, found.freedom) == (pytest.approx(np.sqrt(2)), 2)
    # t(0.975, 2) = 4.303; a difference of two single rounds scatters by sqrt(2) as much.
    assert found.reach(1) == pytest.approx(4.303 * np.sqrt(2) * np.sqrt(2), abs=1e-2)
    assert found.reach(4) == pytest.approx(found.reach(1) / 2)


def test_where_nothing_is_alike_every_difference_may_be_chance() -> None:
    rows = rounds(store=["r", "m"], block=[0, 0], ms=[1.0, 30.0])
    assert cost.noise(rows, ["store"], "ms").reach(1) == np.inf


def wanted(scatter: float) -> Wanted:
    return Wanted("ms", "error", "finer", 1.0, Noise(scatter, 100))


def candidates(blocks: int = 1) -> pd.DataFrame:
    one = {"name": ["coarse", "exact", "slow", "wrong"], "ms": [10.0, 10.2, 60.0, 5.0]}
    errors = {"error": [0.9, 0.0, 0.0, 8.0], "finer": [5.0, 0.0, 0.0, 9.0]}
    return pd.concat([pd.DataFrame({**one, **errors, "block": block}) for block in range(blocks)], ignore_index=True)


def test_of_candidates_of_the_same_cost_the_one_of_least_error_is_chosen() -> None:
    found = cost.choose(candidates(), ["name"], wanted(0.5))
    assert found is not None
    assert (found.place, found.cheapest, found.alike) == (1, 0, (0, 1))


def test_a_cost_that_is_clearly_least_decides_among_those_accurate_enough() -> None:
    found = cost.choose(candidates(), ["name"], wanted(0.01))
    assert found is not None
    assert (found.place, found.alike) == (0, (0,))


def test_nothing_is_chosen_when_nothing_is_accurate_enough() -> None:
    assert cost.choose(candidates().query("name == 'wrong'"), ["name"], wanted(0.5)) is None


def test_the_cheapest_of_many_must_lie_further_from_the_others_than_the_cheaper_of_two() -> None:
    # The studentized range at 95 %: 2.80 standard errors of two means, 4.55 of ten (Tukey; 100 degrees of freedom).
    noise = Noise(1.0, 100)
    assert noise.reach(4) == pytest.approx(2.806 / 2, abs=2e-3)
    assert noise.reach(4, among=10) == pytest.approx(4.56 / 2, abs=2e-2)


def test_contrasts_are_clear_after_a_correction_for_how_many_there_are() -> None:
    one = cost.mean_interval(np.array([1.0, 1.2, 1.9, 0.9]))
    none = cost.mean_interval(np.array([-1.0, 1.1, 0.4, -0.6]))
    single = cost.mean_interval(np.array([3.0]))
    assert one.p == pytest.approx(stats.ttest_1samp([1.0, 1.2, 1.9, 0.9], 0).pvalue)
    assert cost.clear([one, none, single]) == [True, False, False]
    assert cost.clear([one, *[none] * 9]) == [False] * 10
    assert cost.clear([single]) == [False]
