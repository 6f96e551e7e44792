"""Which warm-up a round gets: whatever was started since the last one is warmed by the round's own calls.

A component that was restarted is as cold as a client that was, whichever driver puts the load on. The rule is here
alone; the fixture keeps what is cold, and the executor carries the warm-up out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import Enum

from patternbench.terms.units import Duration


class WarmUpTime(Enum):
    """Where the warm-up of a round is."""

    NONE = "none"
    BEFORE = "before"
    """Calls of its own before the round."""
    WITHIN = "within"
    """The first part of the round."""

    @property
    def with_calls_before(self) -> WarmUpTime:
        """Where the warm-up of a round is before which calls of its own were made as well."""
        return WarmUpTime.BEFORE if self is WarmUpTime.NONE else self


def warm_up_of(cold: Collection[str], by_engine: bool, longest: Duration) -> WarmUpTime:
    """Return the warm-up of a round before which these components and clients were started since the last warm-up.

    The load engine warms up in every round. A library's client does before each round that something is cold for.
    """
    if not longest.us:
        return WarmUpTime.NONE
    if by_engine:
        return WarmUpTime.WITHIN
    return WarmUpTime.BEFORE if cold else WarmUpTime.NONE


def warm_ups(rounds: Iterable[tuple[str, Collection[str]]], by_engine: bool, longest: Duration) -> Iterator[WarmUpTime]:
    """Return the warm-up of each round, given as its client and what is started before it."""
    up: set[str] = set()
    for client, started in rounds:
        yield warm_up_of({*started, *({client} - up)}, by_engine, longest)
        up.add(client)
