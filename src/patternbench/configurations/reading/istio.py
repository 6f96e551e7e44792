"""Istio's VirtualService and DestinationRule, which belong together where they are about one host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.configurations.amounts import KUBERNETES
from patternbench.configurations.forms.istio import FIELDS, OUTLIERS, RETRIES
from patternbench.configurations.reading import mesh
from patternbench.configurations.reading.kubernetes import KubernetesObject, objects
from patternbench.configurations.reading.layer import Layer, LayerCandidate, Plain, read_policies
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.retry_on import RetryWords
from patternbench.configurations.reading.section import FieldReader, table
from patternbench.study.text.nodes import FileLine, FileNode, PathStep

PRODUCT, GROUP = "Istio", "networking.istio.io"
ROUTE, RULE = "VirtualService", "DestinationRule"
RETRY_ON = "connect-failure,refused-stream,unavailable,cancelled"
ROUTING = (
    *("name", "match", "route", "rewrite", "redirect", "headers", "corsPolicy", "delegate", "directResponse"),
    *("mirror", "mirrors", "mirrorPercent", "mirrorPercentage", "websocketUpgrade", "appendHeaders"),
)
"""Fields of a route that say where a request goes and how it is changed."""


@dataclass(frozen=True)
class IstioRoute:
    """A route, or a host without one, with the rules that are about its host."""

    name: str
    place: FileLine
    route: FileNode | None = None
    rules: tuple[FileNode, ...] = ()
    hosts: tuple[str, ...] = ()


def recognises(root: FileNode) -> bool:
    """Whether a document is an object of Istio that says something of calls."""
    return any(_ours(one) for one in objects([root]))


def _ours(one: KubernetesObject) -> bool:
    return one.group == GROUP and one.kind in (ROUTE, RULE)


def candidates(roots: Sequence[FileNode]) -> list[LayerCandidate]:
    """Return the routes of HTTP with the rules of their hosts, and the hosts that only have rules."""
    found = [one for one in objects(roots) if _ours(one)]
    rules = [(host(_host_of(one)), one.spec) for one in found if one.kind == RULE]
    routed = [one for each in found if each.kind == ROUTE for one in _routes(each, rules)]
    used = {name for one in routed for name in one.hosts}
    alone: dict[str, list[FileNode]] = {}
    for name, spec in rules:
        if name not in used:
            alone.setdefault(name, []).append(spec)
    routed += [IstioRoute(name, specs[0].place, None, tuple(specs), (name,)) for name, specs in alone.items()]
    return [LayerCandidate(one.name, one.place, _reader(one)) for one in routed]


def host(name: str) -> str:
    """Return the first part of a host's name, by which services of one namespace know it."""
    return name if name.startswith("*") else name.partition(".")[0]


def _host_of(one: KubernetesObject) -> str:
    named = one.spec.at("host")
    return str(named.scalar or "") if named else ""


def _routes(one: KubernetesObject, rules: Sequence[tuple[str, FileNode]]) -> Iterator[IstioRoute]:
    http = one.spec.at("http")
    routes = http.entries if http else ()
    for number, route in enumerate(routes):
        named = route.at("name")
        own = str(named.scalar) if named else str(number)
        hosts = tuple(dict.fromkeys(_destinations(route)))
        mine = tuple(spec for name, spec in rules if name in hosts)
        yield IstioRoute(one.name if len(routes) == 1 else f"{one.name}/{own}", route.place, route, mine, hosts)


def _destinations(route: FileNode) -> Iterator[str]:
    targets = route.at("route")
    for target in targets.entries if targets else ():
        named = target.at("destination", "host")
        if named:
            yield host(str(named.scalar))


def _reader(routed: IstioRoute) -> Callable[[], Layer]:
    return lambda: _layer(routed)


def _layer(routed: IstioRoute) -> Layer:
    notes = ReadingNotes()
    guards = _of_route(routed.route, notes) if routed.route else mesh.Guards()
    for rule in routed.rules:
        found = _of_rule(rule, notes)
        guards.limits, guards.of_hosts = (*guards.limits, *found.limits), {**guards.of_hosts, **found.of_hosts}
    return guards.layer(PRODUCT, routed.name, routed.place, notes)


def _of_route(route: FileNode, notes: ReadingNotes) -> mesh.Guards:
    section = FieldReader(notes, route)
    section.harmless(*ROUTING)
    section.inexpressible("is a fault that Istio injects: write it under `faults` of a study", "fault")
    whole = mesh.bounded(section.take("timeout"), KUBERNETES, notes)
    guards = _retries(section.take("retries"), route, notes)
    guards.whole = whole
    section.finish()
    return guards


def _retries(node: FileNode | None, route: FileNode, notes: ReadingNotes) -> mesh.Guards:
    """Return the retry and the time-out of an attempt. Where nothing is said, the mesh's own retries act."""
    if node is None:
        why = f"is Istio's own, 2 further attempts on {RETRY_ON}, unless the mesh has another"
        notes.add(NoteKind.DEFAULT, route, why, "retries")
        node = FileNode({"attempts": FileNode(2, route.place)}, route.place, PathStep("retries", route.step))
    section = FieldReader(notes, node, table(FIELDS, RETRIES))
    on = section.take("retryOn") or FileNode(RETRY_ON, node.place, PathStep("retryOn", node.step))
    attempts, base = section.value("attempts"), section.value("backoff")
    per_try = section.take("perTryTimeout")
    section.inexpressible("a study has one host for each client", "retryRemoteLocalities", "retryIgnorePreviousHosts")
    section.finish()
    guards = mesh.Guards(attempt=mesh.bounded(per_try, KUBERNETES, notes), retry_on=str(on.scalar))
    if attempts != 1:
        guards.retry = read_policies("retry", mesh.retry(attempts, RetryWords(on).failures(notes), base), section, node)
    return guards


def _of_rule(spec: FileNode, notes: ReadingNotes) -> mesh.Guards:
    whole = FieldReader(notes, spec)
    whole.harmless("host", "exportTo", "workloadSelector")
    _subsets(whole.take("subsets"), notes)
    policy = whole.inside("trafficPolicy")
    whole.finish()
    policy.harmless("tls", "tunnel", "proxyProtocol")
    policy.inexpressible("is of one port only", "portLevelSettings")
    policy.inexpressible("which host is asked isn't a client's policy", "loadBalancer")
    policy.inexpressible("counts retries on their way, where a study's budget counts calls", "retryBudget")
    ejected = _outliers(policy.take("outlierDetection"), notes)
    guards = _pool(policy.inside("connectionPool"), notes)
    guards.of_hosts.update(ejected)
    policy.finish()
    return guards


def _subsets(subsets: FileNode | None, notes: ReadingNotes) -> None:
    for subset in subsets.entries if subsets else ():
        own = subset.at("trafficPolicy")
        if own:
            notes.add(NoteKind.INEXPRESSIBLE, own, "is of one subset of the hosts only", own.path)


def _outliers(node: FileNode | None, notes: ReadingNotes) -> Mapping[str, Plain]:
    if node is None:
        return {}
    section = FieldReader(notes, node, table(FIELDS, OUTLIERS))
    failures = section.value("consecutive5xxErrors", "consecutiveErrors")
    ejected = section.value("baseEjectionTime")
    section.inexpressible(mesh.NO_SETTING, "consecutiveGatewayErrors", "minHealthPercent")
    section.inexpressible(mesh.NO_SETTING, "consecutiveLocalOriginFailures", "splitExternalLocalOriginErrors")
    section.inexpressible("the system `mesh` looks every second", "interval")
    section.inexpressible("the system `mesh` may leave out every host", "maxEjectionPercent")
    section.finish()
    return mesh.outliers(node, failures, ejected, notes)


def _pool(section: FieldReader, notes: ReadingNotes) -> mesh.Guards:
    tcp, http = section.inside("tcp"), section.inside("http")
    section.finish()
    tcp.inexpressible("connections aren't counted by a client of a study", "maxConnections", "connectTimeout")
    tcp.harmless("tcpKeepalive", "maxConnectionDuration", "idleTimeout")
    tcp.finish()
    http.harmless("maxRequestsPerConnection", "idleTimeout", "h2UpgradePolicy", "useClientProtocol")
    http.harmless("maxConcurrentStreams")
    pending, requests = http.count("http1MaxPendingRequests"), http.count("http2MaxRequests")
    retries = http.count("maxRetries")
    http.finish()
    return mesh.limits(http.node, pending, requests, retries, notes)
