"""Responses at a common value of a covariate: what is removed, what stays, and how often a verdict is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from patternbench.analyze.covariates import at_common_value, is_moved, moved_by_scenarios

SLOW, BLOCKS = 1.7, 8


def rounds_of(
    rng: np.random.Generator, *, scenarios: int = 6, blocks: int = BLOCKS, slope: float = 1.2, effects: Any = None
) -> pd.DataFrame:
    """Rounds on a machine that is fast or slow for a while, as the probe sees it with a little noise."""
    count = scenarios * blocks
    slowness = np.where(rng.random(count) < 0.5, 1.0, SLOW)
    scenario = np.tile(np.arange(scenarios), blocks)
    effects = np.zeros(scenarios) if effects is None else np.asarray(effects)
    logs = effects[scenario] + slope * np.log(slowness) + rng.normal(0, 0.05, count)
    return pd.DataFrame(
        {
            "block": np.repeat(np.arange(blocks), scenarios),
            "scenario": [f"s{number}" for number in scenario],
            "kind": "all",
            "time": np.exp(logs),
            "probe_time": 40e-6 * slowness * np.exp(rng.normal(0, 0.02, count)),
        }
    )


def spread(rounds: pd.DataFrame) -> float:
    """The spread of logs within scenarios."""
    return float(np.log(rounds["time"]).groupby(rounds["scenario"]).std().mean())


def test_what_the_machine_did_is_removed() -> None:
    rounds = rounds_of(np.random.default_rng(1))
    moved = at_common_value(rounds, ["time"], "probe_time", ["kind"])
    assert spread(rounds) > 0.25
    assert spread(moved) < 0.08


def test_what_a_scenario_does_stays() -> None:
    effects = [0, 0, 0, 0, 0, np.log(2)]
    rounds = rounds_of(np.random.default_rng(2), blocks=200, effects=effects)
    logs = np.log(at_common_value(rounds, ["time"], "probe_time", ["kind"])["time"]).groupby(rounds["scenario"]).mean()
    assert np.exp(logs["s5"] - logs["s0"]) == pytest.approx(2, rel=0.02)


def test_each_kind_of_scenario_follows_the_covariate_in_its_own_way() -> None:
    rng = np.random.default_rng(3)
    bound, waiting = rounds_of(rng, slope=1.5), rounds_of(rng, slope=0.0)
    waiting = waiting.assign(scenario="w" + waiting["scenario"], kind="waiting")
    rounds = pd.concat([bound, waiting], ignore_index=True)
    apart = at_common_value(rounds, ["time"], "probe_time", ["kind"])
    together = at_common_value(rounds.assign(kind="all"), ["time"], "probe_time", ["kind"])
    assert spread(apart) < 0.5 * spread(together)


def test_a_response_that_does_not_follow_it_is_left_as_it_is() -> None:
    rounds = rounds_of(np.random.default_rng(4), slope=0.0)
    moved = at_common_value(rounds, ["time"], "probe_time", ["kind"])
    assert spread(moved) == pytest.approx(spread(rounds), rel=0.1)


def test_a_covariate_that_never_changes_moves_nothing() -> None:
    rounds = rounds_of(np.random.default_rng(5)).assign(probe_time=4e-5)
    moved = at_common_value(rounds, ["time"], "probe_time", ["kind"])
    pd.testing.assert_series_equal(moved["time"], rounds["time"])


def test_an_unknown_covariate_makes_its_round_unknown_and_no_other() -> None:
    rounds = rounds_of(np.random.default_rng(6))
    rounds.loc[3, "probe_time"] = np.nan
    moved = at_common_value(rounds, ["time"], "probe_time", ["kind"])
    assert list(moved.index[moved["time"].isna()]) == [3]


def test_rounds_are_spread_a_little_more_for_the_uncertain_slope() -> None:
    # Two scenarios of three rounds: six rounds less two means and one slope leave three degrees of freedom, so what is
    # left around the means, which are 0 here, grows by sqrt(1 + 2 / 3).
    x, y = [-1, 0, 1, 0, 0, 0], [-1.0, 1.0, 0.0, -1.0, 2.0, -1.0]
    rounds = pd.DataFrame({"scenario": list("aaabbb"), "kind": "all", "time": np.exp(y), "probe_time": np.exp(x)})
    slope = 1 / 2
    rest = np.array(y) - slope * np.array(x)
    moved = np.log(at_common_value(rounds, ["time"], "probe_time", ["kind"])["time"])
    assert moved.to_numpy() == pytest.approx(rest * np.sqrt(1 + 2 / 3))


def test_a_covariate_that_one_scenario_moves_is_found_and_one_that_none_moves_is_not() -> None:
    rounds = rounds_of(np.random.default_rng(8), blocks=20)
    assert not is_moved(moved_by_scenarios(rounds, "probe_time"))
    rounds.loc[rounds["scenario"] == "s1", "probe_time"] *= 1.8
    assert is_moved(moved_by_scenarios(rounds, "probe_time"))
    assert np.isnan(moved_by_scenarios(rounds.drop_duplicates("scenario"), "probe_time"))


@pytest.mark.slow
@pytest.mark.parametrize(("scenarios", "slope"), [(2, 1.2), (3, 3.0), (9, 0.0)])
def test_equal_scenarios_are_distinguished_5_times_in_100(scenarios: int, slope: float) -> None:
    rng, tries, wrong = np.random.default_rng(7), 600, 0
    for _ in range(tries):
        moved = at_common_value(rounds_of(rng, slope=slope, scenarios=scenarios), ["time"], "probe_time", ["kind"])
        logs = np.log(moved.set_index(["block", "scenario"])["time"]).unstack("scenario")
        wrong += stats.ttest_rel(logs["s0"], logs["s1"]).pvalue < 0.05
    assert wrong / tries < 0.075
