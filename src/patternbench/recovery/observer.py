"""The observer of recovery: it watches nothing itself, and judges a round's attempts by when faults acted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from patternbench.observe.seam import FaultSpan, ObservationError, Observer, RoundFiles, Settings
from patternbench.recovery.responses import RESPONSES


@dataclass(frozen=True)
class DisturbedRound:
    """A round's attempts, and when faults acted in it: from the first one's begin to the last one's end."""

    attempts: Path
    start: float
    end: float


class RecoveryObserver(Observer[DisturbedRound]):
    """How rounds went on after faults that ended before the load did."""

    name = "recovery"
    responses = RESPONSES
    tables = MappingProxyType({})

    def read(self, kept: RoundFiles) -> DisturbedRound | None:
        """Return when faults acted in a round; None where none began and ended in it."""
        spans = within(kept.faults)
        if kept.attempts is None or not spans:
            return None
        return DisturbedRound(kept.attempts, min(one.began for one in spans), max(one.ended for one in spans))

    def measured(self, seen: DisturbedRound, settings: Settings) -> Mapping[str, float]:
        """Return whether and when the round recovered, and what calls cost. Raises ObservationError."""
        from patternbench.recovery import calls  # noqa: PLC0415 - every command knows observers; scipy is slow to load

        try:
            found = calls.read(seen.attempts)
        except (OSError, pa.ArrowException) as error:
            raise ObservationError(f"{seen.attempts.name} cannot be read: {error}") from None
        return calls.measured(found, seen.start, seen.end)


def within(spans: Sequence[FaultSpan]) -> list[FaultSpan]:
    """Return those that began after the round did: one of the whole round leaves no time before or after it."""
    return [one for one in spans if one.began > 0]


OBSERVER = RecoveryObserver()
