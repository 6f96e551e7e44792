"""A system that is up: its components, its endpoints, its faults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import cast

import httpx

from patternbench.lab import cgroups, changes, envoy
from patternbench.lab.changes import Start
from patternbench.lab.component import Component, Neighbours
from patternbench.lab.components import KINDS
from patternbench.lab.components.fault_proxy import FaultProxy
from patternbench.lab.host import Host, LocalHost
from patternbench.lab.launch import Launch, ResourceLimits
from patternbench.lab.needs import Need
from patternbench.lab.processes import StartError
from patternbench.lab.programs import Program
from patternbench.lab.references import URL
from patternbench.lab.resets import resets_of
from patternbench.lab.running import Running
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Topology, Way
from patternbench.lab.tracing import Tracing, traced
from patternbench.study.document import Document
from patternbench.study.faults import Fault
from patternbench.study.load import validated
from patternbench.study.problems import InputError, Problem, distinct, gathered

Entry = tuple[str, str, dict[str, object]]
"""A component as a system file names it: its name, its kind, its settings."""
LIMITS = ("memory", "cpu")
"""The settings of a program that only act where the machine has control groups for us."""
RESET = "reset"
"""The field of an entry that says how the component is reset, whatever its kind."""


class Bench:
    """A system on a host, and what a run asks of it."""

    def __init__(self, folder: Path, host: Host | None = None) -> None:
        self.host = host or LocalHost(folder)
        self.targets: list[str] = []
        self.ways: tuple[Way, ...] = ()
        """The ways on which a fault proxy stands."""
        self.groups: Mapping[str, Sequence[str]] = {}
        """The components of each entry of the system file."""
        self._down: set[str] = set()
        self._spoilt: list[str] = []
        self._http = httpx.Client(timeout=5.0)

    def change(self, topology: Topology, ways: Sequence[Way] = (), tracing: Tracing | None = None) -> None:
        """Have this system up for the next round, with a fault proxy on some ways, and what runs that fits kept up.

        With ``tracing`` a receiver of spans is beside it, and its components are told of it. Raises StartError when a
        component fails: that one is down then, and is started by the next change.
        """
        self.ways, self.groups = tuple(ways), topology.groups
        topology = traced(proxied(topology, ways), tracing)
        self.host.change(topology.launches, changes.every_round(topology.launches))
        self._down.clear()
        self.targets = [*(self.running[name].url for name in topology.endpoints), *topology.urls]

    @property
    def started(self) -> Sequence[Start]:
        """What the last change has started."""
        return self.host.started

    def reset(self) -> list[str]:
        """Carry out the resets by call and command of what was up before; returns who has any.

        Raises StartError when one fails: that component is down then, and is started by the next change.
        """
        return self.host.reset(but={start.component for start in self.started})

    def carried_over(self) -> dict[str, tuple[str, ...]]:
        """The stores that stayed up with what the round before left in them, and what could reset each, by its name."""
        started = {start.component for start in self.started}
        stayed = {name: running.declared for name, running in self.running.items() if name not in started}
        return {name: launch.offers for name, launch in stayed.items() if launch.offers and launch.reset is None}

    @property
    def running(self) -> Mapping[str, Running]:
        """What is up, by name."""
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

    def fault_admins(self, protocol: str) -> list[str]:
        """The URLs at which faults of what is up are begun and ended by a protocol."""
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
            raise StartError(f"envoy did not take the faults: {error or type(error).__name__}") from None

    def own_answers(self) -> int:
        """How many requests the fault proxy has answered itself so far, because it did not reach the service."""
        try:
            return sum(envoy.own_answers(self._http, proxy) for proxy in self.fault_admins(envoy.RUNTIME_PROTOCOL))
        except httpx.HTTPError as error:
            raise StartError(f"envoy does not say what it answered: {error or type(error).__name__}") from None

    def finished_logs(self) -> dict[str, list[Path]]:
        """The files of each component's log, whole; the components that write them are ended by this."""
        writers = {name: running for name, running in self.running.items() if running.launch.log}
        for name in writers:
            self.host.finish(name)
        logs = {name: running.folder / running.launch.log for name, running in writers.items()}
        return {name: sorted(path for path in log.iterdir() if path.is_file()) for name, log in logs.items()}

    def accounts(self) -> dict[str, str]:
        """Who each component runs as that has a user of its own."""
        return {name: str(running.account) for name, running in self.running.items() if running.launch.user}

    def limits(self) -> dict[str, str]:
        """The limits of each component that has any, in words; of those that do not act, why."""
        return self.host.limits()

    def refused_limits(self) -> Mapping[str, str]:
        """Why the limits of a component do not act, by its name."""
        return self.host.refused_limits()

    def dead(self) -> list[str]:
        """What is known of each component that is no longer running, and of what keeps the system from being used."""
        return [*self.host.dead(self._down), *self._spoilt]

    def expect_down(self, name: str) -> None:
        """Take note that a component is about to end because it is told to."""
        self._down.add(name)

    def restart(self, name: str) -> None:
        """Start a component again that has ended; returns when it is ready. Raises StartError when it is not."""
        self.host.restart(name)
        self._down.discard(name)

    @property
    def spoilt(self) -> bool:
        """Whether something keeps the system from being used for another round."""
        return bool(self._spoilt)

    def spoil(self, why: str) -> None:
        """Take note that the system is not as it was, so that no other round may use it."""
        self._spoilt.append(why)

    def close(self) -> None:
        """Take everything down."""
        self._http.close()
        self.host.close()

    def __enter__(self) -> Bench:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def named(system: SystemFile, settings: Mapping[str, object], folder: Path, ways: Sequence[Way] = ()) -> Bench:
    """A system of a system file, up."""
    return _up(of_file(system, settings), folder, ways)


def external(url: str, trust: Mapping[str, object], folder: Path, ways: Sequence[Way] = ()) -> Bench:
    """Envoy in front of a service that already runs; ``trust`` says whose certificates it takes."""
    return _up(of_url(url, trust), folder, ways)


def of_file(system: SystemFile, settings: Mapping[str, object]) -> Topology:
    """What a host is to launch for a system of a system file."""
    entries = system.with_settings(settings)
    topology = described(entries, system.endpoints(settings), _neighbours(system, settings, entries))
    launches = [replace(launch, origin=system.origin_of(launch.name)) for launch in topology.launches]
    return replace(topology, launches=tuple(launches), groups=system.groups(settings))


def _neighbours(system: SystemFile, settings: Mapping[str, object], entries: Sequence[Entry]) -> Neighbours:
    """The components of a system file that are in use with these settings."""
    return Neighbours([name for name, _, _ in entries], system.groups(settings), system.folder)


def of_url(url: str, trust: Mapping[str, object]) -> Topology:
    """What a host is to launch for a service that already runs: Envoy in front of it."""
    return described([("envoy", "envoy", {"upstream": url, **trust})], ["envoy"])


def direct(urls: Sequence[str]) -> Topology:
    """A service that already runs, with nothing in front of it: there is nothing to launch."""
    return Topology((), (), tuple(urls))


def described(entries: Sequence[Entry], endpoints: Sequence[str], neighbours: Neighbours | None = None) -> Topology:
    """What a host is to launch for components; raises InputError where one refuses its settings."""
    neighbours = neighbours or Neighbours([name for name, _, _ in entries])
    launches = [_launch(entry, neighbours) for entry in entries]
    return Topology(tuple(map(_with_needs, launches)), tuple(endpoints))


def _with_needs(launch: Launch) -> Launch:
    return replace(launch, needs=(*KINDS[launch.kind].needs(), *launch.needs))


def _launch(entry: Entry, neighbours: Neighbours) -> Launch:
    name, kind, fields = entry
    component = _component(name, kind, {field: value for field, value in fields.items() if field != RESET})
    launch = component.describe(name, neighbours)
    if RESET not in fields:
        return replace(launch, offers=tuple(component.resets()))
    return replace(launch, reset=resets_of(fields[RESET], component.resets(), f"{name}.{RESET}"))


def proxied(topology: Topology, ways: Sequence[Way]) -> Topology:
    """A system with a fault proxy on some of its ways; raises InputError for one that is none of its."""
    for way in ways:
        neighbours = Neighbours([launch.name for launch in topology.launches])
        proxy = FaultProxy(to=way.producer, endpoint=way.endpoint).describe(proxy_name(way), neighbours)
        topology = topology.through(way, _with_needs(proxy))
    return topology


def proxy_name(way: Way) -> str:
    """The name of the fault proxy on a way: ``balancer-1-to-shop``, ``balancer-1-to-shop-at-admin``."""
    name = f"{way.consumer}-to-{way.producer}"
    return name if way.endpoint == URL else f"{name}-at-{way.endpoint}"


def _up(topology: Topology, folder: Path, ways: Sequence[Way]) -> Bench:
    with ExitStack() as starting:
        bench = starting.enter_context(Bench(folder))
        bench.change(topology, ways)
        starting.pop_all()
        return bench


def needs(system: SystemFile, levels: Mapping[str, Sequence[object]] | None = None) -> list[Need]:
    """What the components of a system need on this machine: all, or those that some of the levels call for."""
    # Kinds that do not exist are told of with their settings.
    kinds = (KINDS[kind] for kind in dict.fromkeys(system.kinds(levels)) if kind in KINDS)
    by_kind = [need for kind in kinds for need in kind.needs()]
    own = [need for settings in _one_by_one(levels or {}) for need in _own_needs(system, settings)]
    return list(dict.fromkeys(by_kind + own))


def _one_by_one(levels: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    """The first level of each setting, then each other level with the first ones of the rest."""
    first = {name: values[0] for name, values in levels.items() if values}
    yield first
    yield from ({**first, name: value} for name, values in levels.items() for value in values[1:])


def _own_needs(system: SystemFile, settings: Mapping[str, object]) -> Iterator[Need]:
    """What components need by their own settings; those that cannot be described are told of as problems."""
    with suppress(InputError):
        entries = system.with_settings(settings)
        neighbours = _neighbours(system, settings, entries)
        for entry in entries:
            with suppress(InputError):
                yield from _launch(entry, neighbours).needs


def needs_problems(system: SystemFile, levels: Mapping[str, Sequence[object]]) -> list[Problem]:
    """What a system needs that this machine lacks, for the components that these levels of its settings call for."""
    message = "system `{}` cannot start: {} is missing"
    lacking = [need for need in needs(system, levels) if not need.met]
    return [Problem(message.format(system.name, need.name), path="system", hint=need.how) for need in lacking]


def limits_problems(system: SystemFile, levels: Mapping[str, Collection[object]]) -> list[Problem]:
    """The settings with several levels that are limits of components, where this machine lets none act."""
    problems = []
    for name, kind, _ in system.with_settings({}):
        for field in LIMITS if issubclass(KINDS.get(kind, Component), Program) else ():
            varied = [setting for setting in system.settings_of(name, field) if len(levels.get(setting, ())) > 1]
            why = cgroups.refusal(ResourceLimits(memory=1, cores=1.0)) if varied else ""
            problems += [_without_effect(setting, field, name, why) for setting in varied if why]
    return distinct(problems)


def _without_effect(setting: str, field: str, component: str, why: str) -> Problem:
    message = f"its levels would be no different: {field} of {component} cannot be limited, as {why}"
    return Problem(message, f"system.settings.{setting}", hint="give it one level, or measure on another machine")


def settings_problems(system: SystemFile, settings: Mapping[str, object]) -> list[Problem]:
    """What the components of a system would refuse of these settings.

    Each is told at the setting that it comes from, else at its line in the system file.
    """
    problems: list[Problem] = []
    with gathered(problems):
        problems += _refused(system, settings)
    return distinct(_placed(system, problem) for problem in problems)


def _refused(system: SystemFile, settings: Mapping[str, object]) -> list[Problem]:
    entries = system.with_settings(settings)
    neighbours, launches, problems = _neighbours(system, settings, entries), [], list[Problem]()
    for entry in entries:
        with gathered(problems):
            launches.append(_launch(entry, neighbours))
    return problems or list(Topology(tuple(launches), tuple(system.endpoints(settings))).problems())


def _placed(system: SystemFile, problem: Problem) -> Problem:
    """A problem whose path begins with a component, where its author can mend it."""
    component, _, field = problem.path.partition(".")
    settings = system.settings_of(component, field)
    return replace(problem, path=f"system.settings.{settings[0]}") if len(settings) == 1 else system.placed(problem)


def check_settings(system: SystemFile, settings: Mapping[str, object]) -> None:
    """Raise InputError listing what the components of a system would refuse of these settings."""
    problems = settings_problems(system, settings)
    if problems:
        raise InputError(problems)


def check_needs(system: SystemFile, settings: dict[str, object]) -> None:
    """Raise InputError naming what a system needs with these settings that this machine lacks."""
    problems = needs_problems(system, {name: [value] for name, value in settings.items()})
    if problems:
        raise InputError(problems)


def _component(name: str, kind: str, fields: dict[str, object]) -> Component:
    model = KINDS.get(kind)
    if model is None:
        raise InputError(Problem(f"unknown kind of component `{kind}`", path=name, allowed=", ".join(KINDS)))
    try:
        return cast(Component, validated(model, Document("", fields)))
    except InputError as error:
        raise InputError([problem.below(name) for problem in error.problems]) from None
