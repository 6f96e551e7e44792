"""What journeys, items and causes of failure come to, against rows worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from patternbench.analyze.failures import CAUSES
from patternbench.analyze.metrics import round_metrics, step_metrics

COLUMNS = ["user", "call", "attempt", "intended_us", "start_us", "end_us", "outcome", "success", "warm_up"]
OF_JOURNEYS = ["journey", "ends_journey", "items", "failed_items"]


def rows(*given: tuple[Any, ...]) -> pd.DataFrame:
    """Attempts of (call, intended ms, end ms, success, journey, ends it, items, failed items) of one user."""
    filled = [
        (0, call, 1, begins, begins, ends, "answered", good, False, journey, over, items, failed)
        for call, begins, ends, good, journey, over, items, failed in given
    ]
    frame = pd.DataFrame(filled, columns=[*COLUMNS, *OF_JOURNEYS])
    frame[["intended_us", "start_us", "end_us"]] *= 1000
    return frame.assign(group="all", step="a", status=200)


# A good journey of two calls, a failed one, and one that the end of the load cut off.
THREE = rows(
    (0, 0, 10, True, 1, False, 5, 0),
    (1, 20, 50, True, 1, True, 5, 2),
    (2, 60, 70, False, 2, True, 5, 0),
    (3, 80, 100, True, 3, False, 5, 0),
)


def test_a_journey_takes_from_its_first_intended_start_to_its_last_end() -> None:
    measured = round_metrics(THREE)
    assert measured["journey_success_p50"] == pytest.approx(0.050)
    assert measured["journey_max"] == pytest.approx(0.050)
    assert measured["journey_p50"] == pytest.approx(0.030)


def test_the_time_in_calls_leaves_out_what_lies_between_the_calls_of_a_good_journey() -> None:
    measured = round_metrics(THREE)
    assert measured["journey_success_in_calls_p50"] == pytest.approx(0.040)
    assert measured["journey_success_in_calls_max"] == pytest.approx(0.040)
    asked_again = rows((0, 0, 10, False, 1, False, 1, 0), (0, 60, 70, True, 1, True, 1, 0)).assign(attempt=[1, 2])
    assert round_metrics(asked_again)["journey_success_in_calls_p50"] == pytest.approx(0.070)


def test_a_journey_that_was_cut_off_has_no_time_and_is_counted_by_itself() -> None:
    measured = round_metrics(THREE)
    assert (measured["journeys"], measured["unfinished_journeys"]) == (2, 1)
    assert measured["journey_failure_rate"] == pytest.approx(50.0)
    assert measured["journeys_per_s"] == pytest.approx(1 / 0.1)


def test_items_of_failed_calls_and_those_that_an_answer_tells_have_failed() -> None:
    measured = round_metrics(THREE)
    assert measured["items"] == 20
    assert measured["items_per_s"] == pytest.approx((5 + 3 + 0 + 5) / 0.1)
    assert measured["item_failure_rate"] == pytest.approx(100 * 7 / 20)


def test_a_journey_that_touches_the_warm_up_is_left_out_whole() -> None:
    early = THREE.assign(warm_up=[True, False, False, False])
    measured = round_metrics(early)
    assert (measured["journeys"], measured["journey_failure_rate"]) == (1, 100.0)
    assert math.isnan(measured["journey_success_p50"])


def test_a_retried_call_is_one_of_its_journey_and_a_lost_hedge_never_ends_it_last() -> None:
    retried = rows(
        (0, 0, 10, False, 1, False, 1, 0), (0, 20, 30, True, 1, True, 1, 0), (0, 20, 90, False, 1, False, 1, 0)
    )
    retried = retried.assign(attempt=[1, 2, 3], outcome=["answered", "answered", "cancelled"])
    measured = round_metrics(retried)
    assert (measured["journeys"], measured["journey_failure_rate"], measured["items"]) == (1, 0.0, 1)
    assert measured["journey_success_max"] == pytest.approx(0.030)


def test_journeys_of_several_users_that_take_turns_are_kept_apart() -> None:
    other = THREE.assign(user=1, journey=THREE["journey"] + 10)
    both = pd.concat([THREE, other], ignore_index=True).sort_values("end_us", kind="stable")
    measured = round_metrics(both)
    assert (measured["journeys"], measured["unfinished_journeys"], measured["items"]) == (4, 2, 40)


@pytest.mark.parametrize(
    "name",
    ["journeys", "journeys_per_s", "journey_p50", "journey_success_p95", "journey_success_in_calls_p50", "items_per_s"],
)
def test_a_round_that_tells_of_no_journeys_has_none(name: str) -> None:
    assert math.isnan(round_metrics(THREE.drop(columns=OF_JOURNEYS))[name])


def test_calls_that_say_nothing_of_items_have_no_items_but_journeys() -> None:
    measured = round_metrics(THREE.assign(items=math.nan, failed_items=math.nan))
    assert math.isnan(measured["items"])
    assert measured["journeys"] == 2


def test_a_round_without_a_measured_row_has_no_journeys() -> None:
    measured = round_metrics(THREE.assign(warm_up=True))
    assert math.isnan(measured["journeys"])
    assert math.isnan(measured["items"])


def test_every_failure_has_one_cause_and_they_add_up() -> None:
    outcomes = ["answered", "answered", "expectation_failed", "timeout", "connection_error", "dropped", "cancelled"]
    outcomes += ["rejected", "answered", "answered"]
    status = [429, 503, 200, None, None, None, None, None, 200, 429]
    frame = pd.concat([rows((call, call, call + 1, call == 8, 1, False, 1, 0)) for call in range(10)])
    frame = frame.assign(outcome=outcomes, status=status, call=range(10)).reset_index(drop=True)
    measured = round_metrics(frame)
    assert {name: measured[name] for name in CAUSES} == {
        **dict.fromkeys(CAUSES, 10.0),
        "limited_rate": 20.0,
    }
    assert sum(measured[name] for name in CAUSES) + measured["rejected_rate"] == pytest.approx(measured["failure_rate"])


def test_without_statuses_no_failure_is_that_of_a_limit() -> None:
    measured = round_metrics(THREE.drop(columns="status"))
    assert (measured["limited_rate"], measured["bad_status_rate"]) == (0.0, 25.0)


def test_steps_of_a_round_of_journeys_are_summed_up_as_ever() -> None:
    assert step_metrics(THREE)["TotalCalls"].tolist() == [4]
