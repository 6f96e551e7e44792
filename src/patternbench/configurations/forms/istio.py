"""Istio's VirtualService and DestinationRule for one host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from patternbench.configurations import mesh
from patternbench.configurations.amounts import COUNT, FLAG, FURTHER, KUBERNETES, PERCENT, TEXT
from patternbench.configurations.failures import failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import Patterns, fields, listed, part_of
from patternbench.configurations.proxies import NO_PROXY, FieldGroup, ProxySettings, longest_pauses
from patternbench.configurations.proxy_statements import GroupListing, Writer, statements_of
from patternbench.configurations.reading.retry_on import STATUS_CODES
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
from patternbench.study.workload.policies import Policy, StackedRetry
from patternbench.terms.units import Duration

RETRIES, POOL, OUTLIERS = "http[].retries", "trafficPolicy.connectionPool", "trafficPolicy.outlierDetection"
UNLIMITED = 2**31 - 1
FIELDS = (
    Field("http[].timeout", "timeout", KUBERNETES, about="of the whole answer, retries included"),
    Field(f"{RETRIES}.attempts", "retry.max_attempts", FURTHER, 2, "further attempts; 0 for none"),
    Field(f"{RETRIES}.perTryTimeout", "timeout", KUBERNETES, about="of each attempt"),
    Field(f"{RETRIES}.retryOn", "retry.on", TEXT, "connect-failure,refused-stream,unavailable,cancelled,503"),
    Field(f"{RETRIES}.backoff", "retry.backoff.exponential.initial", KUBERNETES, "25ms", mesh.DOUBLES),
    Field(f"{RETRIES}.retryIgnorePreviousHosts", "", FLAG, True, "whether a retry goes to another host"),
    Field(f"{POOL}.tcp.maxConnections", "bulkhead.max_concurrent", COUNT, 2**32 - 1, "over HTTP/1.1"),
    Field(f"{POOL}.http.http1MaxPendingRequests", "bulkhead.max_waiting", COUNT, 2**32 - 1),
    Field(f"{POOL}.http.http2MaxRequests", "bulkhead.max_concurrent", COUNT, 2**32 - 1),
    Field(f"{POOL}.http.maxRetries", "", COUNT, 2**32 - 1, "retries on their way at the same time"),
    Field("trafficPolicy.retryBudget.percent", "retry_budget.ratio", PERCENT, 20, "of requests under way"),
    Field("trafficPolicy.retryBudget.minRetryConcurrency", "", COUNT, 3),
    Field(f"{OUTLIERS}.consecutive5xxErrors", "circuit_breaker.window.calls", COUNT, 5, "of one host"),
    Field(f"{OUTLIERS}.baseEjectionTime", "circuit_breaker.open_for", KUBERNETES, "30s"),
    Field(f"{OUTLIERS}.interval", "", KUBERNETES, "10s", "how often hosts are let in again"),
    Field(f"{OUTLIERS}.maxEjectionPercent", "", PERCENT, 10),
)
"""Source: ``networking.istio.io/v1`` of Istio's API."""
OF = Fields(FIELDS)
PROXY_FIELDS = (
    Field("trafficPolicy.loadBalancer.simple", "", TEXT, "LEAST_REQUEST"),
    Field(f"{OUTLIERS}.consecutiveGatewayErrors", "", COUNT, 0, "502, 503 and 504 of one host; 0 for none"),
    Field(f"{OUTLIERS}.minHealthPercent", "", PERCENT, 0, "with fewer hosts that are well all are asked"),
    Field(f"{POOL}.tcp.connectTimeout", "", KUBERNETES, "10s"),
    Field(f"{POOL}.http.idleTimeout", "", KUBERNETES, "1h"),
)
"""What only a proxy of the measured system says."""
PROXY = Fields(PROXY_FIELDS)
BOUND_FIELDS: Mapping[str, str] = {
    "max_connections": "tcp.maxConnections",
    "max_pending_requests": "http1MaxPendingRequests",
    "max_requests": "http2MaxRequests",
    "max_retries": "http.maxRetries",
}
BOUNDS = mesh.Pool(
    OF("tcp.maxConnections"),
    OF("http1MaxPendingRequests"),
    OF("http2MaxRequests"),
    OF("http.maxRetries"),
    OF("retryBudget.percent"),
    OF("minRetryConcurrency"),
)
LEAVING_OUT = mesh.Outliers(
    OF("consecutive5xxErrors"),
    OF("baseEjectionTime"),
    OF(f"{OUTLIERS}.interval"),
    OF("maxEjectionPercent"),
    Duration.parse("1ms"),
)
MOST_CODES = 20
"""More statuses than this are not listed one by one."""
ONCE = ("retry", "bulkhead", "circuit_breaker", "retry_budget")
NO_LIMIT = "it has no limit of its own: that takes an EnvoyFilter"
NO_SUCH = {"rate_limit": NO_LIMIT, "hedge": "it has no hedge"}


def statements(patterns: Patterns) -> Iterator[Statement]:
    """Yield what is said of each policy."""
    lengths = mesh.times(patterns)
    yield from mesh.says_times(OF("http[].timeout"), lengths.call)
    again = mesh.first_of(patterns, "retry")
    if again and again[1].retry:
        yield from _retry(again[0], again[1].retry)
        yield from mesh.says_times(OF("perTryTimeout"), lengths.attempt, lengths.call)
    else:
        yield sets(OF("attempts"), 0)
        yield from mesh.without_retry(lengths)
    yield from BOUNDS.says(patterns, UNLIMITED)
    yield from mesh.further(patterns, ONCE)
    for name, policy in patterns.named:
        if name == "circuit_breaker":
            yield from LEAVING_OUT.says(name, policy)
        elif policy.kind in NO_SUCH:
            yield from cannot_any(fields(name, policy), NO_SUCH[policy.kind])


def _retry(name: str, retry: StackedRetry) -> Iterator[Statement]:
    yield says(OF("attempts"), f"{name}.max_attempts", retry.max_attempts.level)
    waits = mesh.waits(retry, tenfold=True)
    (first, _), *others = part_of("backoff", name, Policy(retry=retry))
    why = f"{mesh.DOUBLES}, up to ten times the first"
    backoff = says(OF("backoff"), first, retry.backoff.first.level, amount=waits.base)
    yield backoff if waits.same else nearly(backoff, why)
    theirs = OF("backoff").line(waits.base)
    for ours, value in (*others, (f"{name}.jitter", str(retry.jitter.level))):
        yield means(ours, value, theirs) if waits.same else roughly(ours, value, theirs, why)
    yield _failures(f"{name}.on", retry)
    yield sets(OF("retryIgnorePreviousHosts"), written=False)
    longest = retry.retry_after_max.level
    after = f"{name}.retry_after_max"
    yield cannot(after, longest, "it does not honour Retry-After") if longest.us else means(after, longest)


def _failures(ours: str, retry: StackedRetry) -> Statement:
    chosen = failures(retry.on)
    found = mesh.retry_on(chosen)
    servers = ["5xx"] if found.statuses >= mesh.SERVER_ERRORS else []
    alone = sorted(found.statuses - (mesh.SERVER_ERRORS if servers else frozenset()))
    codes = alone if len(alone) <= MOST_CODES else []
    setting = ",".join([*found.words, *servers, *map(str, codes)])
    lost = servers and "reset" not in found.words
    differs = [found.differs, chosen.unknown, "5xx includes answers that never came" if lost else ""]
    differs.append("" if codes == alone else f"{len(alone)} statuses below 500 are not tried again")
    text = listed(retry.on) if retry.on else "all failures"
    statement = Statement(OF("retryOn").place, setting, means(ours, text, f"retryOn: {setting}").mapped)
    return nearly_if(statement, reasons(*differs))


BALANCERS: Mapping[str, str] = {
    "round_robin": "ROUND_ROBIN",
    "weighted": "ROUND_ROBIN",
    "random": "RANDOM",
    "least_request": "LEAST_REQUEST",
}
OF_TWO = 2
"""Among how many hosts Istio looks for the one with the fewest requests."""
TENFOLD = 10
"""How many times the first pause of Istio's retries the longest one is."""


def _proxy_retries(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    retries = proxy.retries
    yield listing.says("num_retries", OF("attempts"), retries.num_retries + 1)
    codes = retries.retriable_status_codes if STATUS_CODES in retries.retry_on else []
    words = ",".join([*(word for word in retries.retry_on if word != STATUS_CODES), *map(str, codes)])
    yield listing.says("retry_on", OF("retryOn"), words)
    yield listing.means("retriable_status_codes", f"retryOn: {words}")
    if retries.per_try_timeout.us:
        yield listing.says("per_try_timeout", OF("perTryTimeout"), retries.per_try_timeout)
    yield listing.says("base_interval", OF("backoff"), retries.base_interval)
    tenfold = Duration(TENFOLD * retries.base_interval.us)
    same = longest_pauses(retries, tenfold) == longest_pauses(retries, retries.max_interval)
    differs = "" if same else "its longest pause is ten times the first"
    yield listing.means("max_interval", OF("backoff").line(retries.base_interval), differs)
    yield listing.says("other_host", OF("retryIgnorePreviousHosts"), retries.other_host)


def _proxy_timeout(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield listing.says("timeout", OF("http[].timeout"), proxy.timeout)


def _proxy_balancing(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    cluster = proxy.cluster
    yield listing.says("balancing", PROXY("loadBalancer.simple"), BALANCERS[cluster.balancing])
    differs = "" if cluster.choice_count == OF_TWO else "it asks the better of two"
    yield listing.means("choice_count", "simple: LEAST_REQUEST", differs)
    if len(cluster.weights) <= 1:
        yield listing.means("weights", "simple: ROUND_ROBIN")


def _proxy_bounds(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    for name, field in BOUND_FIELDS.items():
        limit = getattr(proxy.cluster.circuit_breakers, name)
        if limit is not None:
            yield listing.says(name, OF(field), limit)


def _proxy_outliers(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    found = proxy.cluster.outlier_detection
    yield listing.says("consecutive_5xx", OF("consecutive5xxErrors"), found.consecutive_5xx or 0)
    yield listing.says(
        "consecutive_gateway_failure", PROXY("consecutiveGatewayErrors"), found.consecutive_gateway_failure or 0
    )
    yield listing.says("interval", OF(f"{OUTLIERS}.interval"), found.interval)
    yield listing.says("base_ejection_time", OF("baseEjectionTime"), found.base_ejection_time)
    yield listing.says("max_ejection_percent", OF("maxEjectionPercent"), found.max_ejection_percent)
    yield listing.says("panic_threshold", PROXY("minHealthPercent"), proxy.cluster.panic_threshold)


def _proxy_connections(listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
    yield listing.says("connect_timeout", PROXY("connectTimeout"), proxy.cluster.connect_timeout)
    if proxy.cluster.idle_timeout.us:
        yield listing.says("idle_timeout", PROXY("idleTimeout"), proxy.cluster.idle_timeout)


OF_PROXIES: Mapping[FieldGroup, Writer] = {
    FieldGroup.RETRIES: _proxy_retries,
    FieldGroup.TIMEOUT: _proxy_timeout,
    FieldGroup.BALANCING: _proxy_balancing,
    FieldGroup.BOUNDS: _proxy_bounds,
    FieldGroup.OUTLIERS: _proxy_outliers,
    FieldGroup.CONNECTIONS: _proxy_connections,
}
"""How each group of fields of the measured proxy is said."""
ABSENT: Mapping[FieldGroup, str] = {
    FieldGroup.BALANCING: "the weights of hosts are those of their WorkloadEntry",
    FieldGroup.LIMIT: NO_LIMIT,
    FieldGroup.FURTHER: NO_LIMIT,
    FieldGroup.ADAPTIVE: "it has no adaptive bound of its own: that takes an EnvoyFilter",
}


def write(patterns: Patterns, target: GuardedService, proxy: ProxySettings = NO_PROXY) -> WrittenConfiguration:
    """Write policies, and the settings of a measured proxy, as a VirtualService and a DestinationRule of one host."""
    found = statements_of(patterns, proxy, statements, OF_PROXIES, ABSENT)
    if not found.expressible:
        return WrittenConfiguration("", mapped(found.statements))
    parts = tree(found.statements)
    http, policy = part(parts, "http", listed=True), part(parts, "trafficPolicy")
    route = [{"destination": {"host": target.host, "port": {"number": target.port}}}]
    service = _object("VirtualService", target, {"hosts": [target.host], "http": [{"route": route, **http}]})
    rule = _object("DestinationRule", target, {"host": target.host, "trafficPolicy": policy})
    return WrittenConfiguration(yaml_of(service, rule), mapped(found.statements))


def _object(kind: str, target: GuardedService, spec: Tree) -> Tree:
    return {"apiVersion": "networking.istio.io/v1", "kind": kind, "metadata": {"name": target.name}, "spec": spec}


FORM = Form(
    name="istio",
    product="Istio, networking.istio.io/v1 (VirtualService and DestinationRule)",
    file="istio.yaml",
    comment="#",
    checked="our tests hold such files against Istio's published schemas only: no mesh has run them",
    fields=FIELDS,
    write=write,
    with_proxy=write,
)
