"""Observers' records of rounds, and their reading of them afterwards (observe/seam.py)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from patternbench.observe.registry import observers
from patternbench.observe.seam import FaultSpan, ObservationError, Observer, RoundFiles, Seen, Settings
from patternbench.observe.warning import RoundWarning
from patternbench.records import component_logs, stored
from patternbench.records.folder import RunFolder, replace_durably
from patternbench.records.journal import ActedFault

US_PER_S = 1e6


def draft(run: RunFolder, round_name: str) -> Path:
    """Where observers write while a round is measured: one folder each, none of which exists yet."""
    folder = run.observed_of(f"{round_name}.tmp")
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def keep(run: RunFolder, round_name: str) -> None:
    """Keep what observers wrote in the draft of a round, if any did; raises OSError when the disk is full."""
    written, kept = run.observed_of(f"{round_name}.tmp"), run.observed_of(round_name)
    if written.is_dir():
        shutil.rmtree(kept, ignore_errors=True)
        replace_durably(written, kept)


def read(
    run: RunFolder,
    round_name: str,
    observer: Observer[Seen],
    counting: str = "",
    faults: Sequence[ActedFault] = (),
) -> Seen | None:
    """Return an observer's observations of a round; None if there are none. Raises ObservationError.

    ``counting`` names the counting pass of its scenario, where there is one. ``faults`` are those that acted.
    """
    passed = run.observed_of(counting) / observer.name if counting else None
    own, attempts = run.observed_of(round_name) / observer.name, run.attempts_of(round_name)
    spans = [FaultSpan(one.began_us / US_PER_S, one.ended_us / US_PER_S) for one in faults]
    return observer.read(RoundFiles(component_logs.kept_of(run, round_name), own, attempts, passed, spans))


def warnings(run: RunFolder, round_name: str, faults: Sequence[ActedFault] = ()) -> list[RoundWarning]:
    """Why the numbers of a round may mislead, as its observers say. Raises ObservationError.

    ``faults`` are those that acted.
    """
    seen = [(observer, read(run, round_name, observer, faults=faults)) for observer in observers()]
    return [warning for observer, what in seen if what is not None for warning in observer.warnings(what)]


def measured(
    run: RunFolder, round_name: str, settings: Settings, counting: str = "", faults: Sequence[ActedFault] = ()
) -> dict[str, float]:
    """Return the responses of the observers that saw something in a round, by name. Raises ObservationError.

    ``counting`` names the counting pass of its scenario, where there is one. ``faults`` are those that acted.
    """
    values: dict[str, float] = {}
    for observer in observers():
        what = read(run, round_name, observer, counting, faults)
        if what is not None:
            values |= observer.measured(what, settings)
    return values


def damage(run: RunFolder, round_name: str) -> Iterator[str]:
    """Yield the problems of observers' records of a round."""
    for observer in observers():
        try:
            read(run, round_name, observer)
        except ObservationError as error:
            yield str(error)


def settings(run: RunFolder) -> dict[str, Settings]:
    """Return the settings of the system under test in each scenario of a run's plan, by the scenario's id."""
    return {scenario.id: scenario.config.settings for scenario in stored.plan(run).scenarios}
