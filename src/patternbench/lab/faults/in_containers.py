"""Faults at a service of a Compose project: ``where: shop.store`` is the service store of the component shop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from patternbench.lab.containers import engine
from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.limits import Limit
from patternbench.lab.containers.project import project_name
from patternbench.lab.containers.service import ProjectService
from patternbench.lab.containers.states import ContainerState
from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import FaultCounters, Site
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import Fault


def service_of(fault: Fault, environment: Environment) -> ProjectService | None:
    """Return the service of a project at which a fault acts; None for a fault at a component of our own."""
    component, _, service = fault.where.partition(".")
    running = environment.running.get(component)
    if not service or running is None or not running.declared.contained:
        return None
    found = engine.find()
    if found is None:
        raise StartError(f"{engine.need().name} is not there any more")
    name = project_name(component, str(running.folder))
    return ProjectService(found, name, service, running.folder, running.launch.within.seconds)


@contextmanager
def _told() -> Iterator[None]:
    """Have what an engine refuses end a fault as what processes refuse does."""
    try:
        yield
    except ProjectFailed as error:
        raise StartError(str(error)) from None


@dataclass(frozen=True)
class FreezingService:
    """A service whose containers stand still."""

    service: ProjectService
    site: Site

    def begin(self) -> int:
        """Stop its containers; it is frozen when all of them stand."""
        with _told():
            self.service.freeze()
        return self.site.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Let them continue."""
        with _told():
            self.service.wake()
        return self.site.clock(), {}


@dataclass
class LimitedService:
    """A service whose containers may use less than they were given."""

    service: ProjectService
    site: Site
    limit: Limit
    _before: list[ContainerState] = field(default_factory=list, init=False)

    def begin(self) -> int:
        """Change the limit, which acts at once."""
        with _told():
            self._before = self.service.limit(self.limit)
        return self.site.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Give back what they had."""
        with _told():
            self.service.give_back(self.limit, self._before)
        return self.site.clock(), {}


def limited(fault: Fault, site: Site, limit: Limit) -> LimitedService:
    """Return a limit at a service. Raises StartError where the fault acts on something else."""
    service = service_of(fault, site.environment)
    if service is None:
        raise StartError(f"{fault.kind} acts on containers, and {fault.where} isn't a service of a Compose project")
    return LimitedService(service, site, limit)


@dataclass(frozen=True)
class CrashingService:
    """A service whose containers are killed, and started again."""

    service: ProjectService
    site: Site

    def begin(self) -> int:
        """Kill its containers; returns when they are gone."""
        with _told():
            self.service.kill()
        return self.site.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Start them again; returns when they are up."""
        with _told():
            self.service.start()
        self.site.environment.restarted.append(self.service.service)
        return self.site.clock(), {}
