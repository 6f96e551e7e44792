"""Reads the settings of proxies from a system file: Envoy as a gateway or a sidecar, nginx with the limiting filter.

A configuration is that of one proxy in front of one service. Of a gateway with several routes it is that of the first
one; of several proxies it is that of the proxy of which the study sets most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.configurations.patterns import level_text, listed
from patternbench.configurations.proxies import NO_PROXY, FieldGroup, ProxyField, ProxySettings, RequestLimit
from patternbench.configurations.statement import reasons
from patternbench.lab.components.gateway import Gateway
from patternbench.lab.components.nginx import Nginx
from patternbench.lab.config.filter_limits import MEMORY, PER_REQUEST, FilterLimit
from patternbench.lab.config.gateways import Cluster, LocalLimit
from patternbench.lab.systems import SystemFile, fields_within
from patternbench.lab.topologies import Entry, component_of
from patternbench.study.model import limiter
from patternbench.terms.roles import Role

OFF = ("none", "", "0ms")
"""How a system file says that a field does not act."""
THRESHOLDS = ("max_connections", "max_pending_requests", "max_requests", "max_retries")
OF_OUTLIERS = ("panic_threshold", "update_merge_window")
OF_CONNECTIONS = ("connect_timeout", "idle_timeout")
OF_BALANCING: Mapping[str, tuple[str, ...]] = {"weighted": ("weights",), "least_request": ("choice_count",)}
"""The fields that act with one way of balancing alone."""
MEANS_ZERO = ("update_merge_window", "idle_timeout")
"""The times that are not off at ``0ms``."""
OF_ANY_LIMIT = ("algorithm", "limit", "window", "key", "key.from", "key.name")
OF_A_MATCH = ("match.path_prefix", "match.methods", "match.ignore_case")
OF_A_STORE = ("store", "when_store_fails", "store_timeout", "store_asks", "store_connections")
OF_A_LEASE = ("synchronisation", "lease_share", "lease_expires", "lease_holder", "lease_size", "lease_most")
NOT_SAID = ("match", "tiers", "clients", "allow", "deny")
"""What a limit of the filter may have that a bucket has not; a cost and a shadow are told by their values."""


@dataclass(frozen=True)
class WrittenFields:
    """The fields of a component as its system file writes them: values and the settings that fill them, by paths."""

    component: str
    values: Mapping[str, object]
    settings: Mapping[str, str]

    def below(
        self, group: FieldGroup, path: str, acts: Callable[[str], bool] = lambda _: True, inner: str = ""
    ) -> Iterator[ProxyField]:
        """Yield the fields of a group that act, which are written below a path of the component."""
        begin = f"{path}." if path else ""
        for place, value in self.values.items():
            leaf = place.removeprefix(begin)
            if place.startswith(begin) and acts(leaf) and (leaf in MEANS_ZERO or self._is_on(value)):
                yield self._field(group, f"{inner}{leaf}", place, value)

    def at(self, group: FieldGroup, place: str) -> Iterator[ProxyField]:
        """Yield the field at a path, if it is written and acts."""
        if place in self.values and self._is_on(self.values[place]):
            yield self._field(group, place.rpartition(".")[2], place, self.values[place])

    def _is_on(self, value: object) -> bool:
        return value is not None and str(value) not in OFF

    def _field(self, group: FieldGroup, leaf: str, place: str, value: object) -> ProxyField:
        name = self.settings.get(place, f"{self.component}.{place}")
        return ProxyField(group, leaf, listed(value) if isinstance(value, list) else level_text(value), name)


def proxy_of(system: SystemFile, given: Mapping[str, object]) -> ProxySettings:
    """Return what the settings that a study gives say to the proxy of its system; nothing where they are of none.

    Raises InputError where a component refuses its settings.
    """
    patterns = {name for name in given if name in system.settings and system.settings[name].role is Role.PATTERN}
    entries = [entry for entry in system.with_settings(given) if entry[1] in READERS]
    found = [_proxy(system, given, entry).filled_by(patterns) for entry in entries]
    return max(found, key=lambda one: len(one.names & patterns), default=NO_PROXY)


def _proxy(system: SystemFile, given: Mapping[str, object], entry: Entry) -> ProxySettings:
    name, kind, fields = entry
    written = WrittenFields(name, dict(fields_within(fields)), system.settings_by_field(name, given))
    return READERS[kind](entry, written)


def _of_gateway(entry: Entry, written: WrittenFields) -> ProxySettings:
    gateway = component_of(entry)
    assert isinstance(gateway, Gateway)  # of this kind
    route = gateway.routes[0]
    retries, timeout = route.retries or gateway.retries, gateway.timeout if route.timeout is None else route.timeout
    limit = gateway.limit if route.limit is None else route.limit
    cluster = gateway.clusters.get(route.to, Cluster(to=[route.to]))
    return ProxySettings(
        fields=tuple(_fields_of_gateway(gateway, written)),
        retries=retries,
        timeout=timeout,
        cluster=cluster,
        limit=_of_local(limit, shared=len(gateway.routes) > 1 and route.limit is None),
        local_limit=limit,
        adaptive=gateway.adaptive_concurrency,
    )


def _fields_of_gateway(gateway: Gateway, written: WrittenFields) -> Iterator[ProxyField]:
    route, own = gateway.routes[0], "routes[0]"
    if (route.retries or gateway.retries).num_retries:
        yield from written.below(FieldGroup.RETRIES, f"{own}.retries" if route.retries else "retries")
    yield from written.at(FieldGroup.TIMEOUT, "timeout" if route.timeout is None else f"{own}.timeout")
    if route.to in gateway.clusters:
        yield from _fields_of_cluster(gateway.clusters[route.to], f"clusters.{route.to}", written)
    limit = gateway.limit if route.limit is None else route.limit
    if limit.max_tokens is not None or limit.values:
        yield from written.below(FieldGroup.LIMIT, "limit" if route.limit is None else f"{own}.limit")
    if gateway.adaptive_concurrency.max_concurrency_limit is not None:
        yield from written.below(FieldGroup.ADAPTIVE, "adaptive_concurrency")


def _fields_of_cluster(cluster: Cluster, place: str, written: WrittenFields) -> Iterator[ProxyField]:
    balancing = ("balancing", *OF_BALANCING.get(cluster.balancing, ()))
    yield from written.below(FieldGroup.BALANCING, place, balancing.__contains__)
    yield from written.below(FieldGroup.BOUNDS, f"{place}.circuit_breakers", THRESHOLDS.__contains__)
    detection = cluster.outlier_detection
    if detection.consecutive_5xx or detection.consecutive_gateway_failure:
        yield from written.below(FieldGroup.OUTLIERS, f"{place}.outlier_detection")
        yield from written.below(FieldGroup.OUTLIERS, place, OF_OUTLIERS.__contains__)
    yield from written.below(FieldGroup.CONNECTIONS, place, OF_CONNECTIONS.__contains__)


def _of_local(limit: LocalLimit, shared: bool) -> RequestLimit | None:
    """Return the limit of a gateway as a bucket; it fills by ``max_tokens`` where it does not say by how many."""
    if limit.max_tokens is None:
        return None
    differs = "it held over all routes of the gateway together" if shared else ""
    calls = limit.tokens_per_fill or limit.max_tokens
    return RequestLimit(limit.max_tokens, calls, limit.fill_interval, limit.per, differs=differs)


def _of_nginx(entry: Entry, written: WrittenFields) -> ProxySettings:
    nginx = component_of(entry)
    assert isinstance(nginx, Nginx)  # of this kind
    if not nginx.acting:
        return NO_PROXY
    limit = nginx.acting[0]
    numbers = [number for number, one in enumerate(nginx.limits) if one.acts]
    path = f"limits[{numbers[0]}]" if numbers else ""
    fields = [*written.below(FieldGroup.LIMIT, path, _acts_of(nginx, limit).__contains__)]
    if path:
        stored = {*OF_A_STORE} - {"store", "when_store_fails"} if limit.store != MEMORY else set()
        fields += written.below(FieldGroup.LIMIT, "", stored.__contains__)
    names = {one.name for one in fields}
    further = [one for at in numbers[1:] for one in _further(nginx, at, written) if one.name not in names]
    return ProxySettings(fields=(*fields, *further), limit=_of_filter(limit, nginx))


def _further(nginx: Nginx, at: int, written: WrittenFields) -> Iterator[ProxyField]:
    """Yield the fields of another limit than the first one: what it is for, and what it lets go."""
    acts = {*_acts_of(nginx, nginx.limits[at]), *OF_A_MATCH}
    return written.below(FieldGroup.FURTHER, f"limits[{at}]", acts.__contains__, inner=f"{at}.")


def _acts_of(nginx: Nginx, limit: FilterLimit) -> Collection[str]:
    """Return the fields of a limit that act."""
    shared = limit.store != MEMORY
    leases = limit.lease is not None and limit.lease.mode != PER_REQUEST
    return {
        *OF_ANY_LIMIT,
        *(("burst",) if limit.algorithm in limiter.WITH_BURST else ()),
        *(("sub_windows",) if limit.algorithm == "sliding_window_counter" else ()),
        *(("grace",) if nginx.grace else ()),
        *(OF_A_STORE if shared else ("store",)),
        *(OF_A_LEASE if leases else ()),
        *(("cost", "cost.from", "cost.name", "cost.most", "cost.default") if limit.cost != 1 else ()),
    }


def _of_filter(limit: FilterLimit, nginx: Nginx) -> RequestLimit:
    """Return a limit of the filter as a bucket, of one balancer; what it does otherwise is said."""
    alone = limit.store == MEMORY
    parts = nginx.balancers if alone else 1
    burst = (limit.burst or limit.limit) if limit.algorithm in limiter.WITH_BURST else limit.limit
    header = limit.key[0].name if len(limit.key) == 1 and limit.key[0].source == "header" else ""
    differs = [
        f"{limit.algorithm} counts the requests of a window" if limit.algorithm in limiter.COUNTING else "",
        "" if alone or nginx.balancers == 1 else f"{nginx.balancers} balancers shared it, and each proxy counts alone",
        "" if header or _of_all(limit) else f"it told clients apart by: {_sources(limit)}",
        *_unsaid(limit),
    ]
    waits = limit.algorithm == "leaky_bucket"
    share = max(1, limit.limit // parts)
    by_address = bool(header) and limit.missing_key == "address"
    return RequestLimit(max(1, burst // parts), share, limit.window, header or "", waits, by_address, reasons(*differs))


def _of_all(limit: FilterLimit) -> bool:
    return [one.source for one in limit.key] == ["everyone"]


def _sources(limit: FilterLimit) -> str:
    return ", ".join(f"{one.source} {one.name or ''}".strip() for one in limit.key)


def _unsaid(limit: FilterLimit) -> Sequence[str]:
    """Return what a limit has that a bucket of each client has not."""
    found = [f"it had `{name}`" for name in NOT_SAID if getattr(limit, name)]
    found += [] if limit.cost == 1 else ["requests had costs"]
    found += ["it only counted, and rejected no one"] if limit.shadow else []
    return [*found, *([] if limit.missing_key == "address" else [f"requests without a key: {limit.missing_key}"])]


READERS: Mapping[str, Callable[[Entry, WrittenFields], ProxySettings]] = {
    Gateway.kind: _of_gateway,
    Nginx.kind: _of_nginx,
}
