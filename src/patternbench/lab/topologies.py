"""The topology to launch for a system, as data: of a system file, or for a running service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.components import KINDS
from patternbench.lab.components.fault_proxy import FaultProxy
from patternbench.lab.containers.link_proxies import keeper_words, project_of
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.references import URL
from patternbench.lab.resets import resets_of
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Link, Topology
from patternbench.study.load import validated
from patternbench.study.model.amounts import MemorySize
from patternbench.study.model.placement import CONTAINERS, IN, UNLIMITED
from patternbench.study.text.document import Document
from patternbench.terms.problems import InputError, Problem

Entry = tuple[str, str, dict[str, object]]
"""A component as a system file names it: its name, its kind, its settings."""
RESET = "reset"
"""The field of an entry that says how the component is reset, for any kind."""
OF_ANY_KIND = "."
"""How the fields begin that a study gives to a component, whatever its kind is (``study/model/placement``)."""


def of_file(system: SystemFile, settings: Mapping[str, object]) -> Topology:
    """Return the topology to launch for a system of a system file."""
    entries = system.with_settings(settings)
    topology = of_entries(entries, system.endpoints(settings), registry_of(system, settings, entries))
    launches = [replace(launch, origin=system.origin_of(launch.name)) for launch in topology.launches]
    return replace(topology, launches=tuple(launches), groups=system.groups(settings))


def registry_of(system: SystemFile, settings: Mapping[str, object], entries: Sequence[Entry]) -> ComponentRegistry:
    """Return the components of a system file that are in use with these settings."""
    return ComponentRegistry([name for name, _, _ in entries], system.groups(settings), system.folder)


def of_url(url: str, trust: Mapping[str, object]) -> Topology:
    """Return the topology to launch for a running service: Envoy in front of it."""
    return of_entries([("envoy", "envoy", {"upstream": url, **trust})], ["envoy"])


def direct(urls: Sequence[str]) -> Topology:
    """Return a service that already runs, with nothing in front of it: there is nothing to launch."""
    return Topology((), (), tuple(urls))


def of_entries(
    entries: Sequence[Entry], endpoints: Sequence[str], registry: ComponentRegistry | None = None
) -> Topology:
    """Return the launches of components. Raises InputError if one refuses its settings."""
    registry = registry or ComponentRegistry([name for name, _, _ in entries])
    launches = [launch_of(entry, registry) for entry in entries]
    return Topology(tuple(map(_with_needs, launches)), tuple(endpoints))


def proxied(topology: Topology, links: Sequence[Link]) -> Topology:
    """Return a system with a fault proxy on some of its links. Raises InputError for a link that it doesn't have."""
    inner = [link for link in links if link.inside]
    topology = replace(topology, launches=tuple(_with_inner(launch, inner) for launch in topology.launches))
    for link in links:
        if link.inside:
            continue
        registry = ComponentRegistry([launch.name for launch in topology.launches])
        proxy = FaultProxy(to=link.producer, endpoint=link.endpoint).describe(proxy_name(link), registry)
        topology = topology.through(link, _with_needs(proxy))
    return topology


def _with_inner(launch: Launch, links: Sequence[Link]) -> Launch:
    """Return the launch of a Compose project that has fault proxies on those of its inner links that are given."""
    own = [link for link in links if project_of(link) == launch.name]
    words = [word for link in own for word in keeper_words(link)]
    return replace(launch, command=(*launch.command, *words)) if words else launch


def proxy_name(link: Link) -> str:
    """Return the name of the fault proxy on a link: ``balancer-1-to-shop``, ``balancer-1-to-shop-at-admin``."""
    name = f"{link.consumer}-to-{link.producer}"
    return name if link.endpoint == URL else f"{name}-at-{link.endpoint}"


def launch_of(entry: Entry, registry: ComponentRegistry) -> Launch:
    """Return the launch of one component, without the needs of its kind.

    Raises InputError if it refuses its settings.
    """
    name, _, fields = entry
    component = component_of(entry)
    launch = _placed(component, _limited(component.describe(name, registry), fields), fields, registry)
    if RESET not in fields:
        return replace(launch, offers=tuple(component.resets()))
    return replace(launch, reset=resets_of(fields[RESET], component.resets(), f"{name}.{RESET}"))


def component_of(entry: Entry) -> Component:
    """Return one component with its settings. Raises InputError if it refuses them."""
    name, kind, fields = entry
    own = {field: value for field, value in fields.items() if field != RESET and not field.startswith(OF_ANY_KIND)}
    return _component(name, kind, own)


def _limited(launch: Launch, fields: Mapping[str, object]) -> Launch:
    """Return a launch with what a study lets it use, in place of what its entry says."""
    cpus, memory = fields.get(".cpus"), fields.get(".memory")
    cores = launch.limits.cores if cpus is None else 0.0 if cpus == UNLIMITED else float(str(cpus))
    size = launch.limits.memory
    if memory is not None:
        size = 0 if memory == UNLIMITED else MemorySize.parse(str(memory)).bytes
    return replace(launch, limits=replace(launch.limits, cores=cores, memory=size))


def _placed(component: Component, launch: Launch, fields: Mapping[str, object], registry: ComponentRegistry) -> Launch:
    """Return a launch in a container, where a study wants that and its kind runs in one."""
    return component.in_container(launch, registry) if fields.get(IN) == CONTAINERS else launch


def _with_needs(launch: Launch) -> Launch:
    if launch.container:  # its image has what its kind needs
        return launch
    return replace(launch, needs=(*KINDS[launch.kind].needs(), *launch.needs))


def _component(name: str, kind: str, fields: dict[str, object]) -> Component:
    model = KINDS.get(kind)
    if model is None:
        raise InputError(Problem(f"unknown kind of component `{kind}`", path=name, allowed=", ".join(KINDS)))
    try:
        return cast(Component, validated(model, Document("", fields)))
    except InputError as error:
        raise InputError([problem.below(name) for problem in error.problems]) from None
