"""How far the clock of another machine is ahead of ours, measured by asking it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

TRIES = 20
"""How often a clock is asked. The quickest answer tells most, since it had the least time to be under way."""


@dataclass(frozen=True)
class ClockOffset:
    """How far a clock is ahead of ours, and by how much that may be wrong: half the time of the quickest answer.

    The clock was read somewhere between the question and its answer. Only if one way took all of the time and the
    other none is it as wrong as that (as in NTP, RFC 5905).
    """

    ns: int
    uncertainty_ns: int

    @property
    def most_ns(self) -> int:
        """How far the two may be apart at most."""
        return abs(self.ns) + self.uncertainty_ns


def offset(ask: Callable[[], int], clock: Callable[[], int] = time.time_ns, tries: int = TRIES) -> ClockOffset:
    """Return the offset of the clock that ``ask`` reads, in nanoseconds, against our own ``clock``."""
    trips = [_trip(ask, clock) for _ in range(tries)]
    return min(trips, key=lambda trip: trip.uncertainty_ns)


def _trip(ask: Callable[[], int], clock: Callable[[], int]) -> ClockOffset:
    asked, there, answered = clock(), ask(), clock()
    return ClockOffset(there - (asked + answered) // 2, (answered - asked + 1) // 2)
