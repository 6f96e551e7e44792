"""A rule that looks only after a block of each lane keeps its promise at the few looks that it takes.

It does so too where lanes come or are lost, so that other numbers of blocks come between later looks.
"""

from __future__ import annotations

import numpy as np
import pytest

from patternbench.analyze.stopping import rule

PROMISED, SIMULATED = 0.95, 0.004
"""What the interval at the stop claims, and how far a coverage over 4,000 paths may lie below for the worst noise."""


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8, 15, 30])
@pytest.mark.parametrize(("fewest", "most"), [(3, 30), (5, 40), (3, 6)])
def test_the_interval_at_the_stop_covers_where_a_block_of_each_lane_comes_between_two_looks(
    lanes: int, fewest: int, most: int
) -> None:
    planned = np.array(rule.confidences(fewest, most, PROMISED, step=lanes))
    looks = np.unique([*range(fewest, most, lanes), most])
    errors = rule._standard_errors(looks, np.random.default_rng(7))
    assert len(planned) == most - fewest + 1
    assert rule.worst_coverage(errors, looks, planned[looks - fewest]) >= PROMISED - rule._SIMULATED - SIMULATED


def looked(fewest: int, most: int, first: int, then: int, changed_after: int) -> tuple[rule.Looks, rule.Floats]:
    """The looks of a run whose number of lanes changes after some of them, and the confidence of each."""
    looks: list[rule.Look] = []
    planned: list[float] = []
    at = fewest
    while True:
        step = first if len(looks) < changed_after else then
        looks.append((at, step))
        planned.append(rule.confidences(fewest, most, PROMISED, taken=looks)[at - fewest])
        if at == most:
            return np.array([one for one, _ in looks]), np.array(planned)
        at = min(most, at + step)


@pytest.mark.parametrize(("first", "then"), [(1, 4), (4, 1), (2, 15), (15, 2), (8, 3), (1, 30)])
@pytest.mark.parametrize(("fewest", "most"), [(3, 30), (5, 40), (3, 6)])
def test_the_interval_at_the_stop_covers_where_lanes_come_or_are_lost_between_looks(
    first: int, then: int, fewest: int, most: int
) -> None:
    for changed_after in (1, 2, 3):
        looks, planned = looked(fewest, most, first, then, changed_after)
        errors = rule._standard_errors(looks, np.random.default_rng(7))
        assert rule.worst_coverage(errors, looks, planned) >= PROMISED - rule._SIMULATED - SIMULATED


def test_looks_of_equal_steps_are_planned_alike_whether_they_are_named_or_not() -> None:
    taken = [(3, 4), (7, 4), (11, 4)]
    for count in (1, 2, 3):
        assert rule.confidences(3, 30, PROMISED, taken=taken[:count]) == rule.confidences(3, 30, PROMISED, 4)
