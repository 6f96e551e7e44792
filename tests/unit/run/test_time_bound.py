"""A run with a time bound measures whole blocks, as many as end in time."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pytest

from patternbench.cli.at_most import time_bound_of
from patternbench.plan.order import Round
from patternbench.run.lanes.places import HERE
from patternbench.run.time_bound import TimeBound
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

EACH_S = 10.0
"""How long a round takes."""


class Watch:
    """A clock that passes when a round is measured."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def rounds(*blocks: int) -> list[Round]:
    """Two rounds of each of these blocks."""
    return [Round(2 * block + number, block, f"s{number}") for block in blocks for number in range(2)]


def measured(bound: TimeBound, watch: Watch, batches: Sequence[Sequence[Round]]) -> list[int]:
    """The blocks of the rounds that are measured, one after another."""
    found = []
    for batch in bound.in_time(batches):
        for round_ in batch:
            watch.now += EACH_S
            found.append(round_.block)
    return found


@pytest.mark.parametrize(("seconds", "blocks"), [(1, 1), (20, 1), (39, 1), (40, 2), (59, 2), (1000, 4)])
def test_as_many_whole_blocks_are_measured_as_end_in_time_and_one_at_least(seconds: float, blocks: int) -> None:
    watch = Watch()
    found = measured(TimeBound(seconds, watch), watch, [rounds(0, 1, 2, 3)])
    assert found == [block for block in range(blocks) for _ in range(2)]


def test_no_block_begins_without_any_time() -> None:
    watch = Watch()
    bound = TimeBound(0, watch)
    assert measured(bound, watch, [rounds(0)]) == []
    assert bound.is_over


def test_a_block_is_expected_to_take_as_long_as_the_longest_before() -> None:
    watch = Watch()
    bound = TimeBound(70, watch)
    batches = bound.in_time([[*rounds(0), *rounds(1), *rounds(2)]])
    taken = []
    for round_ in next(batches):
        watch.now += {0: 5, 1: 20, 2: 5}[round_.block]
        taken.append(round_.block)
    assert taken == [0, 0, 1, 1], "20 s are left, and the second block took 40"


def test_blocks_that_are_decided_on_later_are_not_asked_for_once_the_time_is_over() -> None:
    watch, asked = Watch(), []

    def growing() -> object:
        for block in range(4):
            asked.append(block)
            yield rounds(block)

    assert measured(TimeBound(45, watch), watch, growing()) == [0, 0, 1, 1]  # type: ignore[arg-type]
    assert asked == [0, 1, 2], "the third was asked for, and found too long"


def test_a_run_without_a_bound_measures_everything() -> None:
    watch = Watch()
    assert len(measured(TimeBound(clock=watch), watch, [rounds(0, 1), rounds(2)])) == 6


def test_time_is_bounded_on_this_machine_alone() -> None:
    assert time_bound_of(Duration.parse("90m"), HERE).seconds == 5400
    assert time_bound_of(None, HERE).seconds == inf
    lanes: object = object()
    assert time_bound_of(None, lanes).seconds == inf  # type: ignore[arg-type]
    with pytest.raises(InputError, match="--at-most measures on this machine, and --on on others"):
        time_bound_of(Duration.parse("90m"), lanes)  # type: ignore[arg-type]
