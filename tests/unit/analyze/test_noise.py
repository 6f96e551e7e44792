"""The noise floor and the drift of a run, on rounds whose noise is known."""

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.compare import How, compare_runs
from patternbench.analyze.noise import block_drift, noise_floor, trend


def rounds(blocks: int, sigma: float, slope: float = 0.0, scenarios: int = 40) -> pd.DataFrame:
    generator = np.random.default_rng(7)
    rows = [
        (f"s{i}", block, (i + 1) * (1 + slope * block) * generator.lognormal(0, sigma))
        for block in range(blocks)
        for i in range(scenarios)
    ]
    return pd.DataFrame(rows, columns=["scenario", "block", "p95"])


def test_rounds_that_repeat_exactly_have_a_floor_of_zero() -> None:
    found = noise_floor(rounds(6, sigma=0), ["p95"]).iloc[0]
    assert (found["floor"], found["typical"], found["scenarios"], found["rounds_a_half"]) == (0, 0, 40, 3)


def test_two_rounds_that_differ_by_a_fifth_say_so() -> None:
    two = pd.DataFrame({"scenario": ["a", "a"], "p95": [0.9, 1.1]})
    assert noise_floor(two, ["p95"]).iloc[0]["floor"] == pytest.approx(20.0 / np.sqrt(2))


def test_four_rounds_are_split_in_three_ways() -> None:
    four = pd.DataFrame({"scenario": ["a"] * 4, "p95": [1.0, 2.0, 3.0, 4.0]})
    # Halves (1,2|3,4) (1,3|2,4) (1,4|2,3): means differ by 2, 1 and 0; the mean of all is 2.5.
    assert noise_floor(four, ["p95"]).iloc[0]["typical"] == pytest.approx(100 * 1 / 2.5 / np.sqrt(2))


def test_the_floor_is_what_a_comparison_of_equal_configurations_finds_95_times_in_100() -> None:
    generator = np.random.default_rng(3)
    pairs = generator.lognormal(0, 0.05, (4000, 2, 10)).mean(axis=2)
    between = np.quantile(100 * np.abs(pairs[:, 1] / pairs[:, 0] - 1), 0.95)
    found = noise_floor(rounds(10, sigma=0.05, scenarios=200), ["p95"]).iloc[0]
    assert found["floor"] == pytest.approx(between, rel=0.1)


def test_a_comparison_speaks_of_the_same_floor() -> None:
    table = rounds(10, sigma=0.1).assign(strategy="retry")
    found = compare_runs(table, table, How(by=("scenario",), responses=("p95",), seed=5)).noise_floor["p95"]
    assert found == noise_floor(table, ["p95"], seed=5).iloc[0]["floor"]


def test_missing_rounds_do_not_count() -> None:
    gap = pd.DataFrame({"scenario": ["a"] * 3, "p95": [0.9, np.nan, 1.1]})
    assert noise_floor(gap, ["p95"]).iloc[0]["floor"] == pytest.approx(20.0 / np.sqrt(2))


def test_more_noise_is_a_higher_floor() -> None:
    floors = [noise_floor(rounds(10, sigma), ["p95"]).iloc[0]["floor"] for sigma in (0.01, 0.05, 0.2)]
    assert floors == sorted(floors)


def test_one_round_a_scenario_leaves_the_floor_unknown() -> None:
    found = noise_floor(rounds(1, sigma=0.1), ["p95"]).iloc[0]
    assert np.isnan(found["floor"])
    assert found["scenarios"] == 0


def test_many_rounds_are_split_by_the_seed() -> None:
    many = rounds(14, sigma=0.1)
    assert noise_floor(many, ["p95"], seed=3).equals(noise_floor(many, ["p95"], seed=3))


def test_a_machine_that_slows_down_is_found() -> None:
    found = trend(rounds(10, sigma=0.02, slope=0.01), "p95")
    assert found.percent_a_block == pytest.approx(1.0, abs=0.3)
    assert found.p < 0.001


def test_noise_alone_is_no_drift() -> None:
    assert trend(rounds(10, sigma=0.02), "p95").p > 0.05


def test_rounds_that_never_move_are_no_drift() -> None:
    assert trend(rounds(5, sigma=0), "p95").p == 1.0


def test_two_blocks_are_too_few_for_a_trend() -> None:
    assert np.isnan(trend(rounds(2, sigma=0.1), "p95").p)


def test_drift_has_one_row_a_block_around_zero() -> None:
    found = block_drift(rounds(4, sigma=0.02), "p95")
    assert found["block"].tolist() == [0, 1, 2, 3]
    assert (found["rounds"] == 40).all()
    assert (found["low"] <= found["median"]).all()
    assert found["median"].abs().max() < 3
