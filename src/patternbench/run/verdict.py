"""Whether the rounds of a run are those that its study asked for, which decides the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patternbench.observe.doubt import NOTHING_SEEN, Doubt
from patternbench.plan.scenarios import Scenario
from patternbench.records import damage
from patternbench.records.journal import Entry
from patternbench.run.prepared_run import PreparedRun
from patternbench.run.round.doubts import NO_CALL, NOT_STARTED, NOTHING_SUCCEEDED


def lacking(prepared: PreparedRun, entries: Sequence[Entry]) -> list[str]:
    """What a run lacks apart from failed rounds, in sentences; nothing if it is what the study asked for."""
    scenarios = {scenario.id: scenario for scenario in prepared.plan.scenarios}
    return [
        *_stopped(prepared, entries),
        *_without_valid(scenarios, entries),
        *_idle(entries),
        *_nothing_good(scenarios, entries),
    ]


def _stopped(prepared: PreparedRun, entries: Sequence[Entry]) -> list[str]:
    left = len(prepared.rounds) - len(entries)
    if left <= 0:
        return []
    outside = [] if entries else list(damage.counting_passes(prepared.folder).values())
    last = max([*entries, *outside], key=lambda entry: entry.started, default=None)
    why = next((doubt for doubt in reversed(last.doubts) if _stops_for(doubt)), None) if last else None
    cause = f": {why.message}; {why.remedy.replace('DIR', str(prepared.folder.path))}" if why else ""
    return [f"the run was stopped with {left} of {len(prepared.rounds)} rounds to go{cause}"]


def _stops_for(doubt: Doubt) -> bool:
    """Whether a run may have been stopped for a doubt of its last round or counting pass."""
    return doubt.invalidates or doubt.kind in (NOT_STARTED, NOTHING_SEEN)


def _without_valid(scenarios: Mapping[str, Scenario], entries: Sequence[Entry]) -> list[str]:
    """Scenarios of which rounds were run, and only such that are not valid: nothing is known of them."""
    bare = {entry.scenario for entry in entries if not entry.valid} - {e.scenario for e in entries if e.counts}
    return [f"{len(bare)} of {len(scenarios)} scenarios have no valid round"] if bare else []


def _idle(entries: Sequence[Entry]) -> list[str]:
    """Rounds in which no call was made."""
    count = sum(any(doubt.kind == NO_CALL for doubt in entry.doubts) for entry in entries)
    return [f"in {count} rounds no call was made"] if count else []


def _nothing_good(scenarios: Mapping[str, Scenario], entries: Sequence[Entry]) -> list[str]:
    """Rounds in which every call failed although no fault was injected."""
    count = sum(_bad(entry) and not _faulty(scenarios[entry.scenario]) for entry in entries)
    return [f"in {count} rounds every call failed, and no fault was injected"] if count else []


def _bad(entry: Entry) -> bool:
    return any(doubt.kind == NOTHING_SUCCEEDED for doubt in entry.doubts)


def _faulty(scenario: Scenario) -> bool:
    return any(fault.acts for fault in scenario.faults)
