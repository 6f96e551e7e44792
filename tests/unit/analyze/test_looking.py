"""When rounds that are still being added are looked at, and how sure each look must be."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.analyze.stopping.looking import confidence_of_each, next_look, planned_looks


@pytest.mark.parametrize(
    ("fewest", "most", "looks"),
    [
        (4, 40, (4, 6, 9, 14, 21, 32, 40)),
        (3, 30, (3, 5, 8, 12, 18, 30)),
        (4, 6, (4, 6)),
        (5, 6, (5, 6)),
        (4, 4, (4,)),
    ],
)
def test_each_look_comes_after_half_as_many_blocks_again_and_none_right_before_the_last(
    fewest: int, most: int, looks: tuple[int, ...]
) -> None:
    assert planned_looks(fewest, most) == looks


@given(st.integers(3, 200), st.integers(0, 1000), st.integers(1, 300))
def test_no_more_looks_are_taken_than_were_planned_however_many_blocks_are_measured_at_once(
    fewest: int, more: int, at_once: int
) -> None:
    most, taken = fewest + more, [fewest]
    while (coming := next_look(taken[-1], fewest, most, at_once)) is not None:
        taken.append(coming)
    assert all(later > earlier for earlier, later in itertools.pairwise(taken))
    assert taken[-1] == most
    assert len(taken) <= len(planned_looks(fewest, most))


def test_the_intervals_of_all_looks_hold_together() -> None:
    assert confidence_of_each(0.95, 4, 40) == pytest.approx(1 - 0.05 / 7)
    assert confidence_of_each(0.95, 4, 4) == pytest.approx(0.95), "who looks once gives nothing up"
