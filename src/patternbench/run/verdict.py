"""Whether the rounds of a run are those that its study asked for, which decides the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patternbench.observe.warning import NOTHING_SEEN, RoundWarning
from patternbench.plan.doses import configurations, dose_field
from patternbench.plan.order import Round
from patternbench.plan.scenarios import Scenario
from patternbench.records import damage
from patternbench.records.journal import Entry
from patternbench.run.prepared_run import PreparedRun
from patternbench.run.round.warnings import NO_CALL, NOT_STARTED, NOTHING_SUCCEEDED
from patternbench.run.stopping_early import out_of_reach


def lacking(prepared: PreparedRun, entries: Sequence[Entry]) -> list[str]:
    """Return what a run lacks apart from failed rounds, in sentences; nothing if it is what the study asked for."""
    scenarios = {scenario.id: scenario for scenario in prepared.plan.scenarios}
    return [
        *_untried_rounds(prepared, entries),
        *_stopped(prepared, entries),
        *_without_valid(_wholes(prepared), entries),
        *_idle(entries),
        *_nothing_good(scenarios, entries),
    ]


def _untried_rounds(prepared: PreparedRun, entries: Sequence[Entry]) -> list[str]:
    """Return rounds that were left out because what they need never came up, while others were run."""
    count = len(_unreachable_rounds(prepared, entries))
    why, was = "their system or client did not come up in the rounds before", "was" if count == 1 else "were"
    return [f"{count} of {len(prepared.rounds)} rounds {was} not tried: {why}"] if count else []


def _unreachable_rounds(prepared: PreparedRun, entries: Sequence[Entry]) -> list[Round]:
    scenarios = {scenario.id: scenario for scenario in prepared.plan.scenarios}
    beyond = {name for name, one in scenarios.items() if out_of_reach(one, scenarios.values(), entries)}
    if not 0 < len(beyond) < len(scenarios):
        return []
    ended = {(entry.round, entry.scenario) for entry in entries}
    return [one for one in prepared.rounds if one.scenario in beyond and (one.index, one.scenario) not in ended]


def _stopped(prepared: PreparedRun, entries: Sequence[Entry]) -> list[str]:
    left = len(prepared.rounds) - len(entries) - len(_unreachable_rounds(prepared, entries))
    if left <= 0:
        return []
    outside = [] if entries else list(damage.counting_passes(prepared.folder).values())
    last = max([*entries, *outside], key=lambda entry: entry.started, default=None)
    why = next((warning for warning in reversed(last.doubts) if _stops_for(warning)), None) if last else None
    cause = f": {why.message}; {why.remedy.replace('DIR', str(prepared.folder.path))}" if why else ""
    return [f"the run was stopped with {left} of {len(prepared.rounds)} rounds to go{cause}"]


def _stops_for(warning: RoundWarning) -> bool:
    """Whether a run may have been stopped for a warning of its last round or counting pass."""
    return warning.invalidates or warning.kind in (NOT_STARTED, NOTHING_SEEN)


def _wholes(prepared: PreparedRun) -> dict[str, str]:
    """Of which whole each scenario is a part: itself, or in a search the configuration, whatever the dose."""
    study, scenarios = prepared.study, prepared.plan.scenarios
    if study.boundary is None:
        return {scenario.id: scenario.id for scenario in scenarios}
    searched = configurations(scenarios, dose_field(study, study.boundary).factor)
    return {scenario: one.key for one in searched for scenario in one.scenarios.values()}


def _without_valid(wholes: Mapping[str, str], entries: Sequence[Entry]) -> list[str]:
    """Scenarios of which rounds were run, and only such that are not valid: nothing is known of them."""
    known = {wholes[entry.scenario] for entry in entries if entry.counts}
    bare = {wholes[entry.scenario] for entry in entries if not entry.valid} - known
    verb = "has" if len(bare) == 1 else "have"
    return [f"{len(bare)} of {_plural(len({*wholes.values()}), 'scenario')} {verb} no valid round"] if bare else []


def _idle(entries: Sequence[Entry]) -> list[str]:
    """Return rounds in which no call was made."""
    count = sum(any(warning.kind == NO_CALL for warning in entry.doubts) for entry in entries)
    return [f"in {_plural(count, 'round')} no call was made"] if count else []


def _nothing_good(scenarios: Mapping[str, Scenario], entries: Sequence[Entry]) -> list[str]:
    """Return rounds in which every call failed although no fault was injected."""
    count = sum(_bad(entry) and not _faulty(scenarios[entry.scenario]) for entry in entries)
    return [f"in {_plural(count, 'round')} every call failed, and no fault was injected"] if count else []


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _bad(entry: Entry) -> bool:
    return any(warning.kind == NOTHING_SUCCEEDED for warning in entry.doubts)


def _faulty(scenario: Scenario) -> bool:
    return any(fault.acts for fault in scenario.faults)
