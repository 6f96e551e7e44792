"""The choice, how sure it is, and where it flips."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import table_of

from patternbench.analyze.recommend import ranking
from patternbench.analyze.recommend.objectives import parse_limit
from patternbench.analyze.recommend.recommendation import Criteria, listed, pareto_front, recommend, resampled_centres
from patternbench.analyze.statements.family import any_error
from patternbench.terms.data_problems import DataError

FACTORS = table_of({"strategy": ["baseline", "retry", "breaker"], "users": [10, 80]})


def criteria(*requested: tuple[str, ...], **more: Any) -> Criteria:
    """A criteria of a run whose factors are known."""
    return Criteria(*requested, **{"factors": FACTORS, **more})


def run(rounds: int = 10, spread: float = 0.02) -> pd.DataFrame:
    """Retries win p95 with few users, the breaker with many; retries alone keep failures below 1 %."""
    rng = np.random.default_rng(1)
    means = {
        ("baseline", 10): (0.20, 9.0),
        ("retry", 10): (0.10, 0.5),
        ("breaker", 10): (0.15, 3.0),
        ("baseline", 80): (0.40, 12.0),
        ("retry", 80): (0.60, 0.8),
        ("breaker", 80): (0.30, 6.0),
    }
    rows = [
        (strategy, users, p95 * np.exp(rng.normal(0, spread)), failures * np.exp(rng.normal(0, spread)))
        for _ in range(rounds)
        for (strategy, users), (p95, failures) in means.items()
    ]
    return pd.DataFrame(rows, columns=["strategy", "users", "p95", "failure_rate"])


def test_the_best_at_each_load_is_chosen_and_the_flip_between_them_named() -> None:
    found = recommend(run(), criteria(("minimise p95",)))
    assert [c.chosen.scenario.levels["strategy"] for c in found.choices if c.chosen] == ["retry", "breaker"]
    assert found.conditions == ("users",)
    assert found.flips[0].between == (10, 80)
    assert found.flips[0].choices == ("strategy=retry", "strategy=breaker")
    assert found.flips[0].sure


def test_a_limit_changes_the_choice() -> None:
    found = recommend(run(), criteria(("minimise p95",), ("failure_rate <= 1%",)))
    assert [c.chosen.scenario.levels["strategy"] for c in found.choices if c.chosen] == ["retry", "retry"]


def test_limits_that_nothing_keeps_choose_nothing_and_say_so() -> None:
    choice = recommend(run(), criteria(("minimise p95",), ("failure_rate <= 0.1%",))).choices[0]
    assert choice.chosen is None
    assert choice.text == "At users=10: no configuration keeps failure_rate <= 0.1%."


def test_a_clear_winner_is_called_so_with_its_lead_over_the_next() -> None:
    choice = recommend(run(), criteria(("minimise p95",))).choices[0]
    assert (choice.verdict, choice.chosen.wins) == ("clear", 1.0)
    assert choice.text.startswith("At users=10: clearly strategy=retry: p95 −")
    assert choice.text.endswith("against the next, strategy=breaker.")


def test_configurations_that_cannot_be_distinguished_are_a_tie_and_the_baseline_is_preferred() -> None:
    table = run()
    table["p95"] = np.random.default_rng(4).normal(1, 0.2, len(table))
    for choice in recommend(table, criteria(("minimise p95",), baseline=("strategy=baseline",))).choices:
        luckiest = min(choice.candidates, key=lambda each: each.means["p95"])
        assert luckiest.scenario.levels["strategy"] != "baseline"
        assert choice.verdict == "tie"
        assert choice.chosen.scenario.levels["strategy"] == "baseline"
        assert "can't tell it apart from" in choice.text


def test_where_nothing_can_differ_the_baseline_is_the_choice() -> None:
    table = run()
    table["p95"] = table.groupby("users").cumcount() // 3 + 1.0
    choices = recommend(table, criteria(("minimise p95",))).choices
    assert [c.verdict for c in choices] == ["tie", "tie"]
    assert {c.chosen.scenario.levels["strategy"] for c in choices} == {"baseline"}
    assert all("These rounds can't tell it apart from" in choice.text for choice in choices)
    assert not any("clearly" in choice.text for choice in choices)


@pytest.mark.parametrize("limits", [("p99 <= 1s", "failure_rate <= 1%"), ("failure_rate <= 1%", "p99 <= 1s")])
def test_a_choice_that_surely_keeps_one_limit_and_may_break_another_is_not_clear(limits: tuple[str, str]) -> None:
    table = run().assign(p99=lambda rounds: rounds["p95"] * 1.5)
    retries = table["strategy"] == "retry"
    assert recommend(table, criteria(("minimise p95",), limits)).choices[0].verdict == "kept", "of ten rounds"
    table.loc[retries, "failure_rate"] = 0.3 + 1.3 * (table[retries].groupby("users").cumcount() % 2)
    choice = recommend(table, criteria(("minimise p95",), limits)).choices[0]
    assert (choice.verdict, "clearly" in choice.text) == ("unsure", False)


def test_a_choice_that_may_break_the_limit_is_not_clear() -> None:
    table = run()
    retries = table["strategy"] == "retry"
    table.loc[retries, "failure_rate"] = 0.3 + 1.3 * (table[retries].groupby("users").cumcount() % 2)
    choice = recommend(table, criteria(("minimise p95",), ("failure_rate <= 1%",))).choices[0]
    assert choice.verdict == "unsure"
    assert choice.text.endswith("which ones keep failure_rate <= 1% is inconclusive.")


def test_rounds_are_paired_by_block_so_that_a_noisy_machine_hides_no_winner() -> None:
    source = np.random.default_rng(5)
    rows = [
        (block, strategy, machine * factor * np.exp(source.normal(0, 0.02)))
        for block, machine in enumerate(source.uniform(1, 3, 6))
        for strategy, factor in (("baseline", 1.0), ("retry", 0.9))
    ]
    table = pd.DataFrame(rows, columns=["block", "strategy", "p95"])
    paired, apart = (recommend(t, criteria(("minimise p95",))).choices[0] for t in (table, table.drop(columns="block")))
    assert (paired.verdict, apart.verdict) == ("clear", "tie")


def test_shares_of_wins_add_up_to_the_resamples_in_which_any_keeps_the_limits() -> None:
    wide = recommend(run(spread=0.5), criteria(("minimise p95",), ("failure_rate <= 3%",))).choices[0]
    assert sum(c.wins for c in wide.candidates) == pytest.approx(1)
    tight = recommend(run(spread=0.5), criteria(("minimise p95",), ("failure_rate <= 0.5%",))).choices[0]
    kept = [c.feasible_share for c in tight.candidates]
    assert 0 < max(kept) == sum(kept) < 1, "only retries ever keep it, and not always"
    assert sum(c.wins for c in tight.candidates) == pytest.approx(max(kept))


def test_the_cost_against_the_baseline_has_an_interval() -> None:
    choice = recommend(
        run(), criteria(("minimise p95",), ("failure_rate <= 1%",), baseline=("strategy=baseline",))
    ).choices[1]
    p95 = choice.against_baseline[0]
    assert p95.relative == pytest.approx(50, abs=5)
    assert p95.relative_interval.low > 40


def test_the_front_keeps_what_no_other_beats() -> None:
    costs = np.array([[1.0, 5.0], [2.0, 2.0], [3.0, 3.0], [5.0, 1.0], [1.0, 5.0]])
    assert pareto_front(costs).tolist() == [True, True, False, True, True]


def test_without_given_factors_all_scenarios_compete() -> None:
    found = recommend(run(), criteria(("minimise p95",), conditions=()))
    assert len(found.choices) == 1
    assert found.choices[0].chosen.scenario.levels == {"strategy": "retry", "users": 10}


def test_resampled_means_scatter_like_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(0, 1, 100)
    means = resampled_centres([values], False, np.random.default_rng(2), 5000)
    assert means.std() == pytest.approx(values.std() / 10, rel=0.05)


def test_the_order_of_the_rounds_does_not_change_the_choice() -> None:
    table = run()
    shuffled = table.sample(frac=1, random_state=4)
    a, b = (recommend(t, criteria(("minimise p95",))) for t in (table, shuffled))
    assert {c.text.split(":")[0] for c in a.choices} == {c.text.split(":")[0] for c in b.choices}
    assert {c.chosen.scenario.name for c in a.choices} == {c.chosen.scenario.name for c in b.choices}


def test_a_time_limit_needs_a_unit() -> None:
    assert parse_limit("p95 <= 200ms").bound == pytest.approx(0.2)
    with pytest.raises(DataError, match="p95 is a time and needs a unit"):
        parse_limit("p95 <= 200")


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (criteria(("fastest",)), "Write 'minimise p95'"),
        (criteria(("minimise p59",)), "Did you mean p95"),
        (criteria(("minimise p95",), ("failure_rate under 1",)), "Write 'failure_rate <= 1%'"),
        (criteria(("minimise p95",), conditions=("user",)), "Did you mean users"),
        (criteria(("minimise p95",), baseline=("strategy=none",)), "strategy has no level none"),
    ],
)
def test_a_criteria_that_cannot_be_read_says_what_to_type(requested: Criteria, message: str) -> None:
    with pytest.raises(DataError, match=message):
        recommend(run(), requested)


def test_of_a_table_that_is_no_run_everything_is_chosen_and_that_is_said() -> None:
    found = recommend(run(), Criteria(("minimise p95",)))
    assert found.conditions == ()
    (note,) = found.notes
    assert "It isn't known which of strategy, users are conditions, so all were taken as choices." in note.text
    named = recommend(run(), Criteria(("minimise p95",), conditions=("users",)))
    assert (named.conditions, named.notes, len(named.choices)) == (("users",), (), 2)


def test_all_that_is_wrong_with_a_criteria_is_said_at_once() -> None:
    with pytest.raises(DataError) as raised:
        recommend(run(), criteria(("fastest",), ("failure_rate under 1", "p95 < 3"), baseline=("strategy=none",)))
    assert [p.where for p in raised.value.problems] == ["--objective", "--subject-to", "--subject-to", "--baseline"]


def test_equal_configurations_share_the_resamples_that_they_lead() -> None:
    table = run()
    table["p95"] = table.groupby(["strategy", "users"]).cumcount() + 1.0
    choice = recommend(table, criteria(("minimise p95",))).choices[0]
    assert [c.wins for c in choice.candidates] == pytest.approx([1 / 3] * 3)


def test_a_flip_to_nothing_is_sure_where_nothing_ever_keeps_the_limits() -> None:
    table = run()
    table.loc[table["users"] == 80, "failure_rate"] = 50.0
    found = recommend(table, criteria(("minimise p95",), ("failure_rate <= 1%",))).flips
    assert [(flip.choices, flip.sure) for flip in found] == [(("strategy=retry", "nothing"), True)]


def test_configurations_that_tie_are_kept_apart_though_their_own_levels_are_listed_with_commas() -> None:
    assert listed(["retry, 10 ms", "retry, 20 ms"]) == "retry, 10 ms; retry, 20 ms"
    assert listed(["a, 1", "a, 2", "a, 3", "a, 4"]) == "a, 1; a, 2; a, 3 and 1 more"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_a_choice_that_is_clear_has_a_lead_whose_interval_says_so_too() -> None:
    source, clear = np.random.default_rng(1), 0
    for _ in range(60):
        logs = source.normal(0, 0.05, (6, 3)) - np.array([0.0, 0.0, 0.08])
        rows = [(b, f"s{i}", float(np.exp(logs[b, i]))) for b in range(6) for i in range(3)]
        (choice,) = recommend(pd.DataFrame(rows, columns=["block", "s", "p95"]), Criteria(("minimise p95",))).choices
        clear += choice.verdict == "clear"
        assert (" to +" in choice.text) <= (choice.verdict != "clear"), choice.text
    assert 5 < clear < 55


def test_the_gains_over_a_baseline_are_tested_once_per_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    corrected = []

    def counted(p: Any) -> Any:
        corrected.append(len(p))
        return any_error(p)

    monkeypatch.setattr(ranking, "any_error", counted)
    rounds = run().assign(p95=lambda table: table["p95"].mean() * np.exp(np.random.default_rng(2).normal(0, 0.2, 60)))
    found = recommend(rounds, criteria(("minimise p95",)))
    assert [choice.verdict for choice in found.choices] == ["tie", "tie"]
    assert corrected == [2, 2, 3, 3] * 2, "each kind of p twice: alone, and firmly with a claim more"
