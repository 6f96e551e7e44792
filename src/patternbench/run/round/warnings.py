"""Measurement warnings: conditions of a round under which its numbers may mislead, stored with it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence

from patternbench.analyze.warmth import Drift
from patternbench.drivers.driver import DrivenRound
from patternbench.lab.machine import MachineUse
from patternbench.observe.warning import RoundWarning
from patternbench.records.journal import ActedFault, Entry
from patternbench.study.faults import Fault
from patternbench.study.model.system import System
from patternbench.terms.units import Duration

BUSY_GENERATOR = 0.8
BUSY_MACHINE = 0.97
STOLEN = 0.02
NEIGHBOURS = 0.1
"""Share of the machine from which on others than this run are named as what made it busy."""
FEW_CALLS = 100
"""With fewer calls than this the 99th percentile is the slowest of them."""
TARGET_GONE = "target_gone"
NOT_STARTED = "not_started"
NOTHING_SUCCEEDED = "nothing_succeeded"
NO_CALL = "no_call"
LATE_FAULT_US = 50_000
"""How much later than a study says a fault may begin before that is worth a word."""
INEXACT_SHARE, INEXACT_US = 0.1, 100
"""How much longer than its level a delay may be on average: a tenth, or a delay of the scheduler."""


def of_load(measured: DrivenRound, use: MachineUse, seconds: float) -> list[RoundWarning]:
    """Return the warnings about the load and the machine.

    A driver may judge its load itself; else it is judged here.
    """
    if measured.warnings is not None:
        own = [*measured.warnings] if measured.calls else [*measured.warnings, no_call()]
    else:
        own = of_generator(measured.cpu_seconds / max(seconds, 1e-9), os.cpu_count() or 1)
        own += of_calls(measured.calls, measured.successes)
    return own + of_machine(use)


def of_generator(cpu: float, cores: int) -> list[RoundWarning]:
    """Return the warnings about a generator that does not judge itself, from its CPU use in cores."""
    if cpu <= BUSY_GENERATOR * cores:
        return []
    text = f"the load generator used {cpu:.1f} of {cores} cores, so it may have measured itself"
    return [RoundWarning("generator_saturated", text, "use fewer users, or run the system on another machine")]


def of_calls(calls: int, successes: int) -> list[RoundWarning]:
    """Return the warnings about a round of a driver that does not judge itself, from its calls."""
    warnings = []
    if not calls:
        warnings.append(no_call())
    if 0 < calls < FEW_CALLS:
        text = f"the round had only {calls} calls, so its 99th percentile is the slowest of them"
        warnings.append(RoundWarning("few_calls", text, "make rounds longer, or look at the median"))
    if calls and not successes:
        remedy = "look at the statuses, and check path, headers, expectations and the system"
        warnings.append(RoundWarning(NOTHING_SUCCEEDED, f"not one of {calls:,} calls succeeded", remedy))
    return warnings


def no_call() -> RoundWarning:
    """Return the warning about a round in which nothing was asked of the service: nothing is known of it."""
    remedy = "look at the workload's times and its warm-up; a client must report each of its attempts"
    return RoundWarning(NO_CALL, "no call was made", remedy, invalidates=True)


def of_proxy(own: int, rows: int) -> list[RoundWarning]:
    """Return the warning about answers of the fault proxy itself, which didn't reach the service or lost it."""
    if not own:
        return []
    why = "because it didn't reach the service or lost the connection to it"
    text = f"{own:,} of {rows:,} attempts were answered by the fault proxy, {why}"
    return [
        RoundWarning(
            "answered_by_proxy", text, "check that the service was up, and that it doesn't close connections early"
        )
    ]


def of_faults(faults: Mapping[str, Fault], acted: Sequence[ActedFault], measured_from_us: int) -> list[RoundWarning]:
    """Return the warnings about faults that did not act as the scenario says.

    The warm-up ends at ``measured_from_us``.
    """
    warnings = []
    for name, fault in faults.items():
        mine = [act for act in acted if act.name == name]
        warnings += [
            *_missing(name, fault, mine),
            *_late(name, fault, mine, measured_from_us),
            *_inexact(name, fault, mine),
        ]
    return warnings


def _missing(name: str, fault: Fault, acted: Sequence[ActedFault]) -> Iterator[RoundWarning]:
    """Yield warnings about windows beyond the round's end, whose printed level isn't the one that acted."""
    if fault.acts and len(acted) < len(fault.windows):
        text = f"fault {name} began {len(acted)} times before the round ended, not {len(fault.windows)} times"
        yield RoundWarning("fault_never_began", text, "make rounds longer, or let it begin earlier", invalidates=True)


def _late(name: str, fault: Fault, acted: Sequence[ActedFault], measured_from_us: int) -> Iterator[RoundWarning]:
    pairs = zip(acted, sorted(fault.windows, key=lambda window: window.begins_us), strict=False)
    late_us = max((act.began_us - measured_from_us - window.begins_us for act, window in pairs), default=0)
    if late_us > LATE_FAULT_US:
        text = f"fault {name} began {late_us / 1000:.0f} ms late"
        yield RoundWarning("fault_late", text, "end other programs, or let it begin later in the round")


def _inexact(name: str, fault: Fault, acted: Sequence[ActedFault]) -> Iterator[RoundWarning]:
    """Yield warnings about delays of another length than their level, as the fault proxy woke late."""
    late_us = max((act.deeds.get("late_mean_us", 0.0) for act in acted), default=0.0)
    if fault.kind == "delay" and late_us > max(INEXACT_SHARE * fault.chosen.duration.level.us, INEXACT_US):
        text = f"fault {name} held requests back {late_us:,.0f} us longer than its level, on average"
        yield RoundWarning("fault_inexact", text, "end other programs, or use longer delays")


def of_warmth(drift: Drift | None, warm_up: Duration, requests: int | None = None) -> list[RoundWarning]:
    """Give the warning about a round whose first part was slower, with the warm-up that would have been long enough."""
    if drift is None:
        return []
    text = f"attempts in the round's first quarter took {drift.ratio:.2f} times as long as in its second half"
    longer = math.ceil(warm_up.seconds + drift.seconds)
    expected = f"{{requests: {requests + drift.attempts}}}" if requests else f"{longer}s"
    return [RoundWarning("warm_up_drift", text, f"the service was not warm yet: set `warm_up: {expected}`")]


def of_failed_start() -> list[RoundWarning]:
    """Return the warning about a round whose system or client did not come up, which so has no result."""
    remedy = "read the cause, and try `patternbench try STUDY` after a change"
    return [RoundWarning(NOT_STARTED, "the system or its client did not come up", remedy)]


def is_failed_start(entry: Entry) -> bool:
    """Whether a round failed because its system or client did not come up."""
    return any(warning.kind == NOT_STARTED for warning in entry.doubts)


def of_absence(why: str | None) -> list[RoundWarning]:
    """Return the warning about a round after which the system did not answer any more."""
    if why is None:
        return []
    remedy = "start it again, then type `patternbench resume DIR --retry-invalid --retry-failed`"
    return [RoundWarning(TARGET_GONE, f"the system was gone after the round: {why}", remedy, invalidates=True)]


def of_trust(system: System) -> list[RoundWarning]:
    """Return the warning about who answered, where a study asks that certificates are not verified."""
    if system.verified:
        return []
    text = "certificates were not verified, so anybody may have answered"
    return [RoundWarning("certificates_not_verified", text, "name the authority with `ca` instead of `verify: false`")]


def of_limits(refused: Mapping[str, str]) -> list[RoundWarning]:
    """Return the warnings about components that ran without the limits that their system file gives them."""
    remedy = "measure on a machine with writable control groups (version 2), or leave the limit out"
    return [
        RoundWarning("limit_not_enforced", f"the limits of {name} did not act: {why}", remedy)
        for name, why in refused.items()
    ]


def of_cut_logs(names: Sequence[str]) -> list[RoundWarning]:
    """Return the warnings about components that have written more than a log keeps."""
    text = "{} has written so much that the middle of logs/{}.log is left out, and writing costs time"
    remedy = "have it log less (its log level, its access log), or to a file of its own"
    return [RoundWarning("log_cut", text.format(name, name), remedy) for name in names]


def of_notes(notes: Mapping[str, Sequence[str]]) -> list[RoundWarning]:
    """Return the warnings that components have announced of themselves, such as a container that has ended."""
    remedy = "see logs/{}.log, and change the Compose file if this should not be"
    return [
        RoundWarning("component_note", text, remedy.format(name)) for name, of_it in notes.items() for text in of_it
    ]


def of_carried_over(stores: Mapping[str, Sequence[str]]) -> list[RoundWarning]:
    """Return the warnings about stores that began a round with state of the one before, with their resets."""
    text = "{} began the round with data of earlier rounds"
    remedy = "write `reset: {}` in its entry of the system file, or `reset: none` if that doesn't matter"
    return [RoundWarning("carried_over", text.format(name), remedy.format(words[0])) for name, words in stores.items()]


def of_still_busy(why: str) -> list[RoundWarning]:
    """Return the warning about a round that began while the system may have been busy with the one before, and why."""
    if not why:
        return []
    text = f"the round may have begun with work of the one before: {why}"
    remedy = "bound what waits in the service, offer less load, or write how it is reset (`reset` in a system file)"
    return [RoundWarning("still_busy", text, remedy)]


def of_machine(use: MachineUse) -> list[RoundWarning]:
    """Return the warnings about the machine, from how its CPU time was used in the round."""
    warnings = []
    if use.busy > BUSY_MACHINE:
        warnings.append(_neighbours(use) if use.others > NEIGHBOURS else _held_up(use))
    if use.stolen > STOLEN:
        text = f"{use.stolen:.0%} of the CPU time went to other machines on this host"
        warnings.append(RoundWarning("cpu_stolen", text, "use a dedicated machine, or more rounds"))
    return warnings


def _held_up(use: MachineUse) -> RoundWarning:
    text = (
        f"the machine was {use.busy:.0%} busy, {use.own:.0%} with this run's own processes, "
        "so generator and system may have slowed each other down"
    )
    return RoundWarning("machine_saturated", text, "use fewer users, or run the system on another machine")


def _neighbours(use: MachineUse) -> RoundWarning:
    text = (
        f"the machine was {use.busy:.0%} busy, {use.others:.0%} with processes that this run did not start, "
        f"{use.own:.0%} with its own, so others may have slowed down generator and system"
    )
    return RoundWarning("machine_shared", text, "end other programs (`top` names them), then measure again")
