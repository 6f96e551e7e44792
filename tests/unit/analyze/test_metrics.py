"""The metrics of a round, against rows worked out by hand."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.call_times import call_seconds

from patternbench.analyze.metrics import (
    CURVE,
    RESPONSES,
    TABLE_2,
    latency_curve,
    round_metrics,
    step_metrics,
    user_metrics,
)

COLUMNS = ["user", "call", "attempt", "intended_us", "start_us", "end_us", "outcome", "success", "warm_up"]


def rows(*given_rows: tuple[Any, ...]) -> pd.DataFrame:
    """Make attempts of (user, call, attempt, intended ms, start ms, end ms, outcome, success[, warm_up])."""
    filled = [row if len(row) == len(COLUMNS) else (*row, False) for row in given_rows]
    frame = pd.DataFrame(filled, columns=COLUMNS)
    frame[["intended_us", "start_us", "end_us"]] *= 1000
    return frame.assign(group="all", outcome=frame["outcome"].astype("category"))


# User 0: a retried call (fails, then succeeds), then a good one. User 1: a rejected call, a failed one, a
# good one.
BY_HAND = rows(
    (0, 0, 1, 0, 0, 10, "answered", False),
    (0, 0, 2, 30, 30, 50, "answered", True),
    (0, 1, 1, 50, 50, 90, "answered", True),
    (1, 0, 0, 0, 0, 0, "rejected", False),
    (1, 1, 1, 1, 1, 31, "timeout", False),
    (1, 2, 1, 31, 31, 61, "answered", True),
)


def test_counts_add_up_over_the_users_of_a_round() -> None:
    found = round_metrics(BY_HAND)
    assert [found[name] for name in TABLE_2[:6]] == [3, 2, 5, 3, 2, 5]


def test_total_times_are_means_over_users_of_what_each_user_waited() -> None:
    found = round_metrics(BY_HAND)
    assert found["TotalSuccessTime"] == pytest.approx((0.060 + 0.030) / 2)
    assert found["TotalErrorTime"] == pytest.approx((0.010 + 0.030) / 2)
    assert found["TotalContentionTime"] == pytest.approx((0.070 + 0.060) / 2)
    assert found["TotalExecutionTime"] == pytest.approx((0.090 + 0.061) / 2)
    assert found["ContentionRate"] == pytest.approx(0.130 / 0.151)


def test_average_times_are_over_attempts_of_the_whole_round() -> None:
    found = round_metrics(BY_HAND)
    assert found["AverageSuccessTime"] == pytest.approx(0.090 / 3)
    assert found["AverageErrorTime"] == pytest.approx(0.040 / 2)


def test_rates_are_per_second_of_the_round() -> None:
    found = round_metrics(BY_HAND)
    assert found["Throughput"] == pytest.approx(5 / 0.090)
    assert found["goodput"] == pytest.approx(3 / 0.090)


def test_one_call_in_a_round_of_a_second_is_one_call_a_second() -> None:
    found = round_metrics(rows((0, 0, 1, 300, 300, 302, "answered", True)), length_s=1.0)
    assert (found["goodput"], found["Throughput"]) == (1.0, 1.0)


def test_an_even_rate_of_one_a_second_is_no_goodput_of_two() -> None:
    found = round_metrics(rows((0, 0, 1, 0, 0, 2, "answered", True), (1, 0, 1, 1000, 1000, 1002, "answered", True)))
    assert found["goodput"] > 1.9
    shared = rows((0, 0, 1, 0, 0, 2, "answered", True), (1, 0, 1, 1000, 1000, 1002, "answered", True))
    assert round_metrics(shared, length_s=2.0)["goodput"] == 1.0


def test_calls_that_outlast_the_declared_length_count_over_the_time_they_took() -> None:
    assert round_metrics(BY_HAND, length_s=0.010)["goodput"] == pytest.approx(3 / 0.090)


@given(
    st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 4000), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 6000),
)
def test_rates_times_the_longer_of_length_and_calls_are_their_counts(
    calls: list[tuple[int, int, bool]], length_ms: int
) -> None:
    frame = rows(
        *(
            (0, number, 1, begun, begun, begun + took, "answered", good)
            for number, (begun, took, good) in enumerate(calls)
        )
    ).assign(step="request")
    seconds = max(length_ms, max(b + t for b, t, _ in calls) - min(b for b, _, _ in calls)) / 1000
    found = round_metrics(frame, length_s=length_ms / 1000)
    assert found["goodput"] * seconds == pytest.approx(sum(good for _, _, good in calls))
    assert found["Throughput"] * seconds == pytest.approx(len(calls))
    (step,) = step_metrics(frame, length_s=length_ms / 1000)["calls_per_s"]
    assert step * seconds == pytest.approx(len(calls))


def test_a_call_that_takes_exactly_the_objective_is_in_time_and_one_a_microsecond_longer_is_not() -> None:
    span = 0.090
    assert round_metrics(BY_HAND, 0.040)["goodput"] == pytest.approx(2 / span)
    assert round_metrics(BY_HAND, 0.040 - 1e-6)["goodput"] == pytest.approx(1 / span)


def test_a_rejected_call_is_an_unsuccessful_call_that_costs_no_request() -> None:
    found = round_metrics(BY_HAND)
    assert found["rejected_calls"] == 1
    assert found["failure_rate"] == pytest.approx(40.0)
    assert found["amplification"] == pytest.approx(1.0)


def test_success_share_rejected_share_and_time_to_a_success_are_of_all_calls() -> None:
    found = round_metrics(BY_HAND)
    assert (found["success_rate"], found["rejected_rate"]) == (pytest.approx(60.0), pytest.approx(20.0))
    assert found["time_to_success"] == pytest.approx((0.090 + 0.061) / 3)
    assert math.isnan(round_metrics(rows((0, 0, 1, 0, 0, 10, "answered", False)))["time_to_success"])


def test_failing_fast_makes_response_times_short_and_successes_late() -> None:
    served = [(0, call, 1, 100 * call, 100 * call, 100 * call + 100, "answered", True) for call in range(5)]
    refused = [(0, call, 1, 10 * call, 10 * call, 10 * call + 1, "answered", call == 49) for call in range(50)]
    slow, fast = round_metrics(rows(*served)), round_metrics(rows(*refused))
    assert fast["p95"] < slow["p95"] / 50
    assert fast["time_to_success"] > slow["time_to_success"] * 4
    assert fast["success_rate"] == pytest.approx(2.0)


def test_the_response_times_of_successful_calls_span_their_retries_and_leave_out_failures() -> None:
    found = round_metrics(BY_HAND)
    assert (found["call_success_p50"], found["call_success_max"]) == (pytest.approx(0.040), pytest.approx(0.050))


def test_the_response_time_of_a_call_spans_its_attempts_and_its_back_off() -> None:
    assert sorted(call_seconds(BY_HAND)) == pytest.approx([0.030, 0.030, 0.040, 0.050])
    found = round_metrics(BY_HAND)
    assert found["max"] == pytest.approx(0.050)
    assert found["p50"] == pytest.approx(0.035)


def test_the_response_time_counts_from_the_intended_start_but_an_attempt_from_its_sending() -> None:
    found = round_metrics(rows((0, 0, 1, 0, 200, 250, "answered", True)))
    assert found["p50"] == pytest.approx(0.250)
    assert found["success_p50"] == pytest.approx(0.050)


def test_a_dropped_call_is_counted_as_failed_and_has_no_time() -> None:
    found = round_metrics(rows((0, 0, 1, 0, 0, 10, "answered", True), (0, 1, 0, 5, 5, 5, "dropped", False)))
    assert (found["TotalCalls"], found["TotalRequests"], found["failure_rate"]) == (2, 1, 50.0)
    assert (found["rejected_calls"], found["max"]) == (0, pytest.approx(0.010))


def test_a_call_whose_hedge_lost_is_as_good_as_the_attempt_that_answered() -> None:
    found = round_metrics(
        rows((0, 0, 1, 0, 0, 30, "answered", True), (0, 0, 2, 0, 20, 31, "cancelled", False)),
    )
    assert (found["SuccessfulCalls"], found["failure_rate"]) == (1, 0.0)
    assert found["max"] == pytest.approx(0.030)


def test_a_call_all_of_whose_hedges_failed_ends_with_the_last_to_do_so() -> None:
    found = round_metrics(
        rows((0, 0, 1, 0, 0, 90, "answered", False), (0, 0, 2, 0, 20, 31, "answered", False)),
    )
    assert (found["UnsuccessfulCalls"], found["amplification"]) == (1, 2.0)
    assert found["max"] == pytest.approx(0.090)


def test_the_time_of_an_attempt_that_was_given_up_is_no_time_of_a_failure() -> None:
    found = round_metrics(
        rows(
            (0, 0, 1, 0, 0, 30, "answered", True),
            (0, 0, 2, 0, 20, 31, "cancelled", False),
            (0, 1, 1, 40, 40, 45, "answered", False),
        ),
    )
    assert (found["error_p50"], found["error_max"]) == (pytest.approx(0.005), pytest.approx(0.005))
    assert (found["TotalRequests"], found["UnsuccessfulRequests"]) == (3, 2)


def test_calls_that_touch_the_warm_up_are_left_out_whole() -> None:
    warm = rows(
        (0, 0, 1, 0, 0, 500, "answered", False, True),
        (0, 0, 2, 520, 520, 530, "answered", True, False),
        (0, 1, 1, 600, 600, 640, "answered", True, False),
    )
    found = round_metrics(warm)
    assert (found["TotalCalls"], found["TotalRequests"], found["UnsuccessfulRequests"]) == (1, 1, 0)
    assert found["TotalExecutionTime"] == pytest.approx(0.040)
    assert found["Throughput"] == pytest.approx(1 / 0.040)


def test_without_an_error_its_average_time_is_unknown_and_its_total_zero() -> None:
    found = round_metrics(rows((0, 0, 1, 0, 0, 10, "answered", True)))
    assert math.isnan(found["AverageErrorTime"])
    assert math.isnan(found["error_p99"])
    assert found["TotalErrorTime"] == 0


def test_a_round_without_a_measured_row_has_counts_of_zero_and_no_times() -> None:
    found = round_metrics(rows((0, 0, 1, 0, 0, 10, "answered", True, True)))
    assert (found["TotalCalls"], found["rejected_calls"]) == (0, 0)
    undefined = {
        "TotalExecutionTime",
        "AverageSuccessTime",
        "Throughput",
        "p50",
        "failure_rate",
        "amplification",
    }
    assert all(math.isnan(found[name]) for name in undefined)


def test_an_empty_frame_is_a_round_without_a_measured_row() -> None:
    assert round_metrics(BY_HAND.iloc[:0])["TotalCalls"] == 0
    assert len(user_metrics(BY_HAND.iloc[:0])) == 0


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="intended_us"):
        round_metrics(BY_HAND.drop(columns="intended_us"))


def test_each_user_has_the_metrics_of_that_user_alone() -> None:
    second = user_metrics(BY_HAND).set_index("user").loc[1]
    assert [second[name] for name in TABLE_2[:6]] == [1, 2, 3, 1, 1, 2]
    assert second["AverageErrorTime"] == pytest.approx(0.030)
    assert second["Throughput"] == pytest.approx(2 / 0.061)
    assert second["ContentionRate"] == pytest.approx(0.060 / 0.061)
    assert (second["start_us"], second["end_us"]) == (0, 61_000)


def test_users_of_two_groups_may_share_a_number() -> None:
    twice = pd.concat([BY_HAND.assign(group="mobile"), BY_HAND.assign(group="web")], ignore_index=True)
    assert user_metrics(twice)[["group", "user"]].values.tolist() == [
        ["mobile", 0],
        ["mobile", 1],
        ["web", 0],
        ["web", 1],
    ]
    assert round_metrics(twice)["TotalCalls"] == 10


def test_every_response_of_the_contract_is_there_once() -> None:
    assert tuple(round_metrics(BY_HAND)) == RESPONSES
    assert len(set(RESPONSES)) == len(RESPONSES)


@st.composite
def rounds_of_attempts(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a closed round: users whose calls are rejected, or have some failed attempts and a last one."""
    found: list[tuple[Any, ...]] = []
    for user in range(draw(st.integers(1, 4))):
        now = 0
        for call, attempts in enumerate(draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))):
            good = draw(st.booleans())
            if attempts == 0:
                found.append((user, call, 0, now, now, now, "rejected", False))
            for attempt in range(1, attempts + 1):
                took = draw(st.integers(1, 50))
                ok = good and attempt == attempts
                found.append((user, call, attempt, now, now, now + took, "answered", ok))
                now += took + draw(st.integers(0, 5))
            now += 1
    return rows(*found)


@given(rounds_of_attempts())
def test_a_round_is_the_sum_of_its_users(attempts: pd.DataFrame) -> None:
    whole, users = round_metrics(attempts), user_metrics(attempts)
    for name in TABLE_2[:6]:
        assert whole[name] == users[name].sum()
    for name in ("TotalSuccessTime", "TotalErrorTime", "TotalExecutionTime", "TotalContentionTime"):
        assert whole[name] == pytest.approx(users[name].mean())


@given(rounds_of_attempts(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(attempts: pd.DataFrame, seed: int) -> None:
    shuffled = attempts.iloc[np.random.default_rng(seed).permutation(len(attempts))]
    assert round_metrics(shuffled) == pytest.approx(round_metrics(attempts), nan_ok=True)


@given(rounds_of_attempts())
def test_parts_make_wholes_and_quantiles_rise(attempts: pd.DataFrame) -> None:
    found = round_metrics(attempts)
    assert found["SuccessfulCalls"] + found["UnsuccessfulCalls"] == found["TotalCalls"]
    assert found["TotalSuccessTime"] + found["TotalErrorTime"] == pytest.approx(found["TotalContentionTime"])
    assert found["TotalRequests"] == (attempts["attempt"] > 0).sum()
    values = [found[name] for name in ("p50", "p90", "p95", "p99", "p999", "max")]
    assert math.isnan(values[0]) or values == sorted(values)


@given(rounds_of_attempts(), st.integers(1, 10_000))
def test_moving_a_round_in_time_changes_nothing(attempts: pd.DataFrame, by: int) -> None:
    later = attempts.copy()
    later[["intended_us", "start_us", "end_us"]] += by
    assert round_metrics(later) == pytest.approx(round_metrics(attempts), nan_ok=True)


def test_a_rounds_curves_run_from_its_shortest_to_its_longest_time() -> None:
    curves = latency_curve(BY_HAND).set_index(["kind", "quantile"])["seconds"]
    assert (curves["call", 0.0], curves["call", 1.0]) == (pytest.approx(0.030), pytest.approx(0.050))
    assert (curves["success", 0.0], curves["success", 1.0]) == (pytest.approx(0.020), pytest.approx(0.040))
    assert len(curves) == 2 * len(CURVE)


def test_a_kind_without_any_time_has_no_curve() -> None:
    failed = rows((0, 0, 1, 0, 0, 10, "timeout", False))
    assert latency_curve(failed)["kind"].unique().tolist() == ["call"]
    assert latency_curve(BY_HAND.iloc[:0]).empty
