"""Measurement warnings: conditions of a round under which its numbers may mislead, stored with it."""

from __future__ import annotations

from patternbench.records.journal import Doubt

BUSY_GENERATOR = 0.8
BUSY_MACHINE = 0.97
STOLEN = 0.02


def of_generator(cpu: float, cores: int) -> list[Doubt]:
    """The doubts about a generator that does not judge itself, from its CPU use in cores."""
    if cpu <= BUSY_GENERATOR * cores:
        return []
    text = f"the load generator used {cpu:.1f} of {cores} cores, so it may have measured itself"
    return [Doubt("generator_saturated", text, "use fewer users, or run the system on another machine")]


def of_machine(busy: float, stolen: float) -> list[Doubt]:
    """The doubts about the machine, from shares of time: how busy it was, and what other machines took."""
    found = []
    if busy > BUSY_MACHINE:
        text = f"the machine was {busy:.0%} busy, so generator and system held each other up"
        found.append(Doubt("machine_saturated", text, "use fewer users, or run the system on another machine"))
    if stolen > STOLEN:
        text = f"{stolen:.0%} of the CPU time went to other machines on this host"
        found.append(Doubt("cpu_stolen", text, "use a machine of your own, or more rounds"))
    return found
