"""The verdict on the rule of thumb follows a rule whose error rate is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions.pages import STUDIES
from reproductions.rule_of_thumb import rule as measured

from patternbench.lab.systems import file_of
from patternbench.plan.expand import expand
from patternbench.study.load import load

BLOCKS, RUNS = 10, 60
SERVICES = {"exponential:12ms": (1, 2, 4, 8, 16, 32), "exponential:48ms": (4, 8, 16, 32, 64, 128)}


def made_up(
    relief: float = 0.5, delay: float = 1.0, late: float = 2.0, spread: float = 0.02, seed: int = 1
) -> pd.DataFrame:
    """A run in which back-offs relieve and delay by ratios: a twelfth does neither, eight thirds delay by ``late``."""
    rng = np.random.default_rng(seed)
    rows = []
    for (service, back_offs), fault, block in product(SERVICES.items(), (0, 20, 40, 60), range(BLOCKS)):
        for ms in (None, *back_offs) if fault else (None,):
            share = 0.0 if ms is None else ms / measured.unloaded(service)
            success = 1.0 if share < 0.1 else relief
            total = 1.0 if share < 0.1 else late if share > 2 else delay
            noise = np.exp(rng.normal(0, spread, 2))
            rows.append(_round((service, 40, fault, block), ms, success * noise[0], total * noise[1]))
        if not fault:
            rows.append(_round((service, 4, 0, block), None, 0.012, 1.0))
    return pd.DataFrame(rows)


def _round(key: tuple[str, int, int, int], ms: int | None, success: float, total: float) -> dict[str, object]:
    return {
        **dict(zip(("service_time", "users", "abort.percentage", "block"), key, strict=True)),
        "strategy": "baseline" if ms is None else "retry",
        "retry.backoff.exponential.initial": np.nan if ms is None else ms / 1000,
        "AverageSuccessTime": success,
        "TotalExecutionTime": total,
        "warnings": None,
    }


def verdict(rounds: pd.DataFrame) -> str:
    word, _ = measured.verdict_of_rule(rounds)
    return str(word)


def test_the_figure_draws_the_changes_of_the_tables() -> None:
    points = pd.DataFrame(measured.points(made_up()))
    assert len(points) == 2 * len(SERVICES) * 6 * 3
    (row,) = points.query("what == 'callers' and service == '48 ms' and share == '8/3' and fault == 40").to_dict(
        "records"
    )
    assert row["low"] < 100 < row["high"]
    (figure,) = measured.drawn(made_up()).values()
    assert [text for text in ("12 ms", "48 ms", "callers, 60 % faults", "1/3") if f">{text}<" not in figure] == []


@pytest.mark.parametrize(("changes", "reported"), [({}, "**confirmed**"), ({"late": 0.5}, "**contradicted**")])
def test_the_page_begins_with_the_verdict(changes: dict[str, float], reported: str) -> None:
    assert measured.in_short(made_up(**changes)).startswith(f"Measured: the rule is {reported}.")


def test_a_third_that_does_what_the_rule_says_holds() -> None:
    assert verdict(made_up()) == "confirmed"


@pytest.mark.parametrize("changes", [{"relief": 1.5}, {"delay": 2.0}, {"late": 0.5}])
def test_a_third_that_does_the_opposite_of_a_claim_does_not_hold(changes: dict[str, float]) -> None:
    assert verdict(made_up(**changes)) == "contradicted"


def test_rounds_that_scatter_widely_tell_nothing() -> None:
    assert verdict(made_up(spread=1.0)) == "inconclusive"


@pytest.mark.slow
def test_a_rule_that_is_true_but_for_its_margins_is_refuted_in_at_most_five_of_a_hundred_runs() -> None:
    refuted = (verdict(made_up(relief=1.0, delay=1.2, late=1.0, spread=0.1, seed=seed)) for seed in range(RUNS))
    assert sum(word == "contradicted" for word in refuted) / RUNS <= 0.12


@pytest.mark.slow
def test_a_rule_that_is_false_at_a_margin_holds_in_at_most_five_of_a_hundred_runs() -> None:
    held = (verdict(made_up(delay=1.2, spread=0.02, seed=seed)) == "confirmed" for seed in range(RUNS))
    assert sum(held) / RUNS <= 0.05


def test_back_offs_are_parts_of_the_unloaded_time_of_their_own_service() -> None:
    rounds = made_up()
    for service in SERVICES:
        found = measured.changes(rounds, service)
        assert {share for response, share, _ in found if response == measured.SUCCESS} == {
            "1/12",
            "1/6",
            "1/3",
            "2/3",
            "4/3",
            "8/3",
        }


def test_a_rule_of_which_a_claim_has_no_rounds_is_not_confirmed() -> None:
    rounds = made_up()
    share = pd.Series(measured.shares(rounds), index=rounds.index)
    assert verdict(rounds[share != "8/3"]) == "inconclusive"


def test_the_table_has_a_row_for_each_back_off_of_each_service() -> None:
    tables = list(measured.back_offs(made_up()))
    assert [text.split("\n")[0] for text in tables] == ["**12 ms unloaded**", "**48 ms unloaded**"]
    assert [line.split(" | ")[0] for line in tables[0].splitlines()[4:]] == [
        "| 1/12",
        "| 1/6",
        "| 1/3",
        "| 2/3",
        "| 4/3",
        "| 8/3",
    ]


def test_the_study_states_the_claims_of_the_rule_that_are_about_one_service() -> None:
    of_study = {one.says.partition(" (")[0] for one in load(STUDIES / "rule-of-thumb.yaml").claims}
    assert of_study == {one.says for one in measured.CLAIMS if not one.than}


def test_the_study_has_every_back_off_that_the_rule_is_held_to() -> None:
    study = load(STUDIES / "rule-of-thumb.yaml")
    file = file_of(study.system)
    assert file is not None
    levels = pd.DataFrame([scenario.levels for scenario in expand(study, file).scenarios])
    delays = levels[measured.BACKOFF].dropna().map(lambda text: float(text.removesuffix("ms")) / 1000)
    reported = measured.shares(levels.assign(**{measured.BACKOFF: delays}))
    every = {share for one in measured.CLAIMS for share in one.end["share"]}
    assert {measured.THIRD} < every <= set(reported)
    baselines = levels[levels["strategy"] == "baseline"]
    assert {(users, fault) for users, fault in zip(baselines["users"], baselines[measured.FAULT], strict=True)} == {
        (4, 0), (40, 0), (40, 20), (40, 40), (40, 60),
    }  # fmt: skip
