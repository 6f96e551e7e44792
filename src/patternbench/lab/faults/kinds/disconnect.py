"""Disconnect: the engine of its containers takes a service off its networks, and connects it again."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, FaultSetup
from patternbench.lab.faults.in_containers import disconnected
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """Return the act of the engine of its containers."""
    return disconnected(fault, setup)
