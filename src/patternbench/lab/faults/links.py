"""Which links of a system need a fault proxy for the faults of a study, and what of its faults cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from patternbench.lab import topologies
from patternbench.lab.components.envoy import Envoy
from patternbench.lab.config import envoy
from patternbench.lab.faults.cache import SCHEME as CACHE
from patternbench.lab.faults.replicas import at_each
from patternbench.lab.host.references import REFERENCE, SELF, URL
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import EDGE, Link, Topology
from patternbench.study.faults import ARROW, Fault
from patternbench.study.faults.kind import Spot
from patternbench.study.model.system import System, UrlSystem
from patternbench.study.models import Study
from patternbench.terms.problems import Problem, did_you_mean

BY_ENVOY = ("abort", "delay")
"""The kinds that Envoy acts at the edge, where it can act their levels exactly."""
NOT_TCP = ("gossip",)
"""Protocols that don't use only TCP."""
ONLY_CACHES = ("flush",)
"""The kinds that tell a cache something, and so need one that speaks a protocol of ours."""
ONLY_HTTP = ("abort",)
"""The kinds that answer in the service's place, and so have to speak its protocol."""


def links_of(fault: Fault, links: Iterable[Link]) -> list[Link]:
    """Those of the links that a fault acts on; at the edge these are all on which load comes in."""
    if fault.chosen.spot is Spot.COMPONENT:
        return []
    if fault.at_the_edge:
        return [link for link in links if link.consumer == EDGE]
    ends = {fault.link, tuple(reversed(fault.link or ())) if fault.chosen.both_directions else fault.link}
    return [link for link in links if (link.consumer, link.producer) in ends]


def of_scenario(study: Study, system: System, file: SystemFile | None) -> list[Link]:
    """Return the links that need a fault proxy in a scenario with this system; ``file`` describes one by name."""
    topology = topology_of(system, file) if study.faults else None
    return needed(study.faults, topology) if topology else []


def topology_of(system: System, file: SystemFile | None) -> Topology | None:
    """Return the components of a scenario's system; None where load goes straight to one that already runs."""
    if file:
        return topologies.of_file(file, system.setting_levels)
    return topologies.of_url(system.url.level, {}) if isinstance(system, UrlSystem) else None


def needed(faults: Sequence[Fault], topology: Topology) -> list[Link]:
    """Return the links that need a fault proxy, the same for all levels so that each has the same path."""
    edge = _edge_needs_proxies(faults, topology)
    located = [one for fault in faults for one in at_each(fault, topology.groups)]
    asking = [one for one in located if (edge or not one.at_the_edge) and not one.chosen.on_packets]
    every = [*topology.links(), *_inner(asking, topology)]
    asked_for = {link for fault in asking for link in links_of(fault, every)}
    return [link for link in every if link in asked_for]


def _inner(faults: Sequence[Fault], topology: Topology) -> list[Link]:
    """Return the links between services of a Compose project that faults need a proxy on, each once."""
    acting = [(fault, fault.link) for fault in faults if fault.link and _is_inner(fault, topology)]
    back = [(called, caller) for fault, (caller, called) in acting if fault.chosen.both_directions]
    pairs = dict.fromkeys([*(link for _, link in acting), *back])
    return [Link(caller, called, inside=True) for caller, called in pairs]


def _is_inner(fault: Fault, topology: Topology) -> bool:
    """Whether a fault acts on a link between two services of one Compose project."""
    ends = [end.partition(".") for end in fault.link or ()]
    projects = {component for component, _, service in ends if service}
    return len(projects) == 1 and all(service for *_, service in ends) and projects <= _projects(topology)


def _projects(topology: Topology) -> set[str]:
    """Return the components that are Compose projects."""
    return {launch.name for launch in topology.launches if launch.contained}


def _edge_needs_proxies(faults: Sequence[Fault], topology: Topology) -> bool:
    here = [fault for fault in faults if fault.at_the_edge]
    by_envoy = _envoy_is_at_the_edge(topology) and all(map(_envoy_can, here))
    return not by_envoy or max(Counter(fault.kind for fault in here).values(), default=0) > 1


def _envoy_is_at_the_edge(topology: Topology) -> bool:
    kinds = {launch.name: launch.kind for launch in topology.launches}
    return all(kinds[name] == Envoy.kind for name in topology.endpoints)


def _envoy_can(fault: Fault) -> bool:
    return fault.kind in BY_ENVOY and envoy.is_exact(fault)


LIMITS = ("cpu_limit", "memory_limit")
"""The kinds of fault that change what a container may use."""
ONLY_IN_CONTAINERS = (*LIMITS, "disconnect", "loss")
"""The kinds of fault that only act on containers."""
INSTEAD = {
    **dict.fromkeys(LIMITS, "run the system's services `in: containers`, or limit one by `services` of `system`"),
    "disconnect": f"a `partition` on the link `CALLER {ARROW} COMPONENT` lets nothing pass",
}
"""What to do where a component is a process."""
IN_CONTAINERS = ("crash", "freeze", "restart", *LIMITS, "disconnect")
"""The kinds of fault at a component that engines of containers carry out."""


def problems(faults: Sequence[Fault], topology: Topology, numbers: Collection[int] | None = None) -> Iterator[Problem]:
    """Yield the faults that act nowhere in a system, or where their kind cannot, each at its place in the study.

    ``numbers`` are those of the faults to look at: all of them unless it says otherwise.
    """
    for number, fault in enumerate(faults):
        if numbers is not None and number not in numbers:
            continue
        for located in at_each(fault, topology.groups):
            yield from _located_problems(located, topology, f"faults[{number}].where")


def _located_problems(fault: Fault, topology: Topology, path: str) -> Iterator[Problem]:
    if fault.chosen.spot is Spot.COMPONENT:
        if not _in_project(fault, topology):
            yield from _unknown(fault, [launch.name for launch in topology.launches], "component", path)
        yield from _out_of_reach(fault, topology, path)
        yield from _not_a_cache(fault, topology, path)
    elif _is_inner(fault, topology):
        return
    elif fault.chosen.on_packets or _names_service(fault, topology):
        yield _not_inner(fault, topology, path)
    elif not links_of(fault, topology.links()):
        yield from _unknown(fault, list(dict.fromkeys(map(str, topology.links()))), "link", path)
    else:
        yield from _not_http(fault, topology, path)
        yield from _not_tcp(fault, topology, path)


def _names_service(fault: Fault, topology: Topology) -> bool:
    """Whether an end of a link is a service of a Compose project."""
    return any(end.partition(".")[0] in _projects(topology) and "." in end for end in fault.link or ())


def _not_inner(fault: Fault, topology: Topology, path: str) -> Problem:
    """Return the problem of a fault that acts in the networks of containers, but whose link leads out of them."""
    what = f"{fault.kind} acts on packets" if fault.chosen.on_packets else "a fault at a service's link acts"
    names = ", ".join(f"`{name}.SERVICE {ARROW} {name}.SERVICE`" for name in sorted(_projects(topology)))
    allowed = names or "a link between two services of a Compose project, and this system has none"
    return Problem(f"{what} between two services of a Compose project", path, value=fault.where, allowed=allowed)


def _unknown(fault: Fault, there: list[str], what: str, path: str) -> Iterator[Problem]:
    if fault.where not in there:
        message = f"there is no such {what} in the system"
        hint = did_you_mean(fault.where, there)
        yield Problem(message, path, value=fault.where, allowed=", ".join(there) or "none", hint=hint)


def _in_project(fault: Fault, topology: Topology) -> bool:
    """Whether a fault acts on a service of a Compose project, of which only its engine knows whether it is there."""
    component, _, service = fault.where.partition(".")
    return bool(service) and component in _projects(topology)


def _out_of_reach(fault: Fault, topology: Topology, path: str) -> Iterator[Problem]:
    """Yield faults at a Compose project as a whole, and those that no engine of containers carries out."""
    component = fault.where.partition(".")[0]
    if component not in _projects(topology):
        if fault.kind in ONLY_IN_CONTAINERS and not (fault.kind in LIMITS and _in_own_container(component, topology)):
            message = f"{fault.kind} acts on containers, but {fault.where} runs as a process of this machine"
            if _in_own_container(component, topology):
                message = f"{fault.kind} acts on networks of containers, but {fault.where} has that of this machine"
            hint = INSTEAD.get(fault.kind, "")
            yield Problem(message, path, value=fault.where, allowed="a service of a Compose project", hint=hint)
        return
    links = dict.fromkeys(str(link) for link in topology.links() if link.producer == component)
    on_links = f"a fault on a link: {', '.join(links) or 'none'}"
    if fault.kind not in IN_CONTAINERS:
        message = f"{fault.kind} acts on processes of this machine, but those of {component} run in containers"
        yield Problem(message, path, value=fault.where, allowed=f"{', '.join(IN_CONTAINERS)}, or {on_links}")
    elif fault.where == component:
        message = f"{component} is a Compose project, and {fault.kind} acts on one of its services"
        yield Problem(message, path, value=fault.where, allowed=f"{component}.SERVICE, or {on_links}")


def _not_a_cache(fault: Fault, topology: Topology, path: str) -> Iterator[Problem]:
    """Yield a fault that empties a cache at a component that doesn't speak the protocol of ours."""
    caches = [launch.name for launch in topology.launches if launch.url.startswith(f"{CACHE}://")]
    others = {launch.name for launch in topology.launches if not launch.contained} - set(caches)
    if fault.kind in ONLY_CACHES and fault.where in others:
        message = f"{fault.kind} empties a cache, and {fault.where} doesn't speak Redis's protocol"
        yield Problem(message, path, value=fault.where, allowed=", ".join(caches) or "none of this system")


def _in_own_container(component: str, topology: Topology) -> bool:
    return any(launch.container for launch in topology.launches if launch.name == component)


def _not_http(fault: Fault, topology: Topology, path: str) -> Iterator[Problem]:
    others = [link for link in links_of(fault, topology.links()) if _scheme(link, topology) != "http"]
    if fault.kind in ONLY_HTTP and others:
        message = f"{fault.kind} answers in place of {others[0].producer}, which is only possible with HTTP"
        yield Problem(message, path, value=fault.where, allowed="delay, reset, stall, refuse, slow, partition")


def _not_tcp(fault: Fault, topology: Topology, path: str) -> Iterator[Problem]:
    """Yield faults on links of gossip, whose datagrams go past a proxy, which passes on streams."""
    if any(_scheme(link, topology) in NOT_TCP for link in links_of(fault, topology.links())):
        message = "on this link members also gossip by datagrams, which no fault proxy handles"
        yield Problem(message, path, value=fault.where, allowed="a fault of a component: crash, freeze, cpu")


def _scheme(link: Link, topology: Topology) -> str:
    """Return the protocol of a link, which is that of the component behind its proxy; nothing if it isn't known."""
    launch = next((launch for launch in topology.launches if launch.name == link.producer), None)
    if launch is None:
        return ""
    url = launch.url if link.endpoint == URL else launch.endpoints.get(link.endpoint, "")
    behind = REFERENCE.match(url)
    if behind and behind[1] != SELF:
        return _scheme(Link(link.producer, behind[1], behind[2].partition(".")[0]), topology)
    return url.partition("://")[0]
