"""State that grows over the rounds is found, and chance is taken for it in 5 of 100 runs at most."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.growth import _DRAWN, grown, trend_p

SCENARIOS = {"a": 1.0, "b": 30.0}


def rounds(factors: list[float], noise: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """A round of each scenario per block; ``factors`` are those of the blocks."""
    rng = np.random.default_rng(seed)
    rows = [
        (block, scenario, level * factor * np.exp(noise * rng.standard_normal()))
        for block, factor in enumerate(factors)
        for scenario, level in SCENARIOS.items()
    ]
    return pd.DataFrame(rows, columns=["block", "scenario", "value"])


def test_an_amount_that_grows_in_every_block_is_found_with_its_size_at_both_ends() -> None:
    (growth,) = grown({"files": rounds([8, 20, 38, 54, 70]), "calls": rounds([3, 3, 3, 3, 3])})
    assert (growth.name, growth.blocks) == ("files", 5)
    assert growth.last / growth.first == pytest.approx(np.sqrt(54 * 70) / np.sqrt(8 * 20), rel=1e-6)


@pytest.mark.parametrize("factors", [[5, 5, 5, 5, 5], [5, 4, 3, 2, 1], [1, 1.01, 1.02, 1.03, 1.04], [1, 2, 4]])
def test_what_stays_falls_grows_by_little_or_has_too_few_blocks_is_not_found(factors: list[float]) -> None:
    assert grown({"files": rounds(factors)}) == []


def test_a_restart_in_each_round_leaves_scenarios_that_differ_and_no_growth() -> None:
    later = rounds([1, 1, 1, 1, 1, 1])
    assert grown({"files": later[(later["scenario"] == "a") | (later["block"] > 2)]}) == []


def test_the_p_of_a_trend_is_the_share_of_orders_that_rise_as_much() -> None:
    assert trend_p(np.array([1.0, 2, 3, 4])) == pytest.approx(1 / 24)
    assert trend_p(np.array([4.0, 3, 2, 1])) == 1
    assert trend_p(np.array([1.0, 1, 1, 1])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [4, 6, 10])
def test_chance_is_taken_for_growth_in_5_of_100_runs_at_most(blocks: int) -> None:
    runs = 400
    found = sum(
        bool(grown({name: rounds([1.0] * blocks, 0.5, 7 * run + place) for place, name in enumerate("xyz")}))
        for run in range(runs)
    )
    assert found / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_growth_by_half_over_ten_blocks_is_nearly_always_found_through_a_noise_of_five_percent() -> None:
    factors = list(np.linspace(1, 1.5, 10))
    assert sum(bool(grown({"files": rounds(factors, 0.05, seed)})) for seed in range(50)) >= 48


def test_the_p_of_a_long_trend_is_the_share_of_drawn_orders_its_own_among_them() -> None:
    assert trend_p(np.arange(30.0)) == pytest.approx(1 / (_DRAWN + 1))
    assert trend_p(np.arange(30.0)[::-1]) == 1
    values = np.array([1.0, 3, 2, 5, 4, 7, 6])
    orders = [np.array(order) for order in permutations(values)]
    rise = [np.sign(np.subtract.outer(one, one))[np.tril_indices(7, -1)].sum() for one in [values, *orders]]
    exact = np.mean([other >= rise[0] for other in rise[1:]])
    assert trend_p(values) == pytest.approx(exact, abs=4 * np.sqrt(exact / _DRAWN))
