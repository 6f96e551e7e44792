"""The choice, how sure it is, and where it flips."""

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.problems import DataError
from patternbench.analyze.recommend import Wish, pareto_front, parse_limit, recommend, resampled_means


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
    found = recommend(run(), Wish(("minimise p95",)))
    assert [c.chosen.scenario.levels["strategy"] for c in found.choices if c.chosen] == ["retry", "breaker"]
    assert found.given == ("users",)
    assert found.flips[0].between == (10, 80)
    assert found.flips[0].choices == ("strategy=retry", "strategy=breaker")
    assert found.flips[0].sure


def test_a_limit_changes_the_choice() -> None:
    found = recommend(run(), Wish(("minimise p95",), ("failure_rate <= 1%",)))
    assert [c.chosen.scenario.levels["strategy"] for c in found.choices if c.chosen] == ["retry", "retry"]


def test_limits_that_nothing_keeps_choose_nothing_and_say_so() -> None:
    choice = recommend(run(), Wish(("minimise p95",), ("failure_rate <= 0.1%",))).choices[0]
    assert choice.chosen is None
    assert choice.text == "At users=10: no configuration keeps failure_rate <= 0.1%."


def test_a_clear_winner_wins_always_and_a_close_race_is_called_one() -> None:
    assert recommend(run(), Wish(("minimise p95",))).choices[0].chosen.wins == 1.0
    table = run(spread=0.5)
    table["p95"] = np.random.default_rng(3).normal(1, 0.2, len(table))
    close = recommend(table, Wish(("minimise p95",))).choices[0]
    assert close.chosen.wins < 0.9
    assert "rival" in close.text


def test_shares_of_wins_and_of_infeasible_resamples_add_up() -> None:
    choice = recommend(run(spread=0.5), Wish(("minimise p95",), ("failure_rate <= 3%",))).choices[0]
    assert 0.99 < sum(c.wins for c in choice.candidates) <= 1 + 1e-12


def test_the_cost_against_the_baseline_has_an_interval() -> None:
    choice = recommend(
        run(), Wish(("minimise p95",), ("failure_rate <= 1%",), baseline=("strategy=baseline",))
    ).choices[1]
    p95 = choice.against_baseline[0]
    assert p95.relative == pytest.approx(50, abs=5)
    assert p95.relative_interval.low > 40


def test_the_front_keeps_what_no_other_beats() -> None:
    costs = np.array([[1.0, 5.0], [2.0, 2.0], [3.0, 3.0], [5.0, 1.0], [1.0, 5.0]])
    assert pareto_front(costs).tolist() == [True, True, False, True, True]


def test_without_given_factors_all_scenarios_compete() -> None:
    found = recommend(run(), Wish(("minimise p95",), given=()))
    assert len(found.choices) == 1
    assert found.choices[0].chosen.scenario.levels == {"strategy": "retry", "users": 10}


def test_resampled_means_scatter_like_the_standard_error() -> None:
    values = np.random.default_rng(1).normal(0, 1, 100)
    means = resampled_means([values], np.random.default_rng(2), 5000)
    assert means.std() == pytest.approx(values.std() / 10, rel=0.05)


def test_the_order_of_the_rounds_does_not_change_the_choice() -> None:
    table = run()
    shuffled = table.sample(frac=1, random_state=4)
    a, b = (recommend(t, Wish(("minimise p95",))) for t in (table, shuffled))
    assert {c.text.split(":")[0] for c in a.choices} == {c.text.split(":")[0] for c in b.choices}
    assert {c.chosen.scenario.name for c in a.choices} == {c.chosen.scenario.name for c in b.choices}


def test_a_time_limit_needs_a_unit() -> None:
    assert parse_limit("p95 <= 200ms").bound == pytest.approx(0.2)
    with pytest.raises(DataError, match="p95 is a time and needs a unit"):
        parse_limit("p95 <= 200")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(("fastest",)), "Write 'minimise p95'"),
        (Wish(("minimise p59",)), "Did you mean p95"),
        (Wish(("minimise p95",), ("failure_rate under 1",)), "Write 'failure_rate <= 1%'"),
        (Wish(("minimise p95",), given=("user",)), "Did you mean users"),
        (Wish(("minimise p95",), baseline=("strategy=none",)), "strategy has no level none"),
    ],
)
def test_a_wish_that_cannot_be_read_says_what_to_type(wish: Wish, said: str) -> None:
    with pytest.raises(DataError, match=said):
        recommend(run(), wish)


def test_all_that_is_wrong_with_a_wish_is_said_at_once() -> None:
    with pytest.raises(DataError) as raised:
        recommend(run(), Wish(("fastest",), ("failure_rate under 1", "p95 < 3"), baseline=("strategy=none",)))
    assert [p.where for p in raised.value.problems] == ["--objective", "--subject-to", "--subject-to", "--baseline"]


def test_a_race_that_nobody_wins_is_called_no_clear_choice() -> None:
    table = run()
    table["p95"] = table.groupby(["strategy", "users"]).cumcount() + 1.0
    choice = recommend(table, Wish(("minimise p95",))).choices[0]
    assert choice.chosen is not None
    assert choice.chosen.wins == pytest.approx(1 / 3, abs=0.05)
    assert "no clear choice" in choice.text
    assert "has the lowest mean p95, but is the best in only" in choice.text


def test_a_flip_to_nothing_is_sure_where_nothing_ever_keeps_the_limits() -> None:
    table = run()
    table.loc[table["users"] == 80, "failure_rate"] = 50.0
    found = recommend(table, Wish(("minimise p95",), ("failure_rate <= 1%",))).flips
    assert [(flip.choices, flip.sure) for flip in found] == [(("strategy=retry", "nothing"), True)]
