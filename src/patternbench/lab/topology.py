"""The components of a system and the links between them, as plain data: the order of starting, the proxies on links."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

from patternbench.lab.host.launch import Launch
from patternbench.lab.host.references import PARTS, URL, address_of, addresses, producers, reference, unknown
from patternbench.terms.problems import InputError, Problem, did_you_mean

EDGE = "edge"
"""The consumer that load itself is."""


@dataclass(frozen=True, order=True)
class Link:
    """The link from a component to another one that it calls; that of load begins at the edge.

    ``endpoint`` is the address that it calls there: the URL, or one of its endpoints. An ``inside`` link is one between
    two services of a Compose project, ``shop.web`` and ``shop.store``, of which only its engine knows.
    """

    consumer: str
    producer: str
    endpoint: str = URL
    inside: bool = False

    def __str__(self) -> str:
        return f"{self.consumer} -> {self.producer}"


@dataclass(frozen=True)
class Topology:
    """The launches of a host, and the components or URLs that load goes to in turn.

    ``groups`` has the components of each entry of the system file, by its name: several where it has replicas.
    """

    launches: tuple[Launch, ...]
    endpoints: tuple[str, ...]
    urls: tuple[str, ...] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def links(self) -> list[Link]:
        """Every link there is: from the edge to each endpoint, and from each component to what it refers to."""
        edge = [Link(EDGE, name) for name in self.endpoints]
        return edge + [Link(launch.name, *address) for launch in self.launches for address in addresses(launch)]

    def through(self, link: Link, proxy: Launch) -> Topology:
        """Return the same system with a proxy on a link; raises InputError when there is no such link."""
        if link not in self.links():
            links = self.links()
            hint = did_you_mean(str(link), map(str, links))
            raise InputError(Problem("there is no such link", value=str(link), allowed=_listed(links), hint=hint))
        endpoints = [proxy.name if link == Link(EDGE, name) else name for name in self.endpoints]
        launches = [_through(launch, link, proxy.name) for launch in self.launches]
        return replace(self, launches=(*launches, proxy), endpoints=tuple(endpoints))

    def problems(self) -> Iterator[Problem]:
        """Problems of its names: given twice, unknown, or in a circle."""
        names = [launch.name for launch in self.launches]
        for name in self.endpoints:
            if name not in names:
                yield _unknown("load goes to", name, "endpoint", names)
        for launch in self.launches:
            if launch.name in self.endpoints and not launch.url:
                yield Problem(f"load goes to `{launch.name}`, which has no address", "endpoint", hint="say its `url`")
        yield from problems_of(self.launches)
        yield from _unknown_parts(self.launches)


def in_order(launches: Sequence[Launch]) -> list[Launch]:
    """Return launches in the order given, but each after those that it needs; raises InputError if impossible."""
    problems = list(problems_of(launches))
    if problems:
        raise InputError(problems)
    return _sorted(launches)


def problems_of(launches: Sequence[Launch]) -> Iterator[Problem]:
    """Problems of the names in launches: given twice, unknown, or in a circle."""
    names = [launch.name for launch in launches]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(f"two components are called `{name}`", path=name, hint="give each a `name`")
    unknown = list(_unknown_producers(launches, names))
    yield from unknown or _circle(launches)


def _sorted(launches: Sequence[Launch]) -> list[Launch]:
    sorter = TopologicalSorter({launch.name: producers(launch) for launch in launches})
    rank = {name: number for number, name in enumerate(sorter.static_order())}
    return sorted(launches, key=lambda launch: rank[launch.name])


def _through(launch: Launch, link: Link, proxy: str) -> Launch:
    if launch.name != link.consumer:
        return launch
    return replace(launch, via={**launch.via, address_of(link.producer, link.endpoint): proxy})


def _unknown_producers(launches: Sequence[Launch], names: Collection[str]) -> Iterator[Problem]:
    for launch in launches:
        for name in producers(launch):
            if name not in names:
                yield _unknown("it refers to", name, launch.name, names)


def _unknown_parts(launches: Sequence[Launch]) -> Iterator[Problem]:
    """Yield references to parts that a component lacks, such as ``${db.user}`` for ``${db.url.user}``."""
    by_name = {launch.name: launch for launch in launches}
    for launch in launches:
        for name, what, known in unknown(launch, by_name):
            allowed = ", ".join(f"`{reference(name, part)}`" for part in known)
            parts = f"; of an address also {', '.join(PARTS)}, as in `{reference(name, 'url.host')}`"
            message = f"it refers to `{reference(name, what)}`, which doesn't exist"
            yield Problem(message, path=launch.name, allowed=allowed + parts, hint=_meant(name, what, known))


def _meant(name: str, what: str, known: Sequence[str]) -> str:
    """Return what a reference to nothing should probably have been."""
    last = what.rpartition(".")[2]
    if last in PARTS:
        return f"write `{reference(name, f'{URL}.{last}')}`, a part of its URL"
    return did_you_mean(what, known)


def _unknown(what: str, name: str, path: str, names: Collection[str]) -> Problem:
    message = f"{what} `{name}`, which is not among the components in use"
    return Problem(message, path=path, allowed=", ".join(names), hint=did_you_mean(name, names))


def _circle(launches: Sequence[Launch]) -> Iterator[Problem]:
    try:
        _sorted(launches)
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        yield Problem(f"components wait for each other: {circle}", path=str(error.args[1][0]))


def _listed(links: Sequence[Link]) -> str:
    return ", ".join(dict.fromkeys(f"`{link}`" for link in links)) or "none"
