"""Measurement warnings: conditions of a round under which its numbers may mislead, stored with it."""

from __future__ import annotations

from patternbench.lab.machine import Use
from patternbench.observe.doubt import Doubt
from patternbench.study.models import System

BUSY_GENERATOR = 0.8
BUSY_MACHINE = 0.97
STOLEN = 0.02
NEIGHBOURS = 0.1
"""Share of the machine from which on others than this run are named as what made it busy."""
FEW_CALLS = 100
"""With fewer calls than this the 99th percentile is the slowest of them."""
TARGET_GONE = "target_gone"
NOTHING_SUCCEEDED = "nothing_succeeded"


def of_generator(cpu: float, cores: int) -> list[Doubt]:
    """The doubts about a generator that does not judge itself, from its CPU use in cores."""
    if cpu <= BUSY_GENERATOR * cores:
        return []
    text = f"the load generator used {cpu:.1f} of {cores} cores, so it may have measured itself"
    return [Doubt("generator_saturated", text, "use fewer users, or run the system on another machine")]


def of_calls(calls: int, successes: int) -> list[Doubt]:
    """The doubts about a round of a driver that does not judge itself, from its calls."""
    found = []
    if 0 < calls < FEW_CALLS:
        text = f"the round had {calls} calls, so that its 99th percentile is the slowest of them"
        found.append(Doubt("few_calls", text, "make rounds longer, or look at the median"))
    if calls and not successes:
        remedy = "look at the statuses: whether path, headers and expectations are right, and whether the system works"
        found.append(Doubt(NOTHING_SUCCEEDED, f"not one of {calls:,} calls succeeded", remedy))
    return found


def of_proxy(own: int, rows: int) -> list[Doubt]:
    """The doubt about answers that the fault proxy gave itself, because it found no service behind it or lost it."""
    if not own:
        return []
    text = f"{own:,} of {rows:,} attempts were answered by the fault proxy, which did not reach the service or lost it"
    return [Doubt("answered_by_proxy", text, "see whether the service was up, and whether it closes connections early")]


def of_absence(why: str | None) -> list[Doubt]:
    """The doubt about a round after which the system did not answer any more."""
    if why is None:
        return []
    remedy = "start it again, then type `patternbench resume DIR --retry-invalid --retry-failed`"
    return [Doubt(TARGET_GONE, f"after the round the system was gone: {why}", remedy, invalidates=True)]


def of_trust(system: System) -> list[Doubt]:
    """The doubt about who answered, where a study asks that certificates are not verified."""
    if system.verify is not False:
        return []
    text = "certificates were not verified, so anybody may have answered"
    return [Doubt("certificates_not_verified", text, "name the authority with `ca` instead of `verify: false`")]


def of_machine(use: Use) -> list[Doubt]:
    """The doubts about the machine, from how its CPU time was used in the round."""
    found = []
    if use.busy > BUSY_MACHINE:
        found.append(_neighbours(use) if use.others > NEIGHBOURS else _held_up(use))
    if use.stolen > STOLEN:
        text = f"{use.stolen:.0%} of the CPU time went to other machines on this host"
        found.append(Doubt("cpu_stolen", text, "use a machine of your own, or more rounds"))
    return found


def _held_up(use: Use) -> Doubt:
    text = (
        f"the machine was {use.busy:.0%} busy, {use.own:.0%} with this run's own processes, "
        "so generator and system may have held each other up"
    )
    return Doubt("machine_saturated", text, "use fewer users, or run the system on another machine")


def _neighbours(use: Use) -> Doubt:
    text = (
        f"the machine was {use.busy:.0%} busy, {use.others:.0%} with processes that this run did not start, "
        f"{use.own:.0%} with its own, so others may have held up generator and system"
    )
    return Doubt("machine_shared", text, "end what else runs (`top` names it), then measure again")
