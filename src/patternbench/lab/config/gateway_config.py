"""A gateway's configuration as Envoy reads it: a fixed part, and files of clusters and routes that it watches.

Every number of the fixed API that has a default in Envoy is said, so that none acts unseen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from patternbench.lab.announced import LIMIT_STAT, STAT
from patternbench.lab.config.envoy_config import (
    THRESHOLDS,
    TYPES,
    UNLIMITED,
    address,
    address_of,
    http_filter,
    is_loopback,
    listener,
    router,
)
from patternbench.lab.config.gateways import (
    NO_TIME,
    AdaptiveConcurrency,
    CircuitBreakers,
    Cluster,
    LocalLimit,
    OutlierDetection,
    Retries,
    Route,
    TokenBucket,
)
from patternbench.lab.host.references import reference
from patternbench.terms.units import Duration

CLUSTERS, ROUTES = "clusters.json", "routes.json"
ENDLESS = 4_000_000_000
"""Tokens of a bucket that never runs out: nearly the most that Envoy can count."""
MOST_DRAWS = 100
"""How often another host is drawn for a retry: among two, one in 2^100 goes to the same."""
ROUTE_CONFIG = "routes"
LIMIT_FILTER = "envoy.filters.http.local_ratelimit"
LIMIT = "local_ratelimit.v3.LocalRateLimit"
ADAPTIVE_FILTER = "envoy.filters.http.adaptive_concurrency"
ADAPTIVE = "adaptive_concurrency.v3.AdaptiveConcurrency"
BALANCERS = {
    "round_robin": "ROUND_ROBIN",
    "weighted": "ROUND_ROBIN",
    "random": "RANDOM",
    "least_request": "LEAST_REQUEST",
}
LIMITED = {"header": {"key": "x-envoy-ratelimited", "value": "true"}}
"""Distinguishes the answers of a limit from a 429 of the service. ``envoy-ratelimited`` retries use it."""
CHANGE = reference("self", "change")
NOW_AND_ALWAYS = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}


@dataclass(frozen=True)
class Upstreams:
    """A cluster with the URLs of its hosts, or references to them, and how it speaks TLS to them, if it does."""

    cluster: Cluster
    urls: Sequence[str]
    tls: Mapping[str, object]


def bootstrap(
    names: Collection[str], folder: str, port: int | str, admin: int | str, adaptive: AdaptiveConcurrency
) -> dict[str, object]:
    """Return the part that does not change while it runs; ``names`` are those of its clusters.

    They are in it so that a gateway with other clusters is restarted: routes and clusters are read one after the
    other, and a route to a cluster that is not there yet would fail requests. Limits come before the adaptive
    bound, so that it sees only what goes on to a service.
    """
    filters = [http_filter(LIMIT_FILTER, LIMIT, stat_prefix="off"), *adapting(adaptive), router()]
    routes = {"route_config_name": ROUTE_CONFIG, "config_source": _watched(f"{folder}/{ROUTES}")}
    return {
        "node": {"id": STAT, "cluster": STAT, "metadata": {"clusters": sorted(names)}},
        "admin": {"address": address("127.0.0.1", admin)},
        "dynamic_resources": {"cds_config": _watched(f"{folder}/{CLUSTERS}")},
        "static_resources": {"listeners": [listener(port, STAT, rds=routes, http_filters=filters)]},
    }


def clusters(upstreams: Mapping[str, Upstreams]) -> dict[str, object]:
    """Return the file of clusters."""
    return _discovered("cluster.v3.Cluster", [_cluster(name, hosts) for name, hosts in upstreams.items()])


def routes(written: Sequence[Route], upstreams: Mapping[str, Upstreams], limit: LocalLimit) -> dict[str, object]:
    """Return the file of routes; a ``limit`` over all of them, but for those with one of their own."""
    host: dict[str, object] = {"name": STAT, "domains": ["*"], "typed_per_filter_config": limiting(limit)}
    host["routes"] = [_route(route, upstreams[route.to]) for route in written]
    config = {"name": ROUTE_CONFIG, "virtual_hosts": [host]}
    return _discovered("route.v3.RouteConfiguration", [config])


def adapting(adaptive: AdaptiveConcurrency) -> list[dict[str, object]]:
    """Return the filter of the adaptive bound; none without one."""
    if adaptive.max_concurrency_limit is None:
        return []
    limits = {
        "max_concurrency_limit": adaptive.max_concurrency_limit,
        "concurrency_update_interval": seconds(adaptive.update_interval),
    }
    idle = {
        "interval": seconds(adaptive.min_rtt_interval),
        "request_count": adaptive.min_rtt_requests,
        "jitter": {"value": adaptive.min_rtt_jitter},
        "min_concurrency": adaptive.min_concurrency,
        "buffer": {"value": adaptive.buffer},
    }
    sampled = {"value": adaptive.sample_percentile}
    gradient = {
        "sample_aggregate_percentile": sampled,
        "concurrency_limit_params": limits,
        "min_rtt_calc_params": idle,
    }
    return [http_filter(ADAPTIVE_FILTER, ADAPTIVE, gradient_controller_config=gradient)]


def _watched(path: str) -> dict[str, object]:
    return {"path_config_source": {"path": path}, "resource_api_version": "V3"}


def _discovered(kind: str, resources: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return a file that Envoy watches.

    Each resource has the change's number; an unchanged resource keeps its state.
    """
    metadata = {"filter_metadata": {"patternbench": {"change": CHANGE}}}
    typed = [{"@type": f"{TYPES}.config.{kind}", "metadata": metadata, **resource} for resource in resources]
    return {"version_info": CHANGE, "resources": typed}


def _cluster(name: str, upstreams: Upstreams) -> dict[str, object]:
    cluster = upstreams.cluster
    hosts = [_host(url, weight) for url, weight in zip(upstreams.urls, _weights(upstreams), strict=True) if weight]
    config: dict[str, object] = {
        "name": name,
        "type": "STRICT_DNS",
        "dns_lookup_family": "V4_PREFERRED",
        "connect_timeout": seconds(cluster.connect_timeout),
        "lb_policy": BALANCERS[cluster.balancing],
        "common_lb_config": common_balancing(cluster),
        "circuit_breakers": {"thresholds": [_thresholds(cluster.circuit_breakers)]},
        "outlier_detection": outlier_detection(cluster.outlier_detection),
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": hosts}]},
        "typed_extension_protocol_options": protocol(cluster.idle_timeout),
        **upstreams.tls,
    }
    if cluster.balancing == "least_request":
        config["least_request_lb_config"] = {"choice_count": cluster.choice_count}
    return config


def common_balancing(cluster: Cluster) -> dict[str, object]:
    """Return what holds for any way of balancing: when hosts that are left out are used all the same."""
    return {
        "healthy_panic_threshold": {"value": cluster.panic_threshold},
        "update_merge_window": seconds(cluster.update_merge_window),
    }


def _weights(upstreams: Upstreams) -> Sequence[int]:
    """Return the weight of each host. One weight is that of all; a single host gets everything, with any weight."""
    weights = upstreams.cluster.weights
    weighted = upstreams.cluster.balancing == "weighted" and len(upstreams.urls) == len(weights)
    return weights if weighted and len(weights) > 1 else [1] * len(upstreams.urls)


def _host(url: str, weight: int) -> dict[str, object]:
    hostname = {} if is_loopback(url) else {"hostname": urlsplit(url).netloc}
    return {"endpoint": {"address": address_of(url), **hostname}, "load_balancing_weight": weight}


def _thresholds(breakers: CircuitBreakers) -> dict[str, int]:
    limits = {name: getattr(breakers, name) for name in THRESHOLDS}
    return {name: UNLIMITED if limit is None else limit for name, limit in limits.items()}


def outlier_detection(outliers: OutlierDetection) -> dict[str, object]:
    """Return detection by failures in a row alone; what compares hosts by statistics stays off."""
    five, gateway = outliers.consecutive_5xx, outliers.consecutive_gateway_failure
    return {
        "consecutive_5xx": five or UNLIMITED,
        "enforcing_consecutive_5xx": 100 if five else 0,
        "consecutive_gateway_failure": gateway or UNLIMITED,
        "enforcing_consecutive_gateway_failure": 100 if gateway else 0,
        "enforcing_success_rate": 0,
        "enforcing_failure_percentage": 0,
        "interval": seconds(outliers.interval),
        "base_ejection_time": seconds(outliers.base_ejection_time),
        "max_ejection_time": seconds(max(outliers.max_ejection_time, outliers.base_ejection_time)),
        "max_ejection_time_jitter": "0s",
        "max_ejection_percent": outliers.max_ejection_percent,
    }


def protocol(idle: Duration) -> dict[str, object]:
    """HTTP/1.1 to the hosts, on connections that are closed when nothing has used them for a time."""
    kind = "extensions.upstreams.http.v3.HttpProtocolOptions"
    options = {
        "@type": f"{TYPES}.{kind}",
        "common_http_protocol_options": {"idle_timeout": seconds(idle)},
        "explicit_http_config": {"http_protocol_options": {}},
    }
    return {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options}


def _route(route: Route, upstreams: Upstreams) -> dict[str, object]:
    action: dict[str, object] = {
        "cluster": route.to,
        "timeout": seconds(route.timeout or NO_TIME),
        "idle_timeout": "0s",
        **_rewriting(route),
        **_retrying(route.retries or Retries()),
    }
    if not all(map(is_loopback, upstreams.urls)):
        action["auto_host_rewrite"] = True
    entry: dict[str, object] = {"match": {"prefix": route.prefix}, "route": action}
    return entry if route.limit is None else {**entry, "typed_per_filter_config": limiting(route.limit, route.prefix)}


def _rewriting(route: Route) -> dict[str, object]:
    """How a prefix is replaced, such that ``/shop`` by ``/`` makes ``/items`` of ``/shop/items``, with one slash."""
    if not route.rewrite:
        return {}
    if not route.rewrite.endswith("/") or route.prefix.endswith("/"):
        return {"prefix_rewrite": route.rewrite}
    replaced = {"regex": f"^{re.escape(route.prefix)}/?"}
    return {"regex_rewrite": {"pattern": replaced, "substitution": route.rewrite.replace("\\", "\\\\")}}


def _retrying(retries: Retries) -> dict[str, object]:
    return {"retry_policy": retry_policy(retries)} if retries.num_retries else {}


def retry_policy(retries: Retries) -> dict[str, object]:
    """Return how a route tries again."""
    waits = {"base_interval": seconds(retries.base_interval), "max_interval": seconds(retries.max_interval)}
    policy: dict[str, object] = {
        "retry_on": ",".join(retries.retry_on),
        "num_retries": retries.num_retries,
        "per_try_timeout": seconds(retries.per_try_timeout),
        "retriable_status_codes": retries.retriable_status_codes,
        "retry_back_off": waits,
    }
    return {**policy, **(_elsewhere() if retries.other_host else {})}


def _elsewhere() -> dict[str, object]:
    name = "previous_hosts"
    kind = f"extensions.retry.host.{name}.v3.PreviousHostsPredicate"
    predicate = {"name": f"envoy.retry_host_predicates.{name}", "typed_config": {"@type": f"{TYPES}.{kind}"}}
    return {"retry_host_predicate": [predicate], "host_selection_retry_max_attempts": MOST_DRAWS}


def limiting(limit: LocalLimit, where: str = "") -> dict[str, object]:
    """Return the configuration of the filter of limits; empty without a limit.

    ``where`` is the prefix of a route that has its own limit, which may also be to have none.
    """
    kind = {"@type": f"{TYPES}.extensions.filters.http.{LIMIT}"}
    if limit.max_tokens is None and not limit.values:
        # It is not enabled, and still must have a bucket.
        off = {**kind, "stat_prefix": "off", "token_bucket": _bucket(limit)}
        return {LIMIT_FILTER: off} if where else {}
    config: dict[str, object] = {
        **kind,
        "stat_prefix": LIMIT_STAT,
        "token_bucket": _bucket(limit),
        "filter_enabled": NOW_AND_ALWAYS,
        "filter_enforced": NOW_AND_ALWAYS,
        "response_headers_to_add": [LIMITED],
        **(_per_value(limit) if limit.per else {}),
    }
    return {LIMIT_FILTER: config}


def _bucket(bucket: TokenBucket) -> dict[str, object]:
    tokens = bucket.max_tokens or ENDLESS
    return {
        "max_tokens": tokens,
        "tokens_per_fill": bucket.tokens_per_fill or tokens,
        "fill_interval": seconds(bucket.fill_interval),
    }


def _per_value(limit: LocalLimit) -> dict[str, object]:
    """Return a bucket for each value of a header: those that are named first, then one like the limit for any other."""
    action = {"request_headers": {"header_name": limit.per, "descriptor_key": limit.per}}
    named = [_descriptor(limit.per, bucket, value=value) for value, bucket in limit.values.items()]
    return {
        "rate_limits": [{"actions": [action]}],
        "descriptors": [*named, _descriptor(limit.per, limit)],
        "max_dynamic_descriptors": limit.max_descriptors,
        "always_consume_default_token_bucket": False,
    }


def _descriptor(key: str, bucket: TokenBucket, **value: str) -> dict[str, object]:
    return {"entries": [{"key": key, **value}], "token_bucket": _bucket(bucket)}


def seconds(duration: Duration) -> str:
    """Return a duration as Envoy's JSON writes it."""
    return f"{duration.seconds:f}s"
