"""How often intervals of differences of shares hold them, and how often *the same* is wrong of them."""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.estimate import Estimate
from patternbench.analyze.statements.pairing import against, between_changes, over_conditions
from patternbench.analyze.statements.verdict import same_within
from patternbench.terms.arrays import Floats

RUNS, DOUBT = 300, 0.05
WITHIN_A_POINT = same_within(-1.0, 1.0)


class Ends:
    """The ends of an interval."""

    def __init__(self, estimate: Estimate, level: float = 0.95) -> None:
        self.low, self.high = (float(end) for end in estimate.ends(level))


def bound(rate: float = DOUBT) -> float:
    """The most that a simulated rate may show: three standard errors above."""
    return float(rate + 3 * np.sqrt(rate * (1 - rate) / RUNS))


def side(percents: Floats, calls: int, in_blocks: bool = True) -> ScenarioRounds:
    rounds = len(percents)
    blocks = {"failure_rate": np.arange(rounds, dtype=float)} if in_blocks else {}
    counts = {"failure_rate": np.full(rounds, float(calls))}
    return ScenarioRounds("x", {}, {"failure_rate": percents}, blocks, counts)


def drawn(rng: np.random.Generator, rates: tuple[float, float], calls: int, rounds: int, own: bool) -> list[Estimate]:
    """Differences of two shares (in percent), each of a run; with rates of their own in each round if ``own``."""
    rate = np.broadcast_to(np.array(rates) / 100, (RUNS, rounds, 2))
    if own:
        rate = np.minimum(rate * np.exp(rng.normal(-0.125, 0.5, rate.shape)), 1.0)
    shares = 100 * rng.binomial(calls, rate) / calls
    return [against(side(one[:, 0], calls), side(one[:, 1], calls), "failure_rate", False) for one in shares]


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("rounds", [2, 3, 6, 10])
@pytest.mark.parametrize(
    ("rates", "calls"), [((0.06, 0.06), 400), ((0.25, 0.25), 400), ((1.0, 3.0), 50), ((0, 1), 400)]
)
def test_the_interval_of_a_difference_of_shares_holds_it_95_times_in_100(
    rates: tuple[float, float], calls: int, rounds: int, own: bool
) -> None:
    truth = rates[1] - rates[0]
    ends = [Ends(one) for one in drawn(np.random.default_rng(rounds), rates, calls, rounds, own)]
    assert np.mean([not one.low <= truth <= one.high for one in ends]) <= bound()


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("rounds", [2, 3, 6, 10])
@pytest.mark.parametrize(("rates", "calls"), [((0.0, 1.0), 400), ((1.0, 2.0), 400), ((0.0, 1.0), 50), ((2.0, 3.0), 50)])
def test_shares_that_differ_by_the_margin_are_called_the_same_in_5_percent_at_most(
    rates: tuple[float, float], calls: int, rounds: int, own: bool
) -> None:
    found = drawn(np.random.default_rng(rounds), rates, calls, rounds, own)
    assert np.mean([WITHIN_A_POINT.holds(Ends(one)) for one in found]) <= bound()


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "rounds"), [(0.0, 3), (0.06, 6), (0.25, 10)])
def test_equal_shares_of_enough_calls_are_called_the_same_in_most_runs(rate: float, rounds: int) -> None:
    found = drawn(np.random.default_rng(rounds), (rate, rate), 400, rounds, own=False)
    assert np.mean([WITHIN_A_POINT.holds(Ends(one)) for one in found]) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, 6])
def test_the_mean_change_of_several_conditions_and_the_change_of_a_change_are_held_too(rounds: int) -> None:
    rng, missed = np.random.default_rng(rounds), np.zeros(2)
    for _ in range(RUNS):
        shares = 100 * rng.binomial(400, [0.0025, 0.01], (2, rounds, 2)) / 400
        pairs = [(side(one[:, 0], 400), side(one[:, 1], 400)) for one in shares]
        mean, _ = over_conditions(pairs, "failure_rate", in_percent=False)
        change = between_changes(pairs[:1], pairs[1:], "failure_rate", in_percent=False)
        missed += [not one.low <= truth <= one.high for one, truth in ((Ends(mean), 0.75), (Ends(change), 0.0))]
    assert (missed / RUNS <= bound()).all()


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.25, 0.25), (0.0, 0.5), (0.25, 1.5), (1.0, 9.0)])
def test_the_interval_of_shares_holds_zero_exactly_where_its_p_says_so(
    rates: tuple[float, float], level: float
) -> None:
    for one in drawn(np.random.default_rng(5), rates, 100, 3, own=False)[:60]:
        ends = Ends(one, level)
        assert (ends.low <= 0 <= ends.high) == (one.p > 1 - level)
        firm = one.firm_ends(level)
        assert (firm[0] <= 0 <= firm[1]) == (one.firm_p > 1 - level)
        assert firm[0] <= ends.low <= one.value <= ends.high <= firm[1]


def test_two_sides_without_a_failure_are_as_near_as_their_calls_show_and_no_nearer() -> None:
    def same(calls: int) -> Ends:
        return Ends(against(side(np.zeros(3), calls), side(np.zeros(3), calls), "failure_rate", False))

    assert (same(400).low, same(400).high) == (pytest.approx(-0.307, abs=0.001), pytest.approx(0.307, abs=0.001))
    assert WITHIN_A_POINT.holds(same(400))
    assert not WITHIN_A_POINT.holds(same(20)), "60 calls without a failure don't show that fewer than 6 % fail"


def test_one_failure_more_in_as_many_calls_has_an_interval_though_its_p_is_1() -> None:
    """The exact test of 1 against 2 failures of 1,200 calls has the p 1; their difference is known to 0.6 points."""
    one, two = (side(np.array([0.25, 0.0, share]), 400) for share in (0.0, 0.25))
    found = against(one, two, "failure_rate", False)
    assert found.p == 1.0
    assert -1 < Ends(found).low < 0 < Ends(found).high < 1
    assert np.isfinite(found.firm_ends(0.95)).all()


def test_rounds_that_scatter_more_than_their_calls_keep_their_own_interval() -> None:
    scattered = np.array([0.0, 10.0, 2.0, 30.0])
    a, b = side(scattered, 4000), side(scattered[::-1].copy(), 4000)
    without = against(side(scattered, 4000), ScenarioRounds("y", {}, b.values, b.blocks), "failure_rate", False)
    assert without.calls is None
    assert (Ends(against(a, b, "failure_rate", False)).low, Ends(without).low) == (Ends(without).low,) * 2


def test_shares_without_blocks_are_no_surer_than_their_calls_either() -> None:
    sides = [side(np.zeros(3), 20, in_blocks=False) for _ in range(2)]
    mean, _ = over_conditions([(sides[0], sides[1])], "failure_rate", in_percent=False)
    assert Ends(mean).high > 5


def test_calls_that_no_round_counted_leave_a_share_open() -> None:
    sides = [side(np.zeros(3), 0) for _ in range(2)]
    assert Ends(against(*sides, "failure_rate", False)).high >= 100
