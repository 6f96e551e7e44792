"""How often each word is wrong, by simulation with the functions that print the table of docs/analysis.md."""

import numpy as np
import pytest
from tests.support import error_rates as rates
from tests.support import noises

from patternbench.analyze.recommend.objectives import Objective
from patternbench.analyze.recommend.ranking import rank
from patternbench.analyze.statements.family import any_error, bar
from patternbench.analyze.stopping.rule import StoppingRule, decide
from patternbench.analyze.stopping.warnings import order_p, outliers, warnings

RULE = StoppingRule("p95", 0.05, relative=True, fewest=3, most=30)
pytestmark = pytest.mark.slow
every_number_of_rounds = pytest.mark.parametrize("rounds", rates.ROUNDS)


def bound(runs: int, rate: float = 0.05) -> float:
    """The most that a simulated rate of 5 % may show: three standard errors above."""
    return float(rate + 3 * np.sqrt(rate * (1 - rate) / runs))


@every_number_of_rounds
@pytest.mark.parametrize(("count", "runs"), [(2, 400), (10, 80)])
def test_of_equal_configurations_one_is_called_clearly_the_choice_in_5_percent_at_most(
    count: int, runs: int, rounds: int
) -> None:
    found = rates.choices(count, rounds, runs)
    assert found["clear"] <= bound(runs)
    assert found["over_baseline"] <= bound(runs)


def test_a_run_of_ten_conditions_where_nothing_differs_says_clearly_in_5_percent_at_most() -> None:
    source, stated, runs = np.random.default_rng(7), 0, 120
    for _ in range(runs):
        groups = [rates.configurations(source, 2, 6) for _ in range(10)]
        p_values = [rank(group, Objective("p95", minimise=True), ()).p.even for group in groups]
        stated += min(p_values) <= bar(p_values, 0.05)
    assert stated / runs <= bound(runs)


@every_number_of_rounds
@pytest.mark.parametrize(("count", "runs"), [(2, 300), (10, 60)])
def test_clearly_is_hardly_ever_wrong_where_one_is_better(count: int, runs: int, rounds: int) -> None:
    assert rates.choices(count, rounds, runs, gain=0.05)["wrong"] <= bound(runs, 0.025)


@pytest.mark.parametrize("count", [2, 10])
def test_a_winner_by_far_is_called_clearly_the_choice_at_six_rounds(count: int) -> None:
    assert rates.choices(count, 6, 40, gain=0.3)["clear"] >= 0.95


@every_number_of_rounds
def test_a_table_of_ten_equal_pairs_has_a_verdict_in_5_percent_at_most(rounds: int) -> None:
    assert rates.tables(rounds, 150)["any"] <= bound(150)


@every_number_of_rounds
def test_a_table_of_contrasts_between_equal_rate_limiters_says_clear_in_5_percent_at_most(rounds: int) -> None:
    assert rates.contrasts(rounds, 300) <= bound(300)


@pytest.mark.parametrize(("rounds", "levels"), [(3, 1), (6, 3)])
def test_findings_on_equal_lines_say_better_or_worse_in_5_percent_of_runs_at_most(rounds: int, levels: int) -> None:
    assert rates.findings_said(rounds, 60, levels=levels) <= bound(60)


@pytest.mark.parametrize("noise", ["normal", "skewed", "uneven", "in blocks"])
def test_a_model_says_that_nothing_raises_or_cuts_in_5_percent_at_most(noise: str) -> None:
    assert rates.effects_said(noise, 150) <= bound(150)


@pytest.mark.parametrize("levels", [4, 6, 10, 20])
def test_a_load_test_on_a_straight_line_bends_or_changes_in_5_percent_at_most(levels: int) -> None:
    assert rates.shapes_said(levels, 1000, 0.5)["bends"] <= bound(1000)
    assert rates.shapes_said(levels, 1000, 0.0)["changes"] <= bound(1000)


@pytest.mark.parametrize("levels", [10, 20])
def test_the_interval_of_a_knee_that_is_found_holds_it(levels: int) -> None:
    found = rates.knees_held(levels, 150)
    assert found["found"] > 0.9
    assert found["held"] >= 0.95 - 3 * np.sqrt(0.0475 / 150)


def test_of_the_verdicts_next_to_real_differences_5_percent_are_wrong_at_most() -> None:
    assert rates.tables(6, 100, real=5)["share"] <= 0.06


@pytest.mark.parametrize("rounds", [2, *rates.ROUNDS])
@pytest.mark.parametrize("spreads", [(0.05,), (0.05, 0.05), (0.01, 0.05, 0.3)])
def test_two_sets_of_rounds_of_a_scenario_lie_beyond_its_floor_5_times_in_100(
    rounds: int, spreads: tuple[float, ...]
) -> None:
    assert 0.02 <= rates.floors(rounds, 600, spreads) <= bound(600) + 0.01


@pytest.mark.parametrize("spread", [0.01, 0.03, 0.1])
def test_the_interval_at_stopping_covers_the_typical_round_with_tenfold_outliers(spread: float) -> None:
    assert rates.stops(rates.outliers(spread), 120)["covered"] >= 0.95 - 3 * np.sqrt(0.0475 / 120)


@pytest.mark.parametrize("spread", [0.01, 0.1])
def test_an_interval_that_is_too_narrow_by_drift_is_named_or_covers(spread: float) -> None:
    found = rates.stops(rates.drifting(spread), 120)
    assert found["covered_or_named"] > found["covered"]
    assert found["covered_or_named"] >= 0.88


def test_drift_of_many_scenarios_is_found_and_shared_blocks_are_no_drift() -> None:
    source = np.random.default_rng(1)
    drifting = [rates.drifting(0.1)(source)[:12] for _ in range(12)]
    block = source.normal(0, 1, 12)
    shared = [block + source.normal(0, 0.3, 12) for _ in range(12)]
    assert order_p(drifting) <= 0.05 < order_p(shared)
    assert any(
        "resemble the ones before" in text for text in warnings({str(i): v for i, v in enumerate(drifting)}, RULE)
    )


def test_the_order_of_independent_rounds_gets_a_warning_5_times_in_100() -> None:
    source = np.random.default_rng(2)
    found = np.mean([order_p(list(source.normal(0, 1, (3, 8)))) <= 0.05 for _ in range(300)])
    assert found <= bound(300)


def test_outliers_are_named_and_normal_rounds_have_none() -> None:
    source = np.random.default_rng(3)
    calm = source.normal(1, 0.05, (500, 10))
    assert np.mean([len(outliers(values)) > 0 for values in calm]) <= 0.01
    calm[0, 4] = 10.0
    assert outliers(calm[0]).tolist() == [10.0]
    assert any("1 round of 1 scenario lie far" in text for text in warnings({"a": calm[0].tolist()}, RULE))


@pytest.mark.parametrize(("noise", "least", "most"), [("two speeds", 0.9, 1.0), ("log-normal", 0.0, 0.02)])
def test_two_speeds_of_a_machine_are_named_from_the_rounds_of_all_scenarios(
    noise: str, least: float, most: float
) -> None:
    """Of a machine whose rounds stop early, as those of one speed agree; rounds of one speed have no second."""
    source, runs, named = np.random.default_rng(4), 60, 0
    for _ in range(runs):
        drawn = np.exp(noises.NOISES[noise](source, (8, RULE.most, 1), spread=0.03, blocks=0.0)[:, :, 0])
        counts = [next(n for n in range(RULE.fewest, RULE.most + 1) if decide(v[:n], RULE).stop) for v in drawn]
        rounds = {str(place): v[:count].tolist() for place, (v, count) in enumerate(zip(drawn, counts, strict=True))}
        named += any("two speeds" in text for text in warnings(rounds, RULE))
    assert least <= named / runs <= most


def test_few_rounds_are_said_to_miss_rare_ones_and_to_hide_dependence() -> None:
    reported = warnings({"a": [1.0, 1.0, 1.0]}, RULE)
    assert "missed by 3 rounds 86% of the time" in reported[0]
    assert "is inconclusive with fewer than 5 rounds" in reported[1]


def test_holms_correction_and_the_bar_for_many_claims_are_the_textbooks() -> None:
    assert any_error(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert bar([0.01, 0.04, 0.03, 0.005], 0.05) == pytest.approx(0.05)
    assert bar([0.2, 0.04], 0.05) == pytest.approx(0.025)
