"""The fault proxies on links between services of a project: one in the network of each container of the caller.

Rules there have the caller's connections to the called service pass the proxy, which passes them on to where they were
meant for: whatever name or port the caller uses, the called service sees its address as ever. The keeper of the project
places them as soon as the containers run, and again in those that were restarted. They end with the keeper, and the
rules with the containers. A file in the project's folder says where each proxy takes orders.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.network import (
    MARK,
    RUNS,
    ContainerNetwork,
    chain_of,
    check_addresses,
    network_of,
    redirecting,
)
from patternbench.lab.containers.states import ContainerState
from patternbench.lab.software import engine
from patternbench.lab.topology import Link

PLACED = "links.json"
ENDS_S = 5.0


@dataclass(frozen=True)
class InnerLink:
    """A link from a service of a project to another one, as words of the keeper: ``web:store``."""

    caller: str
    called: str

    def __str__(self) -> str:
        return f"{self.caller}:{self.called}"

    @staticmethod
    def parse(text: str) -> InnerLink:
        """Return the link that a word stands for."""
        caller, _, called = text.partition(":")
        return InnerLink(caller, called)

    @property
    def chain(self) -> str:
        """The name of the chain of its rules."""
        return chain_of(str(self))


def project_of(link: Link) -> str:
    """Return the component of an inner link: shop for ``shop.web -> shop.store``."""
    return link.consumer.partition(".")[0]


def inner(link: Link) -> InnerLink:
    """Return a link between services as the project knows it, without the component's name."""
    return InnerLink(*(end.partition(".")[2] for end in (link.consumer, link.producer)))


def keeper_words(link: Link) -> tuple[str, ...]:
    """Return how the keeper of a project is told to have fault proxies on a link."""
    return "--link", str(inner(link))


class PlacedProxy(BaseModel):
    """A proxy in a container that has been ``started`` at a time: the called addresses, and where it takes orders."""

    model_config = ConfigDict(frozen=True)
    link: str
    container: str
    started: str
    addresses: tuple[str, ...]
    admin: str


class ProxiedLinks(BaseModel):
    """The proxies on the links of a project. A link without any is one whose containers don't run."""

    model_config = ConfigDict(frozen=True)
    links: tuple[str, ...] = ()
    places: tuple[PlacedProxy, ...] = ()

    @staticmethod
    def read(folder: Path) -> ProxiedLinks:
        """Return what the file of a project says; nothing where no fault needs any."""
        with suppress(OSError, ValueError):
            return ProxiedLinks.model_validate_json((folder / PLACED).read_text(encoding="utf-8"))
        return ProxiedLinks()

    def write(self, folder: Path) -> None:
        """Replace the file, so that no one reads a half of it."""
        new = folder / f"{PLACED}.new"
        new.write_text(self.model_dump_json(), encoding="utf-8")
        new.replace(folder / PLACED)

    def admins(self, link: InnerLink) -> list[str]:
        """Return where the proxies on a link take orders."""
        return [place.admin for place in self.places if place.link == str(link)]

    def lacking(self, there: Sequence[ContainerState]) -> list[str]:
        """Return the links that miss a proxy in a container of the caller, or the addresses that are called now."""
        have = {(place.link, place.container, place.started, place.addresses) for place in self.places}
        links = list(map(InnerLink.parse, self.links))
        return [
            str(link)
            for link in links
            for caller in running(there, link.caller)
            if (str(link), caller.id, caller.started, addresses(there, link.called)) not in have
        ]


def running(there: Sequence[ContainerState], service: str) -> list[ContainerState]:
    """Return the containers of a service that run."""
    return [one for one in there if one.service == service and one.status in RUNS]


def addresses(there: Sequence[ContainerState], service: str) -> tuple[str, ...]:
    """Return the addresses of a service's containers that run, in order."""
    return tuple(sorted(address for one in running(there, service) for address in one.addresses))


@dataclass
class LinkProxy:
    """A proxy that runs in the network of a container, and the addresses whose connections pass it."""

    link: InnerLink
    caller: ContainerState
    network: ContainerNetwork
    process: subprocess.Popen[bytes]
    port: int
    admin: str
    addresses: tuple[str, ...] = ()

    def redirect(self, called: tuple[str, ...]) -> None:
        """Have connections to some addresses pass it. Raises ProjectFailed."""
        first = not self.addresses
        self.network.write(redirecting(self.link.chain, called, self.port, first=first))
        if first:
            self.network.reset(called)
        self.addresses = called

    @property
    def place(self) -> PlacedProxy:
        """What the project's file says of it."""
        known = (self.caller.id, self.caller.started, self.addresses, self.admin)
        return PlacedProxy(
            link=str(self.link), container=known[0], started=known[1], addresses=known[2], admin=known[3]
        )

    def end(self) -> None:
        """End the proxy."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDS_S)
        self.process.kill()
        self.process.wait()


class ProxyPlaces(BaseModel):
    """Where a proxy listens, and where it takes orders."""

    listening: str
    admin: str


class ProxyReadyLine(BaseModel):
    """What a proxy prints when it is ready."""

    ready: ProxyPlaces


def started(link: InnerLink, caller: ContainerState) -> LinkProxy:
    """Return a proxy that runs in the network of a container. Raises ProjectFailed, and says why."""
    network = network_of(caller)
    command = [engine.binary(), "fault-proxy", "--network", network.file, "--mark", str(MARK)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        ready = ProxyReadyLine.model_validate_json(process.stdout.readline()).ready
        port = int(ready.listening.rpartition(":")[2])
        return LinkProxy(link, caller, network, process, port, f"tcp://{ready.admin}")
    except ValueError:
        process.kill()
        process.wait()
        raise ProjectFailed(f"the fault proxy on the link {link.caller} -> {link.called} did not start") from None


Starter = Callable[[InnerLink, ContainerState], LinkProxy]


@dataclass
class LinkProxies:
    """The proxies on all links of a project that faults of a study act on; ``folder`` is the project's."""

    links: Sequence[InnerLink]
    folder: Path
    start: Starter = started
    wrong: str = ""
    """Why a proxy could not be placed at the last look: for good, or since its container has ended meanwhile."""
    _proxies: dict[tuple[InnerLink, str, str], LinkProxy] = field(default_factory=dict)

    def place(self, there: Sequence[ContainerState]) -> None:
        """Have a proxy on each link in each container of its caller that runs now; what could not be is ``wrong``."""
        wanted = {(link, one.id, one.started): one for link in self.links for one in running(there, link.caller)}
        gone = self._proxies.keys() - wanted.keys()
        for key in gone:
            self._proxies.pop(key).end()
        self.wrong = ""
        renewed = [self._tried(key[0], one, there) for key, one in wanted.items()]
        if gone or any(renewed):
            self.write()

    def _tried(self, link: InnerLink, caller: ContainerState, there: Sequence[ContainerState]) -> bool:
        """Whether a proxy had to be placed, or its rules to be changed, and could be."""
        try:
            return self._renewed(link, caller, there)
        except ProjectFailed as error:
            self.wrong = str(error)
            return False

    def _renewed(self, link: InnerLink, caller: ContainerState, there: Sequence[ContainerState]) -> bool:
        """Place a proxy, or have other connections pass it, where that is not so yet; whether it was not."""
        called = addresses(there, link.called)
        check_addresses(running(there, link.called))
        key = (link, caller.id, caller.started)
        if not called or (key in self._proxies and self._proxies[key].addresses == called):
            return False
        if key not in self._proxies:
            self._proxies[key] = self.start(link, caller)
        self._proxies[key].redirect(called)
        return True

    def write(self) -> None:
        """Say in the project's file where the proxies are."""
        places = tuple(proxy.place for proxy in self._proxies.values())
        ProxiedLinks(links=tuple(map(str, self.links)), places=places).write(self.folder)

    def check_ends(self, there: Sequence[ContainerState]) -> None:
        """Raise ProjectFailed where a link has no proxy: a service isn't there, doesn't run, or can't be entered."""
        services = _by_service(there)
        for link in self.links:
            for name in (link.caller, link.called):
                if name not in services:
                    raise ProjectFailed(f"the project has no service `{name}`; it has {', '.join(services) or 'none'}")
                if not running(there, name):
                    raise ProjectFailed(f"service {name} is {services[name]}, so no fault can be on a link of it")
            if not addresses(there, link.called):
                raise ProjectFailed(f"service {link.called} is in no network of its own, so no fault can be on the way")
        if self.wrong:
            raise ProjectFailed(self.wrong)

    def check_proxies(self) -> None:
        """Raise ProjectFailed where a proxy has ended."""
        if any(proxy.process.poll() is not None for proxy in self._proxies.values()):
            raise ProjectFailed("a fault proxy on a link between services has ended")

    def end(self) -> None:
        """End all proxies; their rules go away with the containers."""
        while self._proxies:
            self._proxies.popitem()[1].end()


def _by_service(there: Sequence[ContainerState]) -> Mapping[str, str]:
    """Return the status of a container of each service."""
    return {one.service: one.status for one in there}
