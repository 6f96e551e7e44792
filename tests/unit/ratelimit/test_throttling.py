"""The judge of rate limiting agrees with its definition, written out the slow way."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patternbench.ratelimit.analyze.throttling import (
    DecisionsError,
    LimitRule,
    by_client,
    exact_log,
    judge,
    summarize,
    summarize_with_scale,
)

slowly = settings(deadline=None, max_examples=40)
"""No deadline: how long an example takes depends on what else this machine does."""
rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=60,
)
rules = st.builds(LimitRule, window_us=st.integers(5, 30), limit=st.integers(0, 6), tolerance_us=st.integers(0, 4))


def table(drawn: list[tuple[str, int, bool, int]]) -> pd.DataFrame:
    return pd.DataFrame(drawn, columns=["client", "time_us", "allowed", "cost"])


def counted_before(decisions: pd.DataFrame, i: int, window: int) -> int:
    """Units allowed to the client of row i in the window before it, by looking at every row."""
    me, total = decisions.iloc[i], 0
    for j, other in enumerate(decisions.itertuples()):
        earlier = (other.time_us, j) < (me.time_us, i)
        if other.client == me.client and other.allowed and earlier and other.time_us > me.time_us - window:
            total += other.cost
    return total


def should_pass(decisions: pd.DataFrame, i: int, rule: LimitRule, window: int) -> bool:
    assert rule.limit is not None
    return bool(counted_before(decisions, i, window) + decisions["cost"].iloc[i] <= rule.limit)


@slowly
@given(rows, rules)
def test_every_verdict_is_that_of_the_definition(drawn: list[tuple[str, int, bool, int]], rule: LimitRule) -> None:
    decisions = table(drawn)
    judged = judge(decisions, rule)
    for i, row in enumerate(judged.itertuples()):
        expected = should_pass(decisions, i, rule, rule.window_us)
        assert row.counted == counted_before(decisions, i, rule.window_us)
        assert row.wrongly_allowed == (row.allowed and not expected)
        assert row.wrongly_rejected == (not row.allowed and expected)


@slowly
@given(rows, rules)
def test_a_tolerant_deviation_is_one_that_every_window_of_the_band_calls_wrong(
    drawn: list[tuple[str, int, bool, int]], rule: LimitRule
) -> None:
    decisions = table(drawn)
    band = range(rule.window_us - rule.tolerance_us, rule.window_us + rule.tolerance_us + 1)
    for i, row in enumerate(judge(decisions, rule).itertuples()):
        verdicts = [should_pass(decisions, i, rule, window) for window in band]
        assert row.wrongly_allowed_tolerant == (row.allowed and not any(verdicts))
        assert row.wrongly_rejected_tolerant == (not row.allowed and all(verdicts))
        assert row.deviates_shorter == (row.allowed != verdicts[0])
        assert row.deviates_longer == (row.allowed != verdicts[-1])


@slowly
@given(rows, rules)
def test_the_exact_log_never_deviates_and_never_passes_its_limit(
    drawn: list[tuple[str, int, bool, int]], rule: LimitRule
) -> None:
    decisions = table(drawn)
    decisions["allowed"] = exact_log(decisions, rule)
    summary = summarize(decisions, rule)
    assert summary["deviation"] == summary["client_mean"] == summary["deviation_tolerant"] == 0
    if rule.limit:
        assert summary["peak"] <= 1


@pytest.mark.slow
@slowly
@given(rows, rules)
def test_the_peak_is_the_most_allowed_in_any_window(drawn: list[tuple[str, int, bool, int]], rule: LimitRule) -> None:
    decisions = table(drawn)
    clients = by_client(decisions, rule).set_index("client")
    for client, own in decisions[decisions["allowed"]].groupby("client"):
        most = max(
            own.loc[(own["time_us"] > end - rule.window_us) & (own["time_us"] <= end), "cost"].sum()
            for end in range(61 + rule.window_us)
        )
        if rule.limit:
            assert clients.loc[client, "peak"] == pytest.approx(most / rule.limit)


@slowly
@given(rows, rules, st.randoms(use_true_random=False))
def test_clients_are_judged_each_by_itself(
    drawn: list[tuple[str, int, bool, int]], rule: LimitRule, random: object
) -> None:
    decisions = table(drawn)
    together = judge(decisions, rule)
    assert len(together) == len(decisions)
    for client, own in decisions.groupby("client"):
        alone = judge(own, rule)
        pd.testing.assert_frame_equal(alone, together[together["client"] == client])


@slowly
@given(rows, rules)
def test_requests_and_client_means_weigh_differently_but_count_the_same(
    drawn: list[tuple[str, int, bool, int]], rule: LimitRule
) -> None:
    decisions = table(drawn)
    clients, summary = by_client(decisions, rule), summarize(decisions, rule)
    wrong = (clients["wrongly_allowed"] + clients["wrongly_rejected"]).sum()
    assert summary["deviation"] == pytest.approx(100 * wrong / len(decisions))
    assert summary["client_mean"] == pytest.approx(clients["deviation"].mean())
    assert summary["deviation"] == pytest.approx(summary["wrongly_allowed"] + summary["wrongly_rejected"])
    assert summary["deviation_least"] <= summary["deviation"] <= summary["deviation_most"]
    assert summary["deviation_tolerant"] <= summary["deviation"]


def test_the_scale_of_a_client_at_120_a_minute_against_100() -> None:
    """Evenly spaced at 0.5 s: with no limiter, all but the first 100 in ten minutes are wrongly allowed."""
    decisions = pd.DataFrame({"client": "a", "time_us": np.arange(1200) * 500_000, "allowed": True})
    scale = summarize_with_scale(decisions, LimitRule(window_us=60_000_000, limit=100))
    assert list(scale.index) == ["measured", "no limiter", "exact log"]
    assert scale.loc["no limiter", "deviation"] == pytest.approx(100 * 1100 / 1200)
    assert scale.loc["no limiter", "peak"] == pytest.approx(1.2)
    assert scale.loc["exact log", "deviation"] == 0
    assert scale.loc["exact log", "allowed"] == 1000


def test_a_limit_that_differs_between_clients_comes_from_its_column() -> None:
    decisions = pd.DataFrame(
        {"client": ["a", "a", "b", "b"], "time_us": [0, 1, 0, 1], "allowed": True, "limit": [1, 1, 2, 2]}
    )
    clients = by_client(decisions, LimitRule(window_us=10, tolerance_us=0)).set_index("client")
    assert clients["wrongly_allowed"].to_dict() == {"a": 1, "b": 0}
    assert clients["peak"].to_dict() == {"a": 2.0, "b": 1.0}


def test_an_admission_exactly_one_window_ago_no_longer_counts() -> None:
    decisions = pd.DataFrame({"client": "a", "time_us": [0, 10, 19], "allowed": [True, True, True]})
    judged = judge(decisions, LimitRule(window_us=10, limit=1, tolerance_us=0))
    assert judged["counted"].tolist() == [0, 0, 1]


def test_the_rows_index_and_order_are_kept() -> None:
    decisions = pd.DataFrame({"client": "a", "time_us": [5, 3, 4], "allowed": True}, index=[7, 7, 9])
    judged = judge(decisions, LimitRule(window_us=10, limit=5, tolerance_us=0))
    assert judged.index.tolist() == [7, 7, 9]
    assert judged["counted"].tolist() == [2, 0, 1]


@pytest.mark.slow
def test_a_million_requests_of_a_thousand_clients_are_judged_in_one_go() -> None:
    rng = np.random.default_rng(3)
    decisions = pd.DataFrame(
        {"client": rng.integers(0, 1000, 1_000_000), "time_us": rng.integers(0, 600_000_000, 1_000_000)}
    ).sort_values("time_us", ignore_index=True)
    rule = LimitRule(window_us=60_000_000, limit=90)
    scale = summarize_with_scale(decisions.assign(allowed=True), rule)
    assert scale.loc["exact log", "deviation"] == 0
    assert 50 < scale.loc["no limiter", "deviation"] < 100


def test_everything_wrong_with_a_table_is_said_at_once() -> None:
    decisions = pd.DataFrame({"time_us": [0.5], "allowed": [200], "cost": [-1]})
    with pytest.raises(DecisionsError) as raised:
        judge(decisions, LimitRule(window_us=10, tolerance_us=0))
    for part in (
        "client is missing",
        "limit is missing",
        "time_us holds float64",
        "allowed holds int64",
        "cost is -1 in row 0",
    ):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    "wrong", [{"window_us": 0}, {"window_us": 10, "tolerance_us": 10}, {"window_us": 10, "limit": -1}]
)
def test_a_rule_without_meaning_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(DecisionsError, match="allowed:"):
        LimitRule(**{"tolerance_us": 0, **wrong})
