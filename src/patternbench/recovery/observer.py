"""The observer of recovery: it watches nothing itself, and judges a round's attempts by when faults acted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pandas as pd
import pyarrow as pa

from patternbench.observe.seam import FaultSpan, ObservationError, Observer, RoundFiles, Settings
from patternbench.observe.warning import RoundWarning
from patternbench.recovery import logs
from patternbench.recovery.analyze import answers
from patternbench.recovery.responses import RESPONSES, WASTED


@dataclass(frozen=True)
class DisturbedRound:
    """A round's attempts, when faults acted in it (from the first one's begin to the last one's end), and its logs."""

    attempts: Path
    start: float
    end: float
    logs: Mapping[str, Sequence[Path]] = field(default_factory=dict)


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
        began, ended = min(one.began for one in spans), max(one.ended for one in spans)
        return DisturbedRound(kept.attempts, began, ended, kept.logs)

    def measured(self, seen: DisturbedRound, settings: Settings) -> Mapping[str, float]:
        """Return whether and when the round recovered, and what calls cost. Raises ObservationError."""
        from patternbench.recovery import calls  # noqa: PLC0415 - every command knows observers; scipy is slow to load

        try:
            found = calls.read(seen.attempts)
        except (OSError, pa.ArrowException) as error:
            raise ObservationError(f"{seen.attempts.name} cannot be read: {error}") from None
        measured, done = calls.measured(found, seen.start, seen.end), _worked_on(seen)
        work = None if done is None else answers.wasted(done)
        return measured if work is None else {**measured, WASTED.name: work}

    def warnings(self, seen: DisturbedRound) -> Sequence[RoundWarning]:
        """Return that the target stood longer than its fault lasted: then its end was not that of the disturbance."""
        done, lasted = _worked_on(seen), seen.end - seen.start
        stood = None if done is None else answers.stood_still(done, lasted)
        if stood is None:
            return []
        message = f"the target stood still for {stood:.2f} s, and the fault acted for {lasted:.2f} s"
        return [
            RoundWarning(
                "trigger_lasted", message, "what follows its end is also what it left behind; free the machine"
            )
        ]


def _worked_on(seen: DisturbedRound) -> pd.DataFrame | None:
    """Return what targets worked on, from the logs of a round. Raises ObservationError."""
    try:
        return logs.read(seen.logs)
    except (OSError, ValueError) as error:
        raise ObservationError(f"the log of answers of {seen.attempts.stem} cannot be read: {error}") from None


def within(spans: Sequence[FaultSpan]) -> list[FaultSpan]:
    """Return those that began after the round did: one of the whole round leaves no time before or after it."""
    return [one for one in spans if one.began > 0]


OBSERVER = RecoveryObserver()
