"""A system that is up: its components, its endpoints, its faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import httpx

from patternbench import asking
from patternbench.lab import topologies
from patternbench.lab.components.otlp_receiver import OtlpReceiver
from patternbench.lab.components.prometheus import Prometheus
from patternbench.lab.config import envoy
from patternbench.lab.containers import images
from patternbench.lab.containers.link_proxies import ProxiedLinks, inner, project_of
from patternbench.lab.host import changes, stored, unfinished
from patternbench.lab.host.changes import Start
from patternbench.lab.host.contained import ContainerMeter
from patternbench.lab.host.local_host import Host, LocalHost
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.running import RunningComponent
from patternbench.lab.host.unfinished import Work
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Link, Topology
from patternbench.lab.tracing import Tracing, traced
from patternbench.study.faults import Fault

WATCHERS = (OtlpReceiver.kind, Prometheus.kind)
"""Kinds of components that keep what they see of others."""


class Environment:
    """A system on a host, and what a run asks of it."""

    def __init__(self, folder: Path, host: Host | None = None) -> None:
        self.host = host or LocalHost(folder)
        self.targets: list[str] = []
        self.links: tuple[Link, ...] = ()
        """The links that have a fault proxy."""
        self.groups: Mapping[str, Sequence[str]] = {}
        """The components of each entry of the system file."""
        self.restarted: list[str] = []
        """The components that ended on purpose and were restarted since the last change."""
        self._down: set[str] = set()
        self._tainted: list[str] = []
        self._http = asking.client(asking.Bounds(5.0))

    def change(self, topology: Topology, links: Sequence[Link] = (), tracing: Tracing | None = None) -> None:
        """Have this system up for the next round, with a fault proxy on some links, and what runs that fits kept up.

        With ``tracing`` a receiver of spans runs next to it, and its components get its address. Raises StartError if a
        component fails. That component is then down, and the next change starts it.
        """
        self.links, self.groups = tuple(links), topology.groups
        topology = traced(topologies.proxied(topology, links), tracing)
        self.restarted.clear()
        self.host.change(topology.launches, changes.every_round(topology.launches))
        self._down.clear()
        self.targets = [*(place for name in topology.endpoints for place in self._places(name)), *topology.urls]
        self._refuse_unreached(topology.endpoints)

    def _places(self, name: str) -> list[str]:
        """Return the URLs of a component: one for each of its containers, where it has several."""
        running = self.running[name]
        scheme = running.url.partition("://")[0]
        return [running.url, *(f"{scheme}://{place}" for place in running.contained.also)]

    def _refuse_unreached(self, endpoints: Sequence[str]) -> None:
        """Raise StartError for containers of a service that no one would call: only load spreads over them."""
        for name, running in self.running.items():
            if running.contained.also and name not in endpoints:
                count = 1 + len(running.contained.also)
                raise StartError(
                    f"the first service of {name} has {count} containers, and what calls it reaches one: have load go "
                    "to it without a proxy, or put a balancer into the Compose file"
                )

    def contained_cpu_s(self) -> float:
        """Return the CPU time that containers of this system have taken so far."""
        return sum(running.contained.cpu_seconds() for running in self.running.values())

    def containers(self) -> dict[str, list[ContainerMeter]]:
        """Return the meters of the containers of each Compose project, and of each of its services: shop, shop.web."""
        found: dict[str, list[ContainerMeter]] = {}
        for name, running in self.running.items():
            for meter in running.contained.meters:
                for place in (name, f"{name}.{meter.service}"):
                    found.setdefault(place, []).append(meter)
        return found

    def notes(self) -> dict[str, list[str]]:
        """Return the warnings that components have announced since they were last asked."""
        found = {name: running.new_notes() for name, running in self.running.items()}
        return {name: of_it for name, of_it in found.items() if of_it}

    @property
    def started(self) -> Sequence[Start]:
        """The components that the last change started."""
        return self.host.started

    def reset(self) -> list[str]:
        """Have what was up before drop what it was asked, and carry out its resets; returns who has any.

        Raises StartError when one fails: that component is down then, and is started by the next change.
        """
        return self.host.reset(but={start.component for start in self.started})

    def still_doing(self) -> Work:
        """Wait for what stayed up to be done with the requests of the round before; return what it still does."""
        begun = {start.component for start in self.started}
        stayed = [
            running
            for name, running in self.running.items()
            if name not in begun and running.declared.kind not in WATCHERS
        ]
        if not stayed:
            return unfinished.NOTHING
        pids = {pid for running in stayed for pid in running.parents}
        ports = {port for running in stayed for port in running.launch.ports.values()}
        return unfinished.once_done(lambda: unfinished.seen(pids, ports))

    def stored_bytes(self) -> dict[str, int]:
        """Return the bytes of each component's files that nothing resets, without components that watch the others."""
        kept = {name: running for name, running in self.running.items() if not running.declared.reset}
        sizes = {
            name: stored.bytes_of(running) for name, running in kept.items() if running.launch.kind not in WATCHERS
        }
        return {name: size for name, size in sizes.items() if size is not None}

    def carried_over(self) -> dict[str, tuple[str, ...]]:
        """Return the stores that stayed up with state of the round before, and what could reset each."""
        started = {start.component for start in self.started}
        stayed = {name: running.declared for name, running in self.running.items() if name not in started}
        return {name: launch.offers for name, launch in stayed.items() if launch.offers and launch.reset is None}

    @property
    def running(self) -> Mapping[str, RunningComponent]:
        """The running components, by name."""
        return self.host.running

    @property
    def endpoint(self) -> str:
        """Where load goes; the first place when it goes to several in turn."""
        return self.targets[0]

    def endpoints(self) -> dict[str, str]:
        """Every URL by name; ``system`` is where load goes."""
        urls = {"system": self.endpoint}
        for name, running in self.running.items():
            urls[name] = running.url
            urls |= {f"{name}.{more}": url for more, url in running.endpoints.items()}
        return urls

    def processes(self) -> dict[str, tuple[int, ...]]:
        """Return the processes from which each component's descend, and those of each entry of the system file."""
        own = {name: running.parents for name, running in self.running.items()}
        entries = {
            name: tuple(pid for one in members for pid in own.get(one, ())) for name, members in self.groups.items()
        }
        return {**{name: pids for name, pids in entries.items() if pids}, **own}

    def proxies(self, link: Link) -> list[str]:
        """Return the URLs at which the fault proxies on a link take orders: several where its caller has containers."""
        if link.inside:
            return ProxiedLinks.read(self.running[project_of(link)].folder).admins(inner(link))
        return [self.running[topologies.proxy_name(link)].endpoints["admin"]]

    def fault_admins(self, protocol: str) -> list[str]:
        """Return the URLs at which faults of what is up are begun and ended by a protocol."""
        return [
            running.endpoints[admin.endpoint]
            for running in self.running.values()
            for admin in running.launch.faults
            if admin.protocol == protocol
        ]

    def inject(self, faults: Sequence[Fault]) -> None:
        """Set the faults of the coming round; raise StartError when no fault proxy could take them."""
        proxies = self.fault_admins(envoy.RUNTIME_PROTOCOL)
        if faults and not proxies:
            raise StartError("the system has no fault proxy, so no fault can be injected")
        try:
            for proxy in proxies:
                envoy.inject(self._http, proxy, faults)
        except httpx.HTTPError as error:
            raise StartError(f"envoy didn't accept the faults: {error or type(error).__name__}") from None

    def own_answers(self) -> int:
        """How many requests the fault proxy has answered itself so far, because it did not reach the service."""
        try:
            return sum(envoy.own_answers(self._http, proxy) for proxy in self.fault_admins(envoy.RUNTIME_PROTOCOL))
        except httpx.HTTPError as error:
            raise StartError(f"envoy doesn't report its answers: {error or type(error).__name__}") from None

    def finished_logs(self) -> dict[str, list[Path]]:
        """Return the files of each component's log, whole; the components that write them are ended by this."""
        writers = {name: running for name, running in self.running.items() if running.launch.log}
        for name in writers:
            self.host.finish(name)
        logs = {name: running.folder / running.launch.log for name, running in writers.items()}
        return {name: sorted(path for path in log.iterdir() if path.is_file()) for name, log in logs.items()}

    def accounts(self) -> dict[str, str]:
        """Return the user of each component that has its own one."""
        return {name: str(running.account) for name, running in self.running.items() if running.launch.user}

    def images(self) -> dict[str, str]:
        """Return the image of each component that runs in a container of its own, with its hash."""
        own = {name: running.declared.container for name, running in self.running.items()}
        return {name: f"{one.image} {images.identity(one.image) or ''}".strip() for name, one in own.items() if one}

    def limits(self) -> dict[str, str]:
        """Return the limits of each component that has any, in words; of those that do not act, why."""
        return self.host.limits()

    def cut_logs(self) -> Sequence[str]:
        """Return the components whose log grew beyond its bound."""
        return self.host.cut_logs()

    def refused_limits(self) -> Mapping[str, str]:
        """Why the limits of a component do not act, by its name."""
        return self.host.refused_limits()

    def dead(self) -> list[str]:
        """Each component that stopped running, with its last words, and what else makes the system unusable."""
        return [*self.host.dead(self._down), *self._tainted]

    def expect_down(self, name: str) -> None:
        """Take note that a component is about to end on purpose."""
        self._down.add(name)

    def restart(self, name: str) -> None:
        """Start a component again that has ended; returns when it is ready. Raises StartError when it is not."""
        self.host.restart(name)
        self.restarted.append(name)
        self._down.discard(name)

    @property
    def tainted(self) -> bool:
        """Whether something keeps the system from being used for another round."""
        return bool(self._tainted)

    def spoil(self, why: str) -> None:
        """Take note that the system is not as it was, so that no other round may use it."""
        self._tainted.append(why)

    def close(self) -> None:
        """Take everything down."""
        self._http.close()
        self.host.close()

    def __enter__(self) -> Environment:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def named(system: SystemFile, settings: Mapping[str, object], folder: Path, links: Sequence[Link] = ()) -> Environment:
    """Return a system of a system file, up."""
    with ExitStack() as starting:
        environment = starting.enter_context(Environment(folder))
        environment.change(topologies.of_file(system, settings), links)
        starting.pop_all()
        return environment
