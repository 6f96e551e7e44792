"""Restart: a component is asked to end and started again at once; that takes its time, while the round goes on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.faults.in_containers import RestartableService, service_of
from patternbench.study.faults import Fault


class Restartable(Protocol):
    """Something that can be stopped and started again."""

    def ask(self) -> None:
        """Ask it to end; returns when it has been asked."""

    def again(self) -> None:
        """Start it again once it has ended; returns when it is up."""


@dataclass(frozen=True)
class RestartableComponent:
    """A component of our own."""

    component: str
    setup: FaultSetup

    def ask(self) -> None:
        """Ask it to end, by the signal that it knows."""
        self.setup.environment.expect_down(self.component)
        self.setup.environment.running[self.component].process.ask_to_end()

    def again(self) -> None:
        """Start it again once it has ended, or was killed when its time to end was over."""
        self.setup.environment.restart(self.component)


@dataclass
class RestartAct:
    """A restart that goes on in a thread of its own."""

    of: Restartable
    setup: FaultSetup
    _up: Future[int] | None = field(default=None, init=False)

    def begin(self) -> int:
        """Ask it to end; the rest follows while the round goes on."""
        self.of.ask()
        began, thread = self.setup.clock(), ThreadPoolExecutor(1)
        self._up = thread.submit(self._again)
        thread.shutdown(wait=False)
        return began

    def _again(self) -> int:
        self.of.again()
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Return when it was up again, once it is."""
        return (self._up.result() if self._up else self.setup.clock()), {}


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By the host that started the component, or by the engine of its containers."""
    service = service_of(fault, setup.environment) if "." in fault.where else None
    return RestartAct(
        RestartableService(service, setup) if service else RestartableComponent(fault.where, setup), setup
    )
