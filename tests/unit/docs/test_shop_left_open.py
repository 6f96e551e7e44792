"""What the page on rate limits says of what the paper left open follows from rounds on the shop."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reproductions.claimed import planned
from reproductions.comparisons import Comparison, answers, verdicts
from reproductions.kalyanasundaram_2025 import limit_rounds

BLOCKS = 4
ASKED, SENSITIVITY = limit_rounds.QUESTIONS, limit_rounds.SENSITIVITY
STRESS = "shop-stress"
SHEDDING, ROUTES, GOOD = "shop-load-shedding", "shop-limits-by-route", "shoppers.goodput"


def made_up(one: Comparison, factor: float, noise: float = 0.01) -> pd.DataFrame:
    """Rounds of all scenarios, alike but for the second side of each claim: factor where it is higher, or inverse."""
    rng = np.random.default_rng(8)
    rows = [
        {**levels, "scenario": name, "block": b} for name, levels in planned(one.study).items() for b in range(BLOCKS)
    ]
    rounds = pd.DataFrame(rows).assign(warnings=None, study=one.study)
    columns = {*(shown.column for shown in one.shown), *(compared.claim.response for compared in one.compared)}
    rounds = rounds.assign(**{name: 20 * np.exp(rng.normal(0, noise, len(rounds))) for name in sorted(columns)})
    for compared in one.compared:
        there, claim = rounds["scenario"].isin([second for _, second in compared.pairs]), compared.claim
        rounds.loc[there, claim.response] *= {"higher": factor, "lower": 1 / factor}.get(claim.expected.words, 1.0)
    return rounds


def words(one: Comparison, rounds: pd.DataFrame) -> list[str]:
    return [line.strip("| ").rpartition(" | ")[2] for line in verdicts(one, rounds).splitlines()[2:]]


@pytest.mark.parametrize("study", [ROUTES, "shop-bundles"])
def test_what_the_rounds_bear_out_is_confirmed_and_its_opposite_is_contradicted(study: str) -> None:
    one = ASKED[study]
    directed = [not compared.claim.expected.is_margin for compared in one.compared]
    assert set(words(one, made_up(one, 4.0))) <= {"confirmed", "agrees"}
    assert [word == "contradicted" for word in words(one, made_up(one, 1 / 4.0))] == directed


def test_a_limit_that_helps_against_many_clients_contradicts_that_it_changes_nothing() -> None:
    one = ASKED[SHEDDING]
    rounds = made_up(one, 1.0)
    rounds.loc[(rounds["algorithm"] != "no_limiter"), GOOD] *= 3
    assert words(one, rounds) == ["confirmed", "inconclusive", "contradicted", "inconclusive"]


def test_rounds_that_scatter_widely_decide_nothing() -> None:
    one = ASKED[SHEDDING]
    assert set(words(one, made_up(one, 1.0, noise=2.0))) == {"inconclusive"}


@pytest.mark.parametrize("study", [*ASKED, *SENSITIVITY])
def test_every_scenario_of_a_study_has_a_row_with_what_its_groups_got(study: str) -> None:
    questions = ASKED if study in ASKED else SENSITIVITY
    one = questions[study]
    text = answers(questions, {study: made_up(one, 1.0)})
    (table, *_) = [part for part in text.split("\n\n") if part.startswith("| the service |")]
    assert len(table.splitlines()) == 2 + len(set(one.names.values()))
    assert "nan" not in table


def test_what_was_not_measured_says_how_to() -> None:
    text = answers(ASKED, {STRESS: made_up(ASKED[STRESS], 1.0)})
    for study in ("shop-load-shedding", "shop-balancers"):
        assert f"patternbench run studies/{study}.yaml --quick" in text
    for study in ("shop-limits-by-route", "shop-overload", "shop-bundles"):
        assert f"patternbench run studies/{study}.yaml" in text
    assert "patternbench run studies/shop-stress" not in text


@pytest.mark.parametrize("form", ["shop-stress", "shop-stress-quick"])
def test_what_was_measured_names_the_form_of_its_study(form: str) -> None:
    one = ASKED[STRESS]
    rounds = made_up(Comparison(form, "", one.factors, one.condition, one.configuration, one.shown), 1.0)
    text = answers(ASKED, {STRESS: rounds})
    assert f"Measured with [{form}](../../studies/shop-stress.yaml); blocks: {BLOCKS}." in text


def test_a_group_has_responses_of_its_own_calls_and_rates_over_the_whole_round() -> None:
    statuses = [200, 200, 429, 503, 500]
    rows = pd.DataFrame(
        {
            "group": ["shoppers"] * 5 + ["flood"],
            "user": [0] * 5 + [1],
            "call": [0, 1, 2, 3, 4, 0],
            "outcome": ["answered"] * 5 + ["timeout"],
            "attempt": 1,
            "warm_up": False,
            "status": [*map(float, statuses), np.nan],
            "success": [status == 200 for status in statuses] + [False],
            "intended_us": [0, 0, 0, 0, 0, 0],
            "start_us": 0,
            "end_us": [10_000, 30_000, 1_000, 1_000, 1_000, 2_000_000],
        }
    )
    reported = limit_rounds.of_groups(rows)
    expected = {"goodput": 1.0, "AverageSuccessTime": 0.02, "limited_rate": 20.0, "bad_status_rate": 40.0}
    assert {name: reported[f"shoppers.{name}"] for name in expected} == pytest.approx(expected)
    assert (reported["flood.goodput"], reported["flood.failure_rate"]) == (0.0, 100.0)


def test_runs_of_these_studies_are_read() -> None:
    assert {*ASKED, *SENSITIVITY} <= set(limit_rounds.READERS)


def test_what_was_not_measured_says_how_long_it_takes() -> None:
    text = answers(SENSITIVITY, {})
    lines = [line for line in text.splitlines() if line.startswith("Not measured yet")]
    assert len(lines) == len(SENSITIVITY)
    assert all(" takes about " in line and line.endswith((" min.", " s.")) for line in lines)
