"""A bootstrap of Envoy with one listener, one route and one cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from patternbench.configurations import mesh
from patternbench.configurations.amounts import COUNT, FLAG, FURTHER, PERCENT, PROTOBUF, PROTOBUF_MS, TEXT
from patternbench.configurations.failures import FIRST_FAILURE, LAST_STATUS, Failures, failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import Patterns, fields, listed, part_of
from patternbench.configurations.proxies import NO_PROXY, FieldGroup, ProxyField, ProxySettings, RequestLimit
from patternbench.configurations.proxy_statements import GroupListing, Writer, statements_of
from patternbench.configurations.statement import (
    Fields,
    Statement,
    Tree,
    cannot,
    cannot_any,
    mapped,
    means,
    nearly,
    nearly_if,
    part,
    reasons,
    roughly,
    says,
    sets,
    tree,
)
from patternbench.configurations.yaml_text import yaml_of
from patternbench.lab.config import gateway_config
from patternbench.lab.config.envoy_config import TYPES, http_filter, is_loopback, listener, router
from patternbench.lab.config.gateways import LocalLimit
from patternbench.study.workload.policies import Policy, RateLimit, StackedRetry
from patternbench.terms.units import Duration

RETRY, BACK_OFF = "route.retry_policy", "route.retry_policy.retry_back_off"
THRESHOLDS, OUTLIERS = "cluster.circuit_breakers.thresholds[]", "cluster.outlier_detection"
BUCKET = "http_filters[].local_ratelimit.token_bucket"
LIMITS_OF_HOST = "virtual_host.typed_per_filter_config"
FIELDS = (
    Field("route.timeout", "timeout", PROTOBUF_MS, "15s", "of the whole answer, retries included; 0s for none"),
    Field(f"{RETRY}.retry_on", "retry.on", TEXT, about="without it nothing is tried again"),
    Field(f"{RETRY}.retriable_status_codes[]", "retry.on", COUNT),
    Field(f"{RETRY}.retriable_headers[]", "retry.on", TEXT, about="with `:status`, ranges of statuses"),
    Field(f"{RETRY}.num_retries", "retry.max_attempts", FURTHER, 1),
    Field(f"{RETRY}.per_try_timeout", "timeout", PROTOBUF_MS, about="of each attempt"),
    Field(
        f"{RETRY}.retry_back_off.base_interval",
        "retry.backoff.exponential.initial",
        PROTOBUF_MS,
        "0.025s",
        mesh.DOUBLES,
    ),
    Field(f"{BACK_OFF}.max_interval", "retry.backoff.exponential.max", PROTOBUF_MS, about="10 x base_interval"),
    Field(f"{RETRY}.rate_limited_retry_back_off.max_interval", "retry.retry_after_max", PROTOBUF_MS, "300s"),
    Field("route.hedge_policy.hedge_on_per_try_timeout", "hedge.delay", FLAG, default=False),
    Field(f"{THRESHOLDS}.max_connections", "bulkhead.max_concurrent", COUNT, 1024, "over HTTP/1.1"),
    Field(f"{THRESHOLDS}.max_pending_requests", "bulkhead.max_waiting", COUNT, 1024),
    Field(f"{THRESHOLDS}.max_requests", "bulkhead.max_concurrent", COUNT, 1024),
    Field(f"{THRESHOLDS}.max_retries", "", COUNT, 3, "retries on their way at the same time"),
    Field(f"{THRESHOLDS}.retry_budget.budget_percent.value", "retry_budget.ratio", PERCENT, 20, "of all under way"),
    Field(f"{THRESHOLDS}.retry_budget.min_retry_concurrency", "", COUNT, 3),
    Field(f"{OUTLIERS}.consecutive_5xx", "circuit_breaker.window.calls", COUNT, 5, "of one host"),
    Field(f"{OUTLIERS}.base_ejection_time", "circuit_breaker.open_for", PROTOBUF_MS, "30s"),
    Field(f"{OUTLIERS}.interval", "", PROTOBUF_MS, "10s", "how often hosts are let in again"),
    Field(f"{OUTLIERS}.max_ejection_percent", "", PERCENT, 10),
    Field(f"{BUCKET}.max_tokens", "rate_limit.burst", COUNT),
    Field(f"{BUCKET}.tokens_per_fill", "rate_limit.calls", COUNT, 1),
    Field(f"{BUCKET}.fill_interval", "rate_limit.per", PROTOBUF, about="50 ms at least"),
)
"""Source: the API of Envoy 1.40 (``envoy.config.route.v3``, ``envoy.config.cluster.v3``)."""
OF = Fields(FIELDS)
POOL = mesh.Pool(
    OF("max_connections"),
    OF("max_pending_requests"),
    OF("max_requests"),
    OF("max_retries"),
    OF("budget_percent.value"),
    OF("min_retry_concurrency"),
)
LEAVING_OUT = mesh.Outliers(
    OF("consecutive_5xx"),
    OF("base_ejection_time"),
    OF(f"{OUTLIERS}.interval"),
    OF("max_ejection_percent"),
    Duration.parse("1ms"),
)
SHORTEST_FILL = Duration.parse("50ms")
"""Envoy's shortest interval between tokens."""
PORT = 10_000
AFTER = {"name": "Retry-After", "format": "SECONDS"}
THRESHOLD_NAMES = ("max_connections", "max_pending_requests", "max_requests", "max_retries")
ONCE = ("retry", "bulkhead", "circuit_breaker", "rate_limit", "retry_budget")


def statements(patterns: Patterns) -> Iterator[Statement]:
    """Yield what is said of each policy."""
    lengths = mesh.times(patterns)
    yield from mesh.says_times(OF("route.timeout"), lengths.call)
    if not lengths.call:
        yield sets(OF("route.timeout"), "0s")
    again = mesh.first_of(patterns, "retry")
    if again and again[1].retry:
        yield from _retry(again[0], again[1].retry)
        yield from mesh.says_times(OF("per_try_timeout"), lengths.attempt, lengths.call)
    else:
        yield from mesh.without_retry(lengths)
    yield from POOL.says(patterns, mesh.UNLIMITED)
    yield from mesh.further(patterns, ONCE)
    for name, policy in patterns.named:
        yield from _other(name, policy, patterns)


def _other(name: str, policy: Policy, patterns: Patterns) -> Iterator[Statement]:
    if name == "circuit_breaker":
        yield from LEAVING_OUT.says(name, policy)
    elif name == "rate_limit" and policy.rate_limit:
        yield from _limit(name, policy.rate_limit, inside=patterns.is_of_attempts(name))
    elif policy.hedge:
        yield from cannot_any(fields(name, policy), "its hedges begin when an attempt times out, and count as retries")


def _retry(name: str, retry: StackedRetry) -> Iterator[Statement]:
    yield says(OF("num_retries"), f"{name}.max_attempts", retry.max_attempts.level)
    waits = mesh.waits(retry)
    parts = part_of("backoff", name, Policy(retry=retry))
    (first, _), *others = parts
    base = says(OF("base_interval"), first, retry.backoff.first.level, amount=waits.base)
    yield base if waits.same else nearly(base, mesh.DOUBLES)
    longest = OF(f"{BACK_OFF}.max_interval")
    yield sets(longest, longest.amount.write(waits.longest))
    theirs = f"{OF('base_interval').line(waits.base)}, {longest.line(waits.longest)}"
    for ours, value in (*others, (f"{name}.jitter", str(retry.jitter.level))):
        yield means(ours, value, theirs) if waits.same else roughly(ours, value, theirs, mesh.DOUBLES)
    yield from _failures(f"{name}.on", retry)
    yield from _after(f"{name}.retry_after_max", retry)


def _failures(ours: str, retry: StackedRetry) -> Iterator[Statement]:
    found = mesh.retry_on(failures(retry.on))
    words = [*found.words, *(["retriable-headers"] if found.statuses else [])]
    text = listed(retry.on) if retry.on else "all failures"
    statement = Statement(
        OF("retry_on").place, ",".join(words), means(ours, text, f"retry_on: {','.join(words)}").mapped
    )
    yield nearly_if(statement, reasons(found.differs, failures(retry.on).unknown))
    if found.statuses:
        yield Statement(f"{RETRY}.retriable_headers", [_status(low, high) for low, high in _ranges(found.statuses)])


def _ranges(statuses: frozenset[int]) -> list[tuple[int, int]]:
    return Failures(statuses & {*range(FIRST_FAILURE, LAST_STATUS + 1)}, False, False, False).ranges


def _status(low: int, high: int) -> Tree:
    """Match statuses from a lowest to a highest, by the header as which Envoy holds them."""
    return {"name": ":status", "range_match": {"start": low, "end": high + 1}}


def _after(ours: str, retry: StackedRetry) -> Iterator[Statement]:
    longest = retry.retry_after_max.level
    if not longest.us:
        yield means(ours, longest)
        return
    yield Statement(f"{RETRY}.rate_limited_retry_back_off.reset_headers", [AFTER])
    field = OF(f"{RETRY}.rate_limited_retry_back_off.max_interval")
    yield nearly(says(field, ours, longest), "it waits up to half as long again, and what is longer it does not honour")


def _limit(name: str, limit: RateLimit, inside: bool) -> Iterator[Statement]:
    """Say a bucket that fills by one token, or by as many as its shortest interval needs."""
    why = "it counts calls, and not attempts" if inside else ""
    each = Duration(limit.per.level.us // limit.calls.level)
    tokens = max(1, -(-SHORTEST_FILL.us // max(each.us, 1)))
    interval = Duration(limit.per.level.us * tokens // limit.calls.level)
    even = tokens == 1 and each.us * limit.calls.level == limit.per.level.us
    differs = reasons(why, "" if even else "it fills in steps of 50 ms at least")
    burst = max(limit.burst.level, tokens)
    all_statements = [
        says(OF("max_tokens"), f"{name}.burst", limit.burst.level, amount=burst),
        says(OF("tokens_per_fill"), f"{name}.calls", limit.calls.level, amount=tokens),
        says(OF("fill_interval"), f"{name}.per", limit.per.level, amount=interval),
    ]
    yield from (nearly_if(one, differs) for one in all_statements)
    wait = limit.max_wait.level
    yield cannot(f"{name}.max_wait", wait, "no call waits for a token") if wait.us else means(f"{name}.max_wait", wait)
    yield mesh.shared(f"{name}.scope", limit.scope.level)


ENVOYS_NAMES: Mapping[str, str] = {
    "balancing": "lb_policy",
    "panic_threshold": "healthy_panic_threshold",
    "per": "descriptors",
    "max_descriptors": "max_dynamic_descriptors",
}
"""Envoy's names of fields of a gateway that are called otherwise in a system file."""
LIMIT_OFF = http_filter(gateway_config.LIMIT_FILTER, gateway_config.LIMIT, stat_prefix="limit")
"""The filter of limits, which does nothing where a host or a route does not say so."""


def _alike(listing: GroupListing, differs: str = "", but: Collection[str] = ()) -> Iterator[Statement]:
    """Say the fields of a group, which were the same in the measured Envoy."""
    told = (one for leaf, one in listing.fields.items() if leaf not in but)
    return (listing.means(one.leaf, _envoys_line(one), differs) for one in told)


def _envoys_line(one: ProxyField) -> str:
    if one.leaf == "other_host":
        return "retry_host_predicate: previous_hosts" if one.value == "true" else ""
    name = one.leaf.rpartition(".")[2]
    return f"{ENVOYS_NAMES.get(name, name)}: {_envoys_value(one.value)}"


def _envoys_value(text: str) -> str:
    with suppress(ValueError):
        return str(PROTOBUF.write(Duration.parse(text)))
    return gateway_config.BALANCERS.get(text, text)


def _proxy_retries(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield Statement(RETRY, gateway_config.retry_policy(proxy.retries))
    yield from _alike(listing)


def _proxy_timeout(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield listing.says("timeout", OF("route.timeout"), proxy.timeout)


def _proxy_balancing(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    """Say which host is asked; the file names one address, behind which there may be several."""
    cluster = proxy.cluster
    yield Statement("cluster.lb_policy", gateway_config.BALANCERS[cluster.balancing])
    if cluster.balancing == "least_request":
        yield Statement("cluster.least_request_lb_config", {"choice_count": cluster.choice_count})
    yield from _alike(listing, but=("weights",) if len(cluster.weights) > 1 else ())


def _proxy_bounds(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    for name in THRESHOLD_NAMES:
        limit = getattr(proxy.cluster.circuit_breakers, name)
        if limit is not None:
            yield listing.says(name, OF(f"{THRESHOLDS}.{name}"), limit)


def _proxy_outliers(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield Statement(OUTLIERS, gateway_config.outlier_detection(proxy.cluster.outlier_detection))
    yield Statement("cluster.common_lb_config", gateway_config.common_balancing(proxy.cluster))
    yield from _alike(listing)


def _proxy_connections(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield Statement("cluster.connect_timeout", PROTOBUF.write(proxy.cluster.connect_timeout))
    yield Statement("cluster.typed_extension_protocol_options", gateway_config.protocol(proxy.cluster.idle_timeout))
    yield from _alike(listing)


def _proxy_limit(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    """Say the limit of a gateway as it was, and one of nginx's filter as a bucket of each client."""
    limit = proxy.limit
    differs = reasons(limit.differs if limit else "", proxy.calls_only)
    if proxy.local_limit is not None:
        yield Statement(LIMITS_OF_HOST, gateway_config.limiting(proxy.local_limit))
        yield from _alike(listing, differs)
    elif limit is not None:
        yield from _bucket(listing, limit, differs)


def _bucket(listing: GroupListing, limit: RequestLimit, differs: str) -> Iterator[Statement]:
    """Say a bucket; an interval that is too short for Envoy becomes a multiple of itself."""
    times = max(1, -(-SHORTEST_FILL.us // max(limit.per.us, 1)))
    calls, interval = limit.calls * times, Duration(limit.per.us * times)
    own = LocalLimit(max_tokens=limit.burst, tokens_per_fill=calls, fill_interval=interval, per=limit.header)
    yield Statement(LIMITS_OF_HOST, gateway_config.limiting(own))
    late = "it rejects at once what had to wait its turn" if limit.waits else ""
    alike = "requests without the header share one bucket" if limit.else_by_address else ""
    lines = {
        **dict.fromkeys(("algorithm", "store", "grace"), "token_bucket"),
        **dict.fromkeys(("key", "key.from", "key.name"), f"descriptors: {limit.header}"),
        "burst": f"max_tokens: {limit.burst}",
        "limit": f"tokens_per_fill: {calls}",
        "window": f"fill_interval: {PROTOBUF.write(interval)}",
    }
    yield from (listing.means(leaf, line, reasons(differs, late, alike)) for leaf, line in lines.items())


def _proxy_adaptive(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield Statement("filters.adaptive", gateway_config.adapting(proxy.adaptive))
    yield from _alike(listing, proxy.calls_only)


OF_PROXIES: Mapping[FieldGroup, Writer] = {
    FieldGroup.RETRIES: _proxy_retries,
    FieldGroup.TIMEOUT: _proxy_timeout,
    FieldGroup.BALANCING: _proxy_balancing,
    FieldGroup.BOUNDS: _proxy_bounds,
    FieldGroup.OUTLIERS: _proxy_outliers,
    FieldGroup.CONNECTIONS: _proxy_connections,
    FieldGroup.LIMIT: _proxy_limit,
    FieldGroup.ADAPTIVE: _proxy_adaptive,
}
"""How each group of fields of the measured proxy is said."""
ABSENT: Mapping[FieldGroup, str] = {
    FieldGroup.BALANCING: "the file names one address of the service",
    FieldGroup.LIMIT: "its local limit asks no store, and knows no other way of counting",
    FieldGroup.FURTHER: "the file has one limit",
}


def write(patterns: Patterns, target: GuardedService, proxy: ProxySettings = NO_PROXY) -> WrittenConfiguration:
    """Write policies, and the settings of a measured proxy, as a bootstrap that ``envoy --mode validate`` takes."""
    found = statements_of(patterns, proxy, statements, OF_PROXIES, ABSENT)
    if not found.expressible:
        return WrittenConfiguration("", mapped(found.statements))
    return WrittenConfiguration(yaml_of(_bootstrap(tree(found.statements), target)), mapped(found.statements))


def _bootstrap(parts: Tree, target: GuardedService) -> Tree:
    rewrite = {} if is_loopback(f"http://{target.host}") else {"auto_host_rewrite": True}
    action = {"cluster": target.name, **part(parts, "route"), "idle_timeout": "0s", **rewrite}
    routes = [{"match": {"prefix": "/"}, "route": action}]
    host = {"name": target.name, "domains": ["*"], **part(parts, "virtual_host"), "routes": routes}
    entry = listener(PORT, target.name, route_config={"virtual_hosts": [host]}, http_filters=_filters(parts))
    return {"static_resources": {"listeners": [entry], "clusters": [_cluster(part(parts, "cluster"), target)]}}


def _filters(parts: Tree) -> list[object]:
    """Return the filters in their order: limits first, so that an adaptive bound sees only what goes on."""
    limits = [_limiter(part(parts, "http_filters", listed=True))] if "http_filters" in parts else []
    by_route = [LIMIT_OFF] if part(parts, "virtual_host") else []
    adaptive = part(parts, "filters").get("adaptive", [])
    return [*limits, *by_route, *(adaptive if isinstance(adaptive, list) else []), router()]


def _limiter(bucket: Tree) -> dict[str, object]:
    always = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
    return http_filter(
        "envoy.filters.http.local_ratelimit",
        "local_ratelimit.v3.LocalRateLimit",
        stat_prefix="limit",
        **part(bucket, "local_ratelimit"),
        filter_enabled=always,
        filter_enforced=always,
    )


def _cluster(parts: Tree, target: GuardedService) -> Tree:
    socket = {"socket_address": {"address": target.host, "port_value": target.port}}
    hosts = [{"endpoint": {"address": socket, "hostname": target.host}}]
    kind = "extensions.upstreams.http.v3.HttpProtocolOptions"
    options = {"@type": f"{TYPES}.{kind}", "explicit_http_config": {"http_protocol_options": {}}}
    rest = {
        "load_assignment": {"cluster_name": target.name, "endpoints": [{"lb_endpoints": hosts}]},
        "typed_extension_protocol_options": {f"envoy.{kind}": options},
    }
    return {
        "name": target.name,
        "type": "STRICT_DNS",
        "dns_lookup_family": "V4_PREFERRED",
        "connect_timeout": "5s",
        **{name: value for name, value in parts.items() if name not in rest},
        **{name: parts.get(name, value) for name, value in rest.items()},
    }


FORM = Form(
    name="envoy",
    product="Envoy 1.40 (bootstrap in YAML: take its route and its cluster)",
    file="envoy.yaml",
    comment="#",
    checked="`envoy --mode validate` takes such files in our tests, and an Envoy retries and rejects as they say",
    fields=FIELDS,
    write=write,
    with_proxy=write,
)
