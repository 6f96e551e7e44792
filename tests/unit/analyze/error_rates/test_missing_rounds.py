"""How often equal configurations are told apart over conditions of which many rounds are missing: about 5 %."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.statements.estimate import over_blocks, paired
from patternbench.terms.arrays import Floats

ALPHA, RUNS = 0.05, 2000
BOUND = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def equal(conditions: int, blocks: int, missing: float, of_blocks: float) -> Floats:
    """Differences of equal configurations, NaN where a round is missing; every draw has at least one."""
    rng = np.random.default_rng(round(1000 * missing) + 10 * conditions + blocks)
    gaps = rng.normal(0, of_blocks, (RUNS, 1, blocks)) + rng.normal(0, 1, (RUNS, conditions, blocks))
    gaps[rng.random(gaps.shape) < missing] = np.nan
    return gaps[np.isfinite(gaps).any(axis=(1, 2))]


def wrong(gaps: Floats) -> float:
    return float(np.mean([over_blocks(one).p <= ALPHA for one in gaps]))


@pytest.mark.slow
@pytest.mark.parametrize("of_blocks", [0.0, 1.0])
@pytest.mark.parametrize("blocks", [3, 5, 10])
@pytest.mark.parametrize("conditions", [2, 6])
@pytest.mark.parametrize("missing", [0.2, 0.5, 0.7])
def test_equal_ones_are_told_apart_in_5_percent(conditions: int, blocks: int, missing: float, of_blocks: float) -> None:
    assert wrong(equal(conditions, blocks, missing, of_blocks)) <= BOUND


def test_a_condition_of_a_single_block_makes_the_mean_no_surer() -> None:
    gaps = np.array([[0.1, -0.1, 0.2, -0.2], [5.0, np.nan, np.nan, np.nan]])
    one, both = over_blocks(gaps[:1]), over_blocks(gaps)
    assert both.error > one.error
    assert both.df < one.df


def test_conditions_of_a_single_block_each_have_no_interval() -> None:
    found = over_blocks(np.array([[1.0, np.nan], [np.nan, 2.0]]))
    assert found.value == 1.5
    assert np.isnan(found.p)


def test_without_a_missing_round_it_is_the_paired_t_of_the_blocks_means() -> None:
    gaps = np.random.default_rng(1).normal(1, 1, (3, 6))
    means = gaps.mean(axis=0)
    found, known = over_blocks(gaps), paired(np.zeros(6), means)
    assert found.p == pytest.approx(known.p, rel=1e-12)
    assert found.df == known.df
