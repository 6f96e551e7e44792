"""Faults in containers: ``where: shop.store`` is the service store of the Compose project shop, ``where: shop`` a
component that runs in a container of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from patternbench.lab.containers import engine
from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.keeper import LOOK
from patternbench.lab.containers.limits import Limit
from patternbench.lab.containers.network import (
    ContainerNetwork,
    chain_of,
    check_addresses,
    losing,
    network_of,
    without,
)
from patternbench.lab.containers.project import project_name
from patternbench.lab.containers.service import ProjectService
from patternbench.lab.containers.states import ContainerState
from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import FaultCounters, FaultSetup
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import Fault


def service_of(fault: Fault, environment: Environment) -> ProjectService | None:
    """Return the service at which a fault acts, of a project or the only one of a container; None for a process."""
    return service_at(fault.where, environment)


def service_at(where: str, environment: Environment) -> ProjectService | None:
    """Return the service at a place, of a project or the only one of a container; None for a process."""
    component, _, service = where.partition(".")
    running = environment.running.get(component)
    if running is None or not (running.declared.container if not service else running.declared.contained):
        return None
    found = engine.of_containers() if not service else engine.find()
    if found is None:
        raise StartError(f"{engine.need().name} is not there any more")
    name = project_name(component, str(running.folder))
    return ProjectService(found, name, service or component, running.folder, running.launch.within.seconds)


@contextmanager
def _told() -> Iterator[None]:
    """Have what an engine refuses end a fault as what processes refuse does."""
    try:
        yield
    except ProjectFailed as error:
        raise StartError(str(error)) from None


@dataclass(frozen=True)
class ServiceFreeze:
    """A service whose containers stand still."""

    service: ProjectService
    setup: FaultSetup

    def begin(self) -> int:
        """Stop its containers; it is frozen when all of them stand."""
        with _told():
            self.service.freeze()
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Let them continue."""
        with _told():
            self.service.wake()
        return self.setup.clock(), {}


@dataclass
class LimitedService:
    """A service whose containers may use less than they were given."""

    service: ProjectService
    setup: FaultSetup
    limit: Limit
    _before: list[ContainerState] = field(default_factory=list, init=False)

    def begin(self) -> int:
        """Change the limit, which acts at once."""
        with _told():
            self._before = self.service.limit(self.limit)
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Give back what they had."""
        with _told():
            self.service.give_back(self.limit, self._before)
        return self.setup.clock(), {}


def limited(fault: Fault, setup: FaultSetup, limit: Limit) -> LimitedService:
    """Return a limit at a service. Raises StartError where the fault acts on something else."""
    return LimitedService(required_service(fault, setup.environment), setup, limit)


def required_service(fault: Fault, environment: Environment) -> ProjectService:
    """Return the service at which a fault acts. Raises StartError where that is something else."""
    service = service_of(fault, environment)
    if service is None:
        raise StartError(f"{fault.kind} acts on containers, and {fault.where} isn't in one")
    return service


@dataclass(frozen=True)
class ServiceCrash:
    """A service whose containers are killed, and started again."""

    service: ProjectService
    setup: FaultSetup

    def begin(self) -> int:
        """Kill its containers; returns when they are gone."""
        with _told():
            self.service.kill()
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Start them again; returns when they are up."""
        with _told():
            self.service.start()
        self.setup.environment.restarted.append(self.service.service)
        return self.setup.clock(), {}


@dataclass(frozen=True)
class InstanceCrash:
    """A component whose container is killed, and that the host starts again in a new one."""

    service: ProjectService
    setup: FaultSetup

    def begin(self) -> int:
        """Kill it; returns when it is gone."""
        self.setup.environment.expect_down(self.service.service)
        with _told():
            self.service.kill()
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Start it again at the same addresses; returns when it is ready."""
        self.setup.environment.restart(self.service.service)
        return self.setup.clock(), {}


@dataclass
class DisconnectedService:
    """A service whose containers have no network."""

    service: ProjectService
    setup: FaultSetup
    component: str
    _before: list[ContainerState] = field(default_factory=list, init=False)

    def begin(self) -> int:
        """Take it off its networks; returns when nothing reaches it any more."""
        with _told():
            self._before = self.service.connected()
            self.service.disconnect(self._before)
        return self.setup.clock()

    def end(self) -> tuple[int, FaultCounters]:
        """Connect it again, and have the fault proxies know of its new addresses."""
        if self._before:
            with _told():
                self.service.connect(self._before)
                self.setup.environment.running[self.component].process.signal(LOOK.name)
                self.service.await_links()
        return self.setup.clock(), {}


def disconnected(fault: Fault, setup: FaultSetup) -> DisconnectedService:
    """Return a service that is off its networks. Raises StartError where the fault acts on something else."""
    return DisconnectedService(required_service(fault, setup.environment), setup, fault.where.partition(".")[0])


@dataclass(frozen=True)
class RestartableService:
    """A service whose containers are asked to end, and started again."""

    service: ProjectService
    setup: FaultSetup

    def ask(self) -> None:
        """Ask it to end; returns when its processes have the signal."""
        with _told():
            self.service.ask_to_end()

    def again(self) -> None:
        """Start it again once it has ended; returns when it is up."""
        with _told():
            self.service.end_and_start()
        self.setup.environment.restarted.append(self.service.service)


@dataclass
class LossyLink:
    """A link between two services on which packets get lost: each end drops a share of those that arrive."""

    ends: tuple[ProjectService, ProjectService]
    percentage: float
    chain: str
    setup: FaultSetup
    _networks: list[ContainerNetwork] = field(default_factory=list, init=False)

    def begin(self) -> int:
        """Have both ends lose packets; returns when both do."""
        with _told():
            there = [end.there() for end in self.ends]
            for own, others in (there, there[::-1]):
                check_addresses(own)
                self._lose(own, [address for one in others for address in one.addresses])
        return self.setup.clock()

    def _lose(self, own: Sequence[ContainerState], addresses: Sequence[str]) -> None:
        for network in map(network_of, own):
            network.write(losing(self.chain, addresses, self.percentage))
            self._networks.append(network)

    def end(self) -> tuple[int, FaultCounters]:
        """Have nothing lost any more; returns how many packets were."""
        dropped, failures = 0, list[str]()
        while self._networks:
            try:
                dropped += self._given_back(self._networks.pop())
            except ProjectFailed as error:
                failures.append(str(error))
        if failures:
            raise StartError("; ".join(failures))
        return self.setup.clock(), {"packets": dropped}

    def _given_back(self, network: ContainerNetwork) -> int:
        if not network.is_there:
            raise ProjectFailed(f"service {network.service} was restarted, and has lost no packets since then")
        dropped = network.dropped(self.chain)
        network.write(without(self.chain, "INPUT", "filter"))
        return dropped


def lossy(fault: Fault, name: str, setup: FaultSetup) -> LossyLink:
    """Return a link that loses packets. Raises StartError where it isn't one between services of a project."""
    caller, called = (service_at(end, setup.environment) for end in fault.link or ("", ""))
    if caller is None or called is None:
        raise StartError(f"{fault.kind} acts between containers, and {fault.where} isn't a link between services")
    return LossyLink((caller, called), fault.chosen.percentage.level, chain_of(f"{name} {fault.where}"), setup)
