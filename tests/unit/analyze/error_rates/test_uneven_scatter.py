"""How often each word is wrong where only one side has bad rounds far off: said without a condition, 5 % at most."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import noises

from patternbench.analyze.recommend.objectives import Objective
from patternbench.analyze.recommend.ranking import Ranking, rank
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.estimate import over_blocks, paired
from patternbench.terms.arrays import Floats

pytestmark = pytest.mark.slow
every_number_of_rounds = pytest.mark.parametrize("rounds", [3, 6, 10])
ALPHA, RUNS = 0.05, 4000


def bound(runs: int) -> float:
    """The most that a simulated rate of 5 % may show: three standard errors above."""
    return float(ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / runs))


def uneven(rounds: int, runs: int, count: int = 2) -> Floats:
    return noises.half_skewed(np.random.default_rng(rounds), (runs, rounds, count))


def ranked(logs: Floats) -> Ranking:
    blocks = {"p95": np.arange(len(logs), dtype=float)}
    group = [ScenarioRounds(f"c{i}", {"c": i}, {"p95": np.exp(column)}, blocks) for i, column in enumerate(logs.T)]
    return rank(group, Objective("p95", minimise=True), ())


@every_number_of_rounds
def test_better_and_worse_over_conditions(rounds: int) -> None:
    drawn = noises.half_skewed(np.random.default_rng(rounds), (3000, rounds, 2))
    gaps = (drawn[..., 1] - drawn[..., 0]).reshape(1000, 3, rounds)
    assert np.mean([over_blocks(one).firm_p <= ALPHA for one in gaps]) <= bound(1000)


@every_number_of_rounds
def test_a_gain_over_an_equal_baseline(rounds: int) -> None:
    stated = [min(g.firm for g in ranked(one).gains(0).values()) <= ALPHA for one in uneven(rounds, 400, 2)]
    assert np.mean(stated) <= bound(400)


@every_number_of_rounds
def test_the_interval_that_a_claim_is_confirmed_by_misses_no_change(rounds: int) -> None:
    drawn = uneven(rounds, RUNS)
    low, high = paired(drawn[..., 0], drawn[..., 1]).firm_ends(1 - ALPHA)
    assert np.mean((low > 0) | (high < 0)) <= bound(RUNS)


@every_number_of_rounds
@pytest.mark.parametrize("worse", [0, 1])
def test_at_most_5_percent_worse_of_what_is_exactly_that(rounds: int, worse: int) -> None:
    logs = uneven(rounds, 600) + np.log(1.05) * (np.arange(2) == worse)
    rankings = [ranked(one) for one in logs]
    assert np.mean([one.duels.within(worse, 1 - worse, 0.05).firm <= ALPHA for one in rankings]) <= bound(600)


def test_the_interval_of_the_firm_p_leaves_out_zero_exactly_where_that_p_is_small() -> None:
    drawn = uneven(4, RUNS)
    estimate = paired(drawn[..., 0], drawn[..., 1])
    low, high = estimate.firm_ends(1 - ALPHA)
    assert (((low > 0) | (high < 0)) == (estimate.firm_p <= ALPHA)).all()
