"""Freeze: all processes of a component are stopped (SIGSTOP), and continue when it is over (SIGCONT)."""

from __future__ import annotations

from dataclasses import dataclass

from patternbench.lab.faults.act import Act, FaultCounters, Site
from patternbench.lab.faults.family import stop, wake
from patternbench.lab.faults.in_containers import FreezingService, service_of
from patternbench.lab.host.processes import Process
from patternbench.study.faults import Fault


@dataclass(frozen=True)
class Freezing:
    """A stopped component. The guard wakes it before it takes it down."""

    process: Process
    site: Site

    def begin(self) -> int:
        """Stop its processes, also those that start meanwhile; it is frozen when all of them stand."""
        stop(self.process)
        return self.site.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Let all of them continue."""
        wake(self.process)
        return self.site.clock(), {}


def act(fault: Fault, name: str, site: Site) -> Act:
    """By signals to the component's processes, or by the engine of its containers."""
    if service := service_of(fault, site.environment):
        return FreezingService(service, site)
    return Freezing(site.environment.running[fault.where].process, site)
