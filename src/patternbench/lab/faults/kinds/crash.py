"""Crash: all processes of a component are killed (SIGKILL); when it is over, it is started again."""

from __future__ import annotations

from dataclasses import dataclass

from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.faults.family import kill
from patternbench.lab.faults.in_containers import InstanceCrash, ServiceCrash, service_of
from patternbench.study.faults import Fault

GONE_WITHIN_S = 5.0


@dataclass(frozen=True)
class ComponentCrash:
    """A component that is down, and that the system's owner knows to be so."""

    component: str
    setup: FaultSetup

    def begin(self) -> int:
        """Kill it; returns when its processes have been signalled, which they cannot refuse."""
        self.setup.environment.expect_down(self.component)
        process = self.setup.environment.running[self.component].process
        kill(process)
        moment = self.setup.clock()
        process.ended(GONE_WITHIN_S)
        return moment

    def end(self) -> tuple[int, FaultCounters]:
        """Start it again at the same addresses; returns when it is ready."""
        self.setup.environment.restart(self.component)
        return self.setup.clock(), {}


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By a signal to the component's processes, and by the host that started it; or by the engine of its containers."""
    if service := service_of(fault, setup.environment):
        return ServiceCrash(service, setup) if "." in fault.where else InstanceCrash(service, setup)
    return ComponentCrash(fault.where, setup)
