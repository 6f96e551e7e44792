"""Settings of shipped systems to write into every form that a proxy is configured by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from patternbench.configurations.form import GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import Patterns
from patternbench.configurations.proxies import ProxySettings
from patternbench.configurations.proxies_of_systems import proxy_of
from patternbench.configurations.registry import form
from patternbench.lab import systems

NO_POLICY = Patterns(())
PROXIES = ("envoy", "istio", "gateway-api", "nginx")
Settings = Mapping[str, object]
SYSTEMS: Mapping[str, tuple[str, Settings]] = {
    "system retries and time-outs of a sidecar": (
        "mesh",
        {"retries": 2, "other_host": True, "try_timeout": "300ms", "timeout": "1s"},
    ),
    "system retries of a sidecar with its own pauses": (
        "mesh",
        {"retries": 3, "retry_on": "gateway-error,reset", "retry_wait": "20ms", "retry_wait_max": "50ms"},
    ),
    "system a host is left out and requests are bounded": (
        "mesh",
        {"outlier_failures": 5, "ejection_time": "3s", "max_requests": 24, "max_pending": 8, "max_retries": 4},
    ),
    "system balancing and an adaptive bound": ("mesh", {"balancing": "least_request", "adaptive_limit": 200}),
    "system a bucket of each client in memory": (
        "shop-behind-two-balancers",
        {"algorithm": "gcra", "store": "memory", "limit": 240, "window": "60s", "burst": 10},
    ),
    "system a leaky bucket of each client in memory": (
        "shop-behind-two-balancers",
        {"algorithm": "leaky_bucket", "store": "memory", "limit": 240, "window": "60s", "burst": 10},
    ),
    "system a window of each client in a shared store": (
        "shop-behind-two-balancers",
        {"algorithm": "sliding_window_log", "store": "redis", "limit": 100},
    ),
    "system leases of a shared store": (
        "shop-behind-two-balancers",
        {"algorithm": "token_bucket", "store": "redis", "synchronisation": "lazy", "lease_share": 0.25},
    ),
    "system a limit of its own for one route": (
        "shop",
        {"algorithm": "token_bucket", "limits": "by_route", "limit": 120, "recommend_limit": 12},
    ),
    "system a limit of each client at each route of a gateway": (
        "insurance",
        {"limit": 60, "limit_at": "gateway", "limit_per": "X-Api-Key", "balancing": "random"},
    ),
    "system a limit of a gateway over all its routes": ("insurance", {"limit": 60, "limit_at": "global"}),
}


@cache
def proxy(case: str) -> ProxySettings:
    """What the proxy of a case is told."""
    name, given = SYSTEMS[case]
    return proxy_of(systems.load(name), given)


def written(name: str, case: str, patterns: Patterns = NO_POLICY) -> WrittenConfiguration:
    """A case in a form, with what its callers do themselves."""
    return written_for(name, proxy(case), GuardedService(), patterns)


def written_for(
    name: str, told: ProxySettings, target: GuardedService, patterns: Patterns = NO_POLICY
) -> WrittenConfiguration:
    """What a proxy is told in a form, in front of a service."""
    with_proxy = form(name).with_proxy
    assert with_proxy is not None  # a form that a proxy is configured by
    return with_proxy(patterns, target, told)
