"""How far the choice is decided at a look, and which configurations the next block holds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import table_of

from patternbench.analyze.recommend.objectives import Objective
from patternbench.analyze.recommend.outlook import outlook
from patternbench.analyze.recommend.ranking import rank
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.analyze.recommend.standing import ChoiceStanding, progress, standings, to_measure
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.stopping.choice import ChoiceRule, parse_choice
from patternbench.terms.data_problems import DataError

STRATEGIES = ["baseline", "quick", "slow"]
FACTORS = table_of({"users": [10, 50], "strategy": STRATEGIES})
RULE = ChoiceRule(5.0, 4, 40)
CRITERIA = Criteria(("minimise p95",), by=("users", "strategy"), factors=FACTORS, stopped_by=RULE)
Logs = Mapping[tuple[int, str], float]
CLEAR = {(users, name): log for users in (10, 50) for name, log in zip(STRATEGIES, (0.5, 0.0, 1.0), strict=True)}


def table(logs: Logs, blocks: int, spread: float = 0.01, seed: int = 1) -> pd.DataFrame:
    """Rounds of scenarios of these logs of p95, as a run has them."""
    rng = np.random.default_rng(seed)
    rows = [
        (block, f"{users}-{name}", users, name, float(np.exp(log + rng.normal(0, spread))))
        for block in range(blocks)
        for (users, name), log in logs.items()
    ]
    return pd.DataFrame(rows, columns=["block", "scenario", "users", "strategy", "p95"])


def names(scenarios: tuple[ScenarioRounds, ...]) -> list[object]:
    return [one.levels["strategy"] for one in scenarios]


def at(found: tuple[ChoiceStanding, ...], users: int) -> ChoiceStanding:
    (one,) = (one for one in found if one.conditions["users"] == users)
    return one


def test_where_the_differences_are_large_the_choice_is_known_at_the_first_look() -> None:
    found = standings(table(CLEAR, 4), CRITERIA)
    assert [one.decided for one in found] == [True, True]
    assert [one.staying for one in found] == [(), ()]
    assert {str(one.choice.levels["strategy"]) for one in found if one.choice} == {"quick"}
    assert progress(found, 4) == "after 4 blocks: 2 of 2 choices known"


def test_what_is_shown_not_to_be_the_choice_leaves_the_blocks_and_the_baseline_stays() -> None:
    close = {**CLEAR, (50, "baseline"): 0.5, (50, "quick"): 0.0, (50, "slow"): 0.0}
    rounds = table(close, 4)
    noisy = rounds["scenario"].isin(["50-quick", "50-slow"])
    rounds.loc[noisy, "p95"] *= np.exp(np.random.default_rng(2).normal(0, 0.05, noisy.sum()))
    found = standings(rounds, CRITERIA)
    assert at(found, 10).decided
    assert names(at(found, 50).contenders) == ["quick", "slow"]
    assert names(at(found, 50).staying) == ["baseline", "quick", "slow"]
    planned = {f"{users}-{name}": {"users": users, "strategy": name} for users, name in CLEAR}
    assert to_measure(rounds, planned, CRITERIA, found) == {"50-baseline", "50-quick", "50-slow"}
    assert progress(found, 4).endswith("1 of 2 choices known; open: users=50 (strategy=quick; strategy=slow)")


def test_a_scenario_without_any_round_that_counts_is_measured_as_long_as_its_condition_is_open() -> None:
    close = {**CLEAR, (50, "slow"): 0.0}
    rounds = table(close, 4, spread=0.1)
    rounds = rounds[rounds["scenario"] != "50-baseline"]
    found = standings(rounds, CRITERIA)
    planned = {f"{users}-{name}": {"users": users, "strategy": name} for users, name in CLEAR}
    kept = to_measure(rounds, planned, CRITERIA, found)
    assert ("50-baseline" in kept) is not at(found, 50).decided
    lost = rounds[rounds["users"] == 10]
    assert "50-quick" in to_measure(lost, planned, CRITERIA, standings(lost, CRITERIA)), "nothing is known of it yet"


def test_where_rounds_scatter_so_that_nothing_would_be_known_before_the_end_no_look_comes_between() -> None:
    equal = [standings(table(dict.fromkeys(CLEAR, 0.0), 9, 0.5, seed), CRITERIA) for seed in range(20)]
    waiting = [one for found in equal for one in found if not one.between]
    assert len(waiting) >= 25, "of 40; by luck some seem to differ"
    assert {one.decided for one in waiting} == {False}
    assert [names(one.staying) for one in waiting] == [STRATEGIES] * len(waiting)
    quiet = standings(table(CLEAR, 9), CRITERIA)
    assert [one.between for one in quiet] == [True, True]


def test_the_report_says_of_a_decided_condition_what_decided_it() -> None:
    for seed in range(20):
        near = {**CLEAR, (10, "slow"): 0.02, (50, "slow"): 0.04}
        rounds = table(near, 9, spread=0.03, seed=seed)
        found = standings(rounds, CRITERIA)
        for one, choice in zip(found, recommend(rounds, CRITERIA).choices, strict=True):
            stated = choice.verdict == "clear" or bool(choice.near_the_best)
            assert one.decided is stated, choice.text


def test_each_p_counts_for_every_look_so_that_a_word_takes_more_evidence_than_without_looks() -> None:
    rounds = table(CLEAR, 4, spread=0.2)
    once, looked = (
        recommend(rounds, Criteria(("minimise p95",), by=CRITERIA.by, factors=FACTORS, stopped_by=rule))
        for rule in (None, RULE)
    )
    for a, b in zip(once.choices, looked.choices, strict=True):
        assert b.p == pytest.approx(min(1.0, 7 * a.p))
    assert [note.kind for note in looked.notes if note.kind == "looked"] == ["looked"]


def test_the_outlook_names_the_look_at_which_known_differences_of_a_known_noise_are_shown() -> None:
    """The gap is 0.2 and a block's differences scatter by 0.1: at 4 blocks t is 4, at 6 it is 4.9."""
    gaps = {6: np.array([0.1, 0.3, 0.1, 0.3, 0.1, 0.3]) * 0.1 / np.std([0.1, 0.3] * 3, ddof=1) + 0.0}
    logs = gaps[6] - gaps[6].mean() + 0.2
    blocks = {"p95": np.arange(6.0)}
    group = [
        ScenarioRounds("a", {"c": 0}, {"p95": np.ones(6)}, dict(blocks)),
        ScenarioRounds("b", {"c": 1}, {"p95": np.exp(logs)}, dict(blocks)),
    ]
    found = outlook(rank(group, Objective("p95", minimise=True), ()), RULE, [True, False])
    assert found.spread == pytest.approx(0.1)
    assert found.decided == 6
    assert found.at_once == 4
    assert (found.rounds, found.equal, found.pays) == (12, 80, True)


def test_a_margin_is_read_and_anything_else_refused_with_what_to_type() -> None:
    assert parse_choice("within 2.5 %", 4, 40) == ChoiceRule(2.5, 4, 40)
    for text in ("within 0%", "about 5%", "within"):
        with pytest.raises(DataError, match="Write choice: within 5%"):
            parse_choice(text, 4, 40)


def test_without_looks_between_the_last_one_is_judged_with_most_of_the_error_probability() -> None:
    assert RULE.counted(4, between=True) == 7
    assert RULE.counted(40, between=True) == 7
    assert 1 < RULE.counted(40, between=False) < 7
    assert RULE.for_another_question().counted(40, between=False) == 7
    assert ChoiceRule(5.0, 4, 4).counted(4, between=True) == 1
