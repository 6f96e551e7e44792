"""How far another machine's clock is ahead, with clocks that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from patternbench.drivers.clocks import ClockOffset, offset


def two_clocks(ahead_ns: int, ways: list[tuple[int, int]]) -> tuple[Callable[[], int], Callable[[], int]]:
    """Our clock and another one that is ahead; questions and answers take these times under way, one after another."""
    now, under_way = [0], iter(ways)

    def ask() -> int:
        there, back = next(under_way)
        now[0] += there
        read = now[0] + ahead_ns
        now[0] += back
        return read

    return ask, lambda: now[0]


def test_the_quickest_answer_tells_the_offset_give_or_take_half_its_time() -> None:
    ask, clock = two_clocks(5_000_000, [(900_000, 100_000), (30_000, 30_000), (0, 5_000_000)])
    assert offset(ask, clock, tries=3) == ClockOffset(5_000_000, 30_000)


@given(st.integers(-(10**12), 10**12), st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1))
def test_the_true_offset_is_always_within_what_is_said(ahead_ns: int, ways: list[tuple[int, int]]) -> None:
    ask, clock = two_clocks(ahead_ns, ways)
    said = offset(ask, clock, tries=len(ways))
    assert abs(said.ns - ahead_ns) <= said.uncertainty_ns + 1
    assert said.uncertainty_ns <= min(there + back for there, back in ways) // 2 + 1


def ticks() -> Iterator[int]:
    now = 0
    while True:
        now += 100
        yield now


def test_a_clock_of_the_same_machine_is_hardly_ahead() -> None:
    clock = ticks()
    said = offset(lambda: next(clock), lambda: next(clock))
    assert said.most_ns <= 200
