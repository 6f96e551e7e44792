"""Freeze: all processes of a component are stopped (SIGSTOP), and continue when it is over (SIGCONT)."""

from __future__ import annotations

from dataclasses import dataclass

from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.faults.family import stop, wake
from patternbench.lab.faults.in_containers import ServiceFreeze, service_of
from patternbench.lab.host.processes import Process
from patternbench.study.faults import Fault


@dataclass(frozen=True)
class ComponentFreeze:
    """A stopped component. The guard wakes it before it takes it down."""

    process: Process
    setup: FaultSetup

    def begin(self) -> int:
        """Stop its processes, also those that start meanwhile; it is frozen when all of them stand."""
        stop(self.process)
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Let all of them continue."""
        wake(self.process)
        return self.setup.clock(), {}


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By signals to the component's processes, or by the engine of its containers."""
    if service := service_of(fault, setup.environment):
        return ServiceFreeze(service, setup)
    return ComponentFreeze(setup.environment.running[fault.where].process, setup)
