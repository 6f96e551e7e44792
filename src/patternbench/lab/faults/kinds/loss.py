"""Loss: rules of the kernel in the networks of both ends drop packets that arrive from the other."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, FaultSetup
from patternbench.lab.faults.in_containers import lossy
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By the kernel, in the networks of the containers at both ends."""
    return lossy(fault, name, setup)
