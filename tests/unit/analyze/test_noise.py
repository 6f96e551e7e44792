"""The noise floor and the drift of a run, on rounds whose noise is known."""

import numpy as np
import pandas as pd
import pytest
from tests.support import noises

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_runs
from patternbench.analyze.noise import block_drift, floor_of, noise_floor, scenario_floor, trend


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
    assert (found["typical"], found["scenarios"], found["rounds"]) == (pytest.approx(0, abs=1e-12), 40, 6)


def test_two_rounds_hardly_know_their_spread_and_the_floor_says_so() -> None:
    # t(0.975, 1 degree of freedom) = 12.706, s = sqrt(0.02), sqrt(2 / 2)
    two = np.array([-0.1, 0.1])
    assert scenario_floor(two, in_percent=False) == pytest.approx(12.706 * np.sqrt(0.02), abs=1e-3)


def test_shares_have_a_floor_in_points_and_none_in_percent_of_numbers_near_zero() -> None:
    found = floor_of("failure_rate", [np.array([0.0, 0.1, 0.2])])
    assert not found.in_percent
    assert found.floor == pytest.approx(4.3027 * 0.1 * np.sqrt(2 / 3), abs=1e-4)


def test_each_scenario_has_its_own_floor() -> None:
    quiet, loud = np.random.default_rng(1).lognormal(0, [[0.01], [0.3]], (2, 10))
    found = floor_of("p95", [quiet, quiet, loud])
    assert found.typical == scenario_floor(quiet, in_percent=True)
    assert found.floor == scenario_floor(loud, in_percent=True) > 10 * found.typical


def test_a_comparison_speaks_of_the_same_floor() -> None:
    table = rounds(10, sigma=0.1).assign(strategy="retry")
    found = compare_runs(table, table, ComparisonOptions(by=("scenario",), responses=("p95",)))
    assert found.noise_floor["p95"] == noise_floor(table, ["p95"]).iloc[0]["typical"]
    own = scenario_floor(table.loc[table["scenario"] == "s3", "p95"].to_numpy(), in_percent=True)
    assert next(d.floor for d in found.differences if d.levels["scenario"] == "s3") == own


def test_missing_rounds_do_not_count() -> None:
    gap = pd.DataFrame({"scenario": ["a"] * 3, "p95": [0.9, np.nan, 1.1]})
    assert noise_floor(gap, ["p95"]).iloc[0]["floor"] == scenario_floor(np.array([0.9, 1.1]), in_percent=True)


def test_more_noise_is_a_higher_floor() -> None:
    floors = [noise_floor(rounds(10, sigma), ["p95"]).iloc[0]["floor"] for sigma in (0.01, 0.05, 0.2)]
    assert floors == sorted(floors)


def test_one_round_a_scenario_leaves_the_floor_unknown() -> None:
    found = noise_floor(rounds(1, sigma=0.1), ["p95"]).iloc[0]
    assert np.isnan(found["floor"])
    assert found["scenarios"] == 0


def test_a_machine_that_slows_down_is_found() -> None:
    found = trend(rounds(10, sigma=0.02, slope=0.01), "p95")
    assert found.percent_a_block == pytest.approx(1.0, abs=0.3)
    assert found.p < 0.001


def test_noise_alone_is_no_drift() -> None:
    assert trend(rounds(10, sigma=0.02), "p95").p > 0.05


def test_blocks_that_differ_by_chance_are_no_drift() -> None:
    # 24 scenarios follow each of 6 blocks: counted as 144 rounds, any uneven blocks seem to move.
    source, found = np.random.default_rng(3), []
    for logs in noises.log_normal(source, (60, 6, 24), spread=0.03, blocks=0.05):
        table = pd.DataFrame(
            {"scenario": np.tile(np.arange(24), 6), "block": np.repeat(np.arange(6), 24), "p95": np.exp(logs).ravel()}
        )
        found.append(trend(table, "p95").p <= 0.05)
    assert np.mean(found) <= 0.13  # 5 % and three standard errors; of rounds it were 60 %


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
