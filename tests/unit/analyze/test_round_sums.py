"""A round summed up by blocks comes to what one pass over its whole table comes to, to the last digit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import metrics_by_table as by_table

from patternbench.analyze import metrics, round_sums
from patternbench.analyze.blocks import InMemory, NameCodes, slices
from patternbench.analyze.round_sums import Times, numbered

OUTCOMES = ("answered", "timeout", "connection_error", "rejected", "dropped", "expectation_failed", "cancelled")
COLUMNS = [
    *("user", "call", "attempt", "intended_us", "start_us", "end_us", "outcome", "success", "warm_up"),
    *("group", "step", "status", "journey", "ends_journey", "items", "failed_items"),
]


def random_round(seed: int, size: int, kind: str) -> pd.DataFrame:
    """A round as no schedule would make it: hedges that overlap, ties, warm calls, journeys, items, several groups."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(size):
        group, user = str(rng.choice(["web", "app"])), int(rng.integers(0, 4))
        step = str(rng.choice(["list", "buy"]))
        begun, journey = int(rng.integers(0, 5_000_000)), int(rng.integers(0, 6))
        for attempt in range(1, 1 + int(rng.choice([1, 1, 1, 2, 3, 5]))):
            outcome = str(rng.choice(OUTCOMES))
            sent = outcome not in ("rejected", "dropped")
            start = begun + int(rng.integers(0, 40))
            rows.append(
                {
                    **{"user": user, "group": group, "step": step, "call": number},
                    **{"attempt": attempt if sent else 0, "intended_us": begun, "start_us": start},
                    **{"end_us": start + int(rng.integers(0, 5)) * 10 ** int(rng.integers(0, 7)), "outcome": outcome},
                    **{"success": bool(rng.random() < 0.6), "warm_up": bool(rng.random() < 0.1)},
                    "status": float(rng.choice([200, 429, 500])) if outcome == "answered" else np.nan,
                    **{"journey": journey, "ends_journey": bool(rng.random() < 0.4)},
                    "items": float(rng.integers(0, 4)) if rng.random() < 0.7 else np.nan,
                    "failed_items": 0.0 if rng.random() < 0.7 else np.nan,
                }
            )
    frame = pd.DataFrame(rows, columns=None if rows else COLUMNS)
    frame = frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)
    frame[["outcome", "group", "step"]] = frame[["outcome", "group", "step"]].astype("category")
    if kind == "as recorded":
        narrow = {"user": "uint32", "call": "uint32", "attempt": "uint16", "journey": "uint32"}
        return frame.astype(narrow)
    return frame.drop(columns=["journey", "ends_journey", "items", "failed_items"]) if kind == "plain" else frame


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 2, 7, 30]),
    st.sampled_from(["as recorded", "plain", "with journeys"]),
    st.sampled_from([1, 2, 3, 11, 1000]),
    st.sampled_from([np.inf, 0.01]),
)
def test_sums_by_blocks_are_those_of_the_whole_table(
    seed: int, size: int, kind: str, block: int, objective: float
) -> None:
    frame = random_round(seed, size, kind)
    blocks, whole = InMemory(frame, block), by_table
    found = metrics.summary_of(blocks, objective, 3.0)
    with np.errstate(all="ignore"):
        assert_same(found.metrics, whole.round_metrics(frame, objective, 3.0))
        pd.testing.assert_frame_equal(found.curve, whole.latency_curve(frame), check_exact=True, check_dtype=size > 0)
        steps = whole.step_metrics(frame, objective, 3.0)
    pd.testing.assert_frame_equal(metrics.step_metrics(blocks, objective, 3.0, found), steps, check_exact=True)
    users = whole.user_metrics(frame)
    made = metrics.user_metrics(blocks).astype({"group": object})
    pd.testing.assert_frame_equal(made, users.astype({"group": object}), check_exact=True, check_dtype=False)


def assert_same(found: dict[str, float], expected: dict[str, float]) -> None:
    """The same names in the same order, and the same numbers to the last bit."""
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert np.array_equal([found[name]], [value], equal_nan=True), name


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 5, 40]), st.integers(1, 9))
def test_ended_journeys_by_blocks_are_those_of_the_whole_table(seed: int, size: int, block: int) -> None:
    frame = random_round(seed, size, "as recorded")
    found, expected = metrics.ended_journeys(InMemory(frame, block)), by_table.ended_journeys(frame)
    for name in ("seconds", "good", "began_us"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@given(st.lists(st.integers(-(2**40), 2**40), max_size=40), st.lists(st.integers(0, 50), max_size=40))
def test_numbers_are_places_among_the_distinct_values(wide: list[int], dense: list[int]) -> None:
    for values in (np.array(wide, dtype=np.int64), np.array(dense, dtype=np.int64)):
        found, place = numbered(values)
        assert found.tolist() == sorted(set(values.tolist()))
        np.testing.assert_array_equal(found[place], values)


def test_users_whose_calls_have_far_apart_numbers_need_no_table_of_all_numbers() -> None:
    frame = random_round(3, 30, "as recorded").astype({"user": "int64", "call": "int64"})
    far = frame.assign(call=frame["call"] * 10**12, user=frame["user"] * 10**9)
    assert_same(metrics.round_metrics(InMemory(far, 7)), metrics.round_metrics(frame))


def test_times_of_more_than_35_minutes_are_whole() -> None:
    frame = random_round(4, 30, "as recorded")
    long = frame.assign(end_us=frame["end_us"] + 2**33)
    assert metrics.round_metrics(InMemory(long, 7))["p50"] == by_table.round_metrics(long)["p50"] > 2**33 / 1e6


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(-50, 60), max_size=60), st.integers(1, 9))
def test_times_that_are_counted_are_in_the_order_of_those_that_are_sorted(spans: list[int], block: int) -> None:
    times, values = Times(), np.array(spans, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(round_sums, "_MANY", 5)
        patch.setattr(round_sums, "_COUNTED_BELOW", 20)
        for part in slices(len(values), block):
            times.add(values[part])
        ordered = times.ordered()
    assert ordered.at(np.arange(len(ordered))).tolist() == sorted(spans)


def test_names_are_in_the_order_of_their_categories_and_otherwise_by_the_alphabet() -> None:
    by_category, by_text = NameCodes(), NameCodes()
    assert by_category.codes(pd.Series(pd.Categorical(["b", None], ["c", "b"]))).tolist() == [1, -1]
    assert by_text.codes(pd.Series(["b", "a"])).tolist() == [0, 1]
    assert (by_category.in_order(), by_text.in_order()) == (["c", "b"], ["a", "b"])


def test_a_table_in_blocks_that_lacks_a_column_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="warm_up"):
        metrics.round_metrics(InMemory(random_round(1, 3, "plain").drop(columns="warm_up"), 2))
