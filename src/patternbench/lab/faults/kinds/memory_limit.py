"""Memory limit: the engine of its containers changes what a service may use, and changes it back."""

from __future__ import annotations

from patternbench.lab.containers.limits import Memory
from patternbench.lab.faults.act import Act, FaultSetup
from patternbench.lab.faults.in_containers import limited
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """Return the act of the engine of its containers."""
    return limited(fault, setup, Memory(fault.chosen.size.level.bytes))
