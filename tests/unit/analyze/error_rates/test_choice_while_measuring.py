"""How often rounds that stop once the choice is known end with a wrong one, under noise of all kinds.

A choice is wrong if it is more than the margin worse than the best. The hardest case is one whose rivals are all just
that much worse: any of them may be the luckiest at some look. A rate of 5 % may show three standard errors more.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.replay.replaying import Replayed, replayed
from tests.support import noises

from patternbench.analyze.recommend.judging import Judge
from patternbench.analyze.recommend.objectives import Objective
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.terms.arrays import Floats
from patternbench.terms.factors import NOTHING_KNOWN

pytestmark = pytest.mark.slow

ALPHA, MARGIN = 0.05, 5.0
JUST_TOO_BAD = float(np.log1p(1.001 * MARGIN / 100))
FASTEST = Objective("p95", minimise=True)
SYMMETRIC = ["log-normal", "wide", "5 % tenfold", "t with 2 degrees of freedom", "drifting in time", "trend"]
SYMMETRIC += ["two speeds", "two speeds, sticky", "unequal spreads", "blocks act unequally", "noisy half way"]
"""Kinds of noise that are alike for all configurations, or differ in their spread alone."""


def bound(runs: int, rate: float = ALPHA) -> float:
    """The most that a simulated rate may show: three standard errors above."""
    return float(rate + 3 * np.sqrt(rate * (1 - rate) / runs))


def judge(fewest: int = 4, most: int = 40) -> Judge:
    return Judge((FASTEST,), (), {"c": 0}, NOTHING_KNOWN, 0.95, MARGIN, ChoiceRule(MARGIN, fewest, most))


def run(logs: Floats, how: Judge) -> Replayed:
    """One run of configurations c0, c1 ... from logs of p95 (rounds, configurations), of which c0 is the baseline."""
    blocks = {"p95": np.arange(len(logs), dtype=float)}
    group = [ScenarioRounds(f"c{i}", {"c": i}, {"p95": np.exp(logs[:, i])}, dict(blocks)) for i in range(logs.shape[1])]
    return replayed(how, [({}, group)])


def chosen(found: Replayed) -> int | None:
    """The configuration that a run ended with; None where the choice stayed open."""
    (one,) = found.standings
    return int(str(one.choice.levels["c"])) if one.decided and one.choice else None


def shares(noise: str, worse: list[float], runs: int, spread: float | None = None, how: Judge | None = None) -> Floats:
    """Return the share of runs that end with each configuration, of which one is so much worse than the best."""
    rng, ends, how = np.random.default_rng(len(worse)), np.zeros(len(worse)), how or judge()
    options = {} if spread is None else {"spread": spread}
    shape = (runs, how.rule.most if how.rule else 0, len(worse))
    for logs in noises.NOISES[noise](rng, shape, **options) + np.array(worse):
        end = chosen(run(logs, how))
        if end is not None:
            ends[end] += 1
    return ends / runs


@pytest.mark.parametrize("noise", SYMMETRIC)
def test_of_two_the_one_that_is_just_too_bad_is_the_choice_in_5_percent_at_most(noise: str) -> None:
    ends = shares(noise, [JUST_TOO_BAD, 0.0], 120)
    assert ends[0] <= bound(120)


@pytest.mark.parametrize("noise", ["log-normal", "two speeds, sticky"])
@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_of_four_any_that_is_just_too_bad_is_the_choice_in_5_percent_at_most(noise: str, spread: float) -> None:
    ends = shares(noise, [JUST_TOO_BAD, 0.0, JUST_TOO_BAD, JUST_TOO_BAD], 60, spread)
    assert ends[0] + ends[2] + ends[3] <= bound(60)


def test_of_ten_any_that_is_just_too_bad_is_the_choice_in_5_percent_at_most() -> None:
    ends = shares("log-normal", [JUST_TOO_BAD, 0.0, *[JUST_TOO_BAD] * 8], 20, 0.1)
    assert ends.sum() - ends[1] <= bound(20)


@pytest.mark.parametrize(("fewest", "most"), [(3, 6), (3, 30), (10, 100)])
def test_so_it_is_between_other_bounds(fewest: int, most: int) -> None:
    ends = shares("log-normal", [JUST_TOO_BAD, 0.0], 100, 0.1, judge(fewest, most))
    assert ends[0] <= bound(100)


def test_where_the_looks_between_are_left_out_the_choice_is_wrong_in_5_percent_at_most() -> None:
    """The noise lies where the first blocks say now that looking pays, now that it doesn't."""
    for spread in (0.15, 0.3):
        ends = shares("log-normal", [JUST_TOO_BAD, 0.0], 150, spread)
        assert ends[0] <= bound(150)


def test_half_of_them_skewed_is_wrong_more_often_as_the_page_says() -> None:
    """Such a choice is called known if rounds scatter evenly, which these don't."""
    ends = shares("half of them skewed", [0.0, JUST_TOO_BAD], 100)
    assert ends[1] <= bound(100, 0.1)


def test_a_gain_of_20_percent_is_known_after_a_fifth_of_the_rounds_in_nearly_all_runs() -> None:
    rng, known, rounds = np.random.default_rng(3), 0, 0
    for logs in noises.log_normal(rng, (100, 40, 4)) + np.array([0.2, 0.0, 0.2, 0.3]):
        found = run(logs, judge())
        known += chosen(found) == 1
        rounds += found.rounds
    assert known >= 95
    assert rounds / 100 <= 0.2 * 160
