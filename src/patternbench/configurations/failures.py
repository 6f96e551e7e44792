"""Which attempts a policy takes for failures, as sets that products can be asked about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from patternbench.study.workload.policies import Failure

FIRST_FAILURE, LAST_STATUS = 400, 599
"""What no client takes for a success: from 200 to 399 an answer is good, and below 200 none is final."""


@dataclass(frozen=True)
class Failures:
    """The statuses, and whether time-outs and failed connections, are failures to a policy."""

    statuses: frozenset[int]
    timeouts: bool
    connections: bool
    expectations: bool

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The statuses as ranges, both ends included."""
        found: list[tuple[int, int]] = []
        for status in sorted(self.statuses):
            if found and found[-1][1] == status - 1:
                found[-1] = (found[-1][0], status)
            else:
                found.append((status, status))
        return found

    @property
    def unknown(self) -> str:
        """What no product knows of these failures; empty if it knows all."""
        chosen = self.expectations and self != failures(None)
        return "it does not know what the study expects of an answer" if chosen else ""


def failures(chosen: Sequence[Failure] | None) -> Failures:
    """Return the failures of a policy's ``on``; without one, all."""
    if chosen is None:
        return Failures(frozenset(range(FIRST_FAILURE, LAST_STATUS + 1)), True, True, True)
    statuses = {code for one in chosen for code in _statuses(one) if FIRST_FAILURE <= code <= LAST_STATUS}
    words = set(map(str, chosen))
    return Failures(frozenset(statuses), "timeout" in words, "connection_error" in words, "expectation_failed" in words)


def _statuses(failure: Failure) -> Iterable[int]:
    if isinstance(failure, int):
        return [failure]
    low, sign, high = failure.partition("-")
    return range(int(low), int(high) + 1) if sign and low.isdigit() else []
