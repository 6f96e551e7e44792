"""Measurement warnings: conditions of a round under which its numbers may mislead, stored with it."""

from __future__ import annotations

from patternbench.records.journal import Doubt

BUSY_GENERATOR = 0.8
BUSY_MACHINE = 0.97
STOLEN = 0.02


def of_round(generator: float, busy: float, stolen: float, cores: int) -> list[Doubt]:
    """The doubts about a round, from shares of time: the generator's CPU use, the machine's, and what was stolen."""
    found = []
    if generator > BUSY_GENERATOR * cores:
        text = f"the load generator used {generator:.1f} of {cores} cores, so it may have measured itself"
        found.append(Doubt("generator_saturated", text, "use fewer users, or run the system on another machine"))
    if busy > BUSY_MACHINE:
        text = f"the machine was {busy:.0%} busy, so generator and system held each other up"
        found.append(Doubt("machine_saturated", text, "use fewer users, or run the system on another machine"))
    if stolen > STOLEN:
        text = f"{stolen:.0%} of the CPU time went to other machines on this host"
        found.append(Doubt("cpu_stolen", text, "use a machine of your own, or more rounds"))
    return found
