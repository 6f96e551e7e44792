"""What Envoy's ``/config_dump`` says of routes and clusters; a bootstrap says it in the same words.

Names are read as ``under_scores`` and as ``camelCase``, since JSON of Protocol Buffers may be either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.configurations.amounts import PROTOBUF
from patternbench.configurations.forms.envoy import BUCKET, FIELDS, OUTLIERS, RETRY
from patternbench.configurations.reading import mesh
from patternbench.configurations.reading.failures import Failures
from patternbench.configurations.reading.layer import Layer, LayerCandidate, Plain, ReadPolicy, read_policies
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.retry_on import RetryWords, statuses
from patternbench.configurations.reading.section import FieldReader, table
from patternbench.study.text.nodes import FileNode, PathStep, canonical
from patternbench.terms.units import Duration

PRODUCT = "Envoy"
FIFTEEN = Duration.parse("15s")
ROUTING = (
    *("cluster", "weightedClusters", "clusterHeader", "clusterNotFoundResponseCode", "metadataMatch", "prefixRewrite"),
    *("regexRewrite", "pathRewritePolicy", "hostRewriteLiteral", "autoHostRewrite", "hostRewriteHeader", "cors"),
    *("hostRewritePathRegex", "appendXForwardedHost", "requestMirrorPolicies", "priority", "hashPolicy"),
    *("upgradeConfigs", "internalRedirectPolicy", "internalRedirectAction", "inlineClusterSpecifierPlugin"),
    *("rateLimits", "includeVhRateLimits", "earlyDataPolicy", "clusterSpecifierPlugin"),
)
"""Fields of a route that say where a request goes and how it is changed."""

MARKS = {*map(canonical, ("connect_timeout", "load_assignment", "eds_cluster_config", "lb_policy", "circuit_breakers"))}
"""Fields that distinguish a cluster from other messages with a name."""
HOSTS = {"virtualhosts", "virtualhost"}
MANAGER = {"httpfilters", "routeconfig"}


@dataclass(frozen=True)
class EnvoyRoute:
    """A route to a cluster, with the host that it is of."""

    name: str
    host: FileNode
    action: FileNode
    cluster: FileNode | None
    buckets: tuple[FileNode, ...] = ()


def recognises(root: FileNode) -> bool:
    """Whether a document is such a dump, or a bootstrap."""
    configs = root.at("configs")
    dumped = any("Dump" in _text(one, "@type") for one in (configs.entries if configs else ()))
    return dumped or root.at("static_resources") is not None or root.at("virtual_hosts") is not None


def candidates(roots: Sequence[FileNode]) -> list[LayerCandidate]:
    """Return every route to a cluster, named ``VIRTUAL HOST/ROUTE``, and each cluster that no route names."""
    every = [(node, {*map(canonical, node.fields)}) for root in roots for node in root.all() if node.fields]
    clusters = {_text(node, "name"): node for node, names in every if names & MARKS and "name" in names}
    hosts = [one for node, names in every for key in names & HOSTS for one in _listed(node.named(key))]
    buckets = dict(_buckets(node for node, names in every if names >= MANAGER))
    routed = [one for host in hosts for one in _routes(host, clusters, buckets.get(id(host), ()))]
    return [LayerCandidate(one.name, one.action.place, _reader(one)) for one in _each_once(routed)]


def _listed(node: FileNode | None) -> tuple[FileNode, ...]:
    return () if node is None else node.entries or (node,)


def _buckets(managers: Iterable[FileNode]) -> Iterator[tuple[int, tuple[FileNode, ...]]]:
    """Yield the buckets of local rate limits for each virtual host of a listener that has both in it."""
    for manager in managers:
        filters, hosts = manager.at("http_filters"), manager.at("route_config", "virtual_hosts")
        found = [one.named("token_bucket") for one in (filters.all() if filters else ())]
        for host in _listed(hosts):
            yield id(host), tuple(one for one in found if one)


def _routes(host: FileNode, clusters: Mapping[str, FileNode], buckets: tuple[FileNode, ...]) -> Iterator[EnvoyRoute]:
    routes = host.at("routes")
    entries = routes.entries if routes else ()
    for number, route in enumerate(entries):
        action = route.at("route")
        if action:
            own = _text(route, "name") or str(number)
            name = f"{_text(host, 'name')}/{own}"
            limits = next((one for one in map(_own_limits, (route, host)) if one is not None), buckets)
            yield EnvoyRoute(name, host, action, clusters.get(_text(action, "cluster")), limits)


def _own_limits(node: FileNode) -> tuple[FileNode, ...] | None:
    """Return the buckets of a route or a host that has a local rate limit of its own; None where it has none.

    It stands in place of the filter's. One that is not enabled stands there as well, and limits nothing.
    """
    config = node.at("typed_per_filter_config")
    own = [one for one in (config.fields.values() if config else ()) if one.named("token_bucket")]
    if not own:
        return None
    acting = [one for one in own if one.named("filter_enabled") and one.named("filter_enforced")]
    found = (one.named("descriptors") or one.named("token_bucket") for one in acting)
    return tuple(one for one in found if one)


def _each_once(routed: Sequence[EnvoyRoute]) -> Iterator[EnvoyRoute]:
    """Yield the routes with names that tell them apart."""
    seen: dict[str, int] = {}
    for one in routed:
        seen[one.name] = seen.get(one.name, 0) + 1
        number = seen[one.name]
        yield one if number == 1 else EnvoyRoute(f"{one.name}#{number}", one.host, one.action, one.cluster, one.buckets)


def _reader(routed: EnvoyRoute) -> Callable[[], Layer]:
    return lambda: _layer(routed)


def _layer(routed: EnvoyRoute) -> Layer:
    notes = ReadingNotes()
    section = FieldReader(notes, routed.action)
    section.harmless(*ROUTING, "clusterRefreshRate", "maxGrpcTimeout", "grpcTimeoutOffset")
    own = section.take("retry_policy") or routed.host.at("retry_policy")
    guards = _retries(own, notes) if own else mesh.Guards()
    limits = [one for bucket in routed.buckets for one in _limit(bucket, notes)]
    guards.whole = (*limits, *_timeout(section, notes))
    section.inexpressible("a hedge of Envoy begins when an attempt has timed out", "hedge_policy")
    section.inexpressible("bounds a stream, not a call", "idle_timeout", "max_stream_duration", "flush_timeout")
    section.finish()
    if routed.cluster:
        found = _cluster(routed.cluster, notes)
        guards.limits, guards.of_hosts = found.limits, found.of_hosts
    return guards.layer(PRODUCT, routed.name, routed.action.place, notes)


def _timeout(section: FieldReader, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    node = section.take("timeout")
    if node is None and section.node:
        notes.add(NoteKind.DEFAULT, section.node, "is 15s where it is left out", "timeout")
        node = FileNode(str(FIFTEEN), section.node.place, PathStep("timeout", section.node.step))
    return mesh.bounded(node, PROTOBUF, notes)


def _limit(node: FileNode, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    """Return a local rate limit. Its bucket is filled in steps, where that of a study fills evenly."""
    if node.entries:
        notes.add(NoteKind.INEXPRESSIBLE, node, "has a bucket for each value of what the request says")
        return ()
    section = FieldReader(notes, node, table(FIELDS, BUCKET))
    burst, calls, per = section.value("max_tokens"), section.value("tokens_per_fill"), section.value("fill_interval")
    section.finish()
    if calls != 1:
        notes.add(NoteKind.APPROXIMATED, node, "is filled in steps there, and evenly in a study")
    fields = {"calls": calls, "per": per, "burst": burst, "max_wait": Duration(0)}
    return read_policies("rate_limit", fields, section, node)


def _retries(node: FileNode, notes: ReadingNotes) -> mesh.Guards:
    section = FieldReader(notes, node, table(FIELDS, RETRY))
    on, codes = section.take("retry_on"), section.take("retriable_status_codes")
    attempts = section.value("num_retries", "maxRetries")
    per_try = section.take("per_try_timeout")
    pause = section.inside("retry_back_off")
    base, longest = pause.read(PROTOBUF, "base_interval"), pause.read(PROTOBUF, "max_interval")
    pause.finish()
    section.failed = section.failed or pause.failed
    section.inexpressible("a study has one host for each client", "retry_host_predicate", "retry_priority")
    section.inexpressible("a study has one host for each client", "host_selection_retry_max_attempts")
    ranges = _status_ranges(section.take("retriable_headers"), notes)
    section.inexpressible("decides by headers of the request", "retriable_request_headers")
    section.inexpressible("a study hears `Retry-After` only", "rate_limited_retry_back_off", "per_try_idle_timeout")
    section.harmless("retry_options_predicates")
    section.finish()
    guards = mesh.Guards(attempt=mesh.bounded(per_try, PROTOBUF, notes), retry_on=str(on.scalar) if on else "")
    acts = _acts(on, codes, ranges, notes)
    if attempts != 1 and acts:
        guards.retry = read_policies("retry", mesh.retry(attempts, acts, base, longest), section, node)
    return guards


def _acts(on: FileNode | None, codes: FileNode | None, ranges: Failures, notes: ReadingNotes) -> Failures:
    """Return what is tried again: without words for it nothing is."""
    if on is None:
        return frozenset()
    return RetryWords(on, statuses(codes.entries if codes else (), notes), ranges).failures(notes)


def _status_ranges(headers: FileNode | None, notes: ReadingNotes) -> Failures:
    """Return the statuses of headers that stand for ranges of them; any other header is noted."""
    found: Failures = frozenset()
    for header in _listed(headers):
        ends = [_text(header, "range_match", end) for end in ("start", "end")]
        if _text(header, "name") == ":status" and all(end.isdigit() for end in ends):
            found |= frozenset(range(max(int(ends[0]), 100), min(int(ends[1]), 1000)))
        else:
            notes.not_understood(header, "decides by a header", header.path)
    return found


def _cluster(cluster: FileNode, notes: ReadingNotes) -> mesh.Guards:
    outliers = cluster.at("outlier_detection")
    ejected = _outliers(outliers, notes) if outliers else {}
    thresholds = cluster.at("circuit_breakers", "thresholds")
    usual = next((one for one in (thresholds.entries if thresholds else ()) if _is_usual(one)), None)
    guards = _bounds(usual, notes) if usual else mesh.Guards()
    guards.of_hosts.update(ejected)
    return guards


def _is_usual(threshold: FileNode) -> bool:
    """Whether a threshold is that of requests of the usual priority."""
    return _text(threshold, "priority") in ("", "DEFAULT")


def _bounds(node: FileNode, notes: ReadingNotes) -> mesh.Guards:
    section = FieldReader(notes, node)
    section.harmless("priority", "track_remaining")
    section.inexpressible(
        "connections aren't counted by a client of a study", "max_connections", "max_connection_pools"
    )
    section.inexpressible("counts retries on their way, where a study's budget counts calls", "retry_budget")
    pending, requests = section.count("max_pending_requests"), section.count("max_requests")
    retries = section.count("max_retries")
    section.finish()
    return mesh.limits(node, pending, requests, retries, notes)


def _outliers(node: FileNode, notes: ReadingNotes) -> Mapping[str, Plain]:
    section = FieldReader(notes, node, table(FIELDS, OUTLIERS))
    failures, ejected = section.value("consecutive_5xx"), section.value("base_ejection_time")
    for name in OTHER_OUTLIERS:
        section.inexpressible(mesh.NO_SETTING, name)
    section.harmless("enforcing_consecutive_5xx", "enforcing_success_rate")
    section.finish()
    return mesh.outliers(node, failures, ejected, notes)


OTHER_OUTLIERS = (
    *("interval", "max_ejection_percent", "consecutive_gateway_failure", "enforcing_consecutive_gateway_failure"),
    *("success_rate_minimum_hosts", "success_rate_request_volume", "success_rate_stdev_factor", "max_ejection_time"),
    *("split_external_local_origin_errors", "consecutive_local_origin_failure", "max_ejection_time_jitter"),
    *("enforcing_consecutive_local_origin_failure", "enforcing_local_origin_success_rate"),
    *("failure_percentage_threshold", "enforcing_failure_percentage", "failure_percentage_minimum_hosts"),
    *("failure_percentage_request_volume", "always_eject_one_host", "successful_active_health_check_uneject_host"),
)


def _text(node: FileNode, *names: str) -> str:
    found = node.at(*names)
    return str(found.scalar or "") if found else ""
