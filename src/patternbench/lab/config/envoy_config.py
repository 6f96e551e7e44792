"""The parts of an Envoy configuration that the fault proxy and the gateway share, as trees that become JSON."""

from __future__ import annotations

import ssl
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import BaseModel

from patternbench.lab.host.references import REFERENCE, part
from patternbench.terms.problems import InputError, Problem

TYPES = "type.googleapis.com/envoy"
UNLIMITED = 1_000_000
"""Stands for no limit where Envoy has its own default."""
MANAGER = "network.http_connection_manager.v3.HttpConnectionManager"
TLS = "extensions.transport_sockets.tls.v3.UpstreamTlsContext"
THRESHOLDS = ("max_connections", "max_pending_requests", "max_requests", "max_retries")


class UpstreamTls(BaseModel):
    """How an ``https`` upstream is trusted: the authorities of a PEM file, or those of the operating system.

    ``server_name`` is the name to ask for and to verify when it is not the URL's host.
    """

    ca: str | None = None
    verify: bool = True
    server_name: str | None = None

    def transport(self, upstream: str, path: str) -> dict[str, object]:
        """Return the fields of a cluster that speaks TLS to an upstream; nothing where that speaks plainly.

        Raises InputError, below ``path``, where there are no authorities to trust.
        """
        url = urlsplit(upstream)
        if url.scheme != "https":
            return {}
        config: dict[str, object] = {"@type": f"{TYPES}.{TLS}", "sni": self.server_name or url.hostname or ""}
        if self.verify:
            context = self._trusted(self.server_name or url.hostname or "", path)
            config["common_tls_context"] = {"validation_context": context}
        return {"transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": config}}

    def _trusted(self, server: str, path: str) -> dict[str, object]:
        kind = "IP_ADDRESS" if _is_address(server) else "DNS"
        authorities = self.ca or ssl.get_default_verify_paths().cafile
        if authorities is None:
            message = "this machine has no list of certificate authorities"
            raise InputError(Problem(message, f"{path}.ca", hint="name one with `ca`"))
        return {
            "trusted_ca": {"filename": authorities},
            "match_typed_subject_alt_names": [{"san_type": kind, "matcher": {"exact": server}}],
        }


def address(host: str, port: int | str) -> dict[str, object]:
    """Return a TCP address; the port may be a reference."""
    return {"socket_address": {"address": host, "port_value": port}}


def address_of(url: str) -> dict[str, object]:
    """Return the TCP address of a URL, or of a reference to one."""
    port = part(url, "port")
    return address(part(url, "host"), int(port) if port.isdecimal() else port)


def http_filter(name: str, kind: str, **fields: object) -> dict[str, object]:
    """Return an HTTP filter by its name and the kind of its configuration."""
    return {"name": name, "typed_config": {"@type": f"{TYPES}.extensions.filters.http.{kind}", **fields}}


def router() -> dict[str, object]:
    """Return the last HTTP filter, which sends a request on."""
    return http_filter("envoy.filters.http.router", "router.v3.Router")


def listener(port: int | str, stat_prefix: str, **manager: object) -> dict[str, object]:
    """Return a listener on loopback whose requests go through an HTTP connection manager with these fields."""
    config: dict[str, object] = {
        "@type": f"{TYPES}.extensions.filters.{MANAGER}",
        "stat_prefix": stat_prefix,
        "generate_request_id": False,
        **manager,
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": config}]}
    return {"address": address("127.0.0.1", port), "filter_chains": [chain], "tcp_backlog_size": 4096}


def is_loopback(upstream: str) -> bool:
    """Whether an upstream is a component, or a URL of this machine."""
    return bool(REFERENCE.fullmatch(upstream)) or urlsplit(upstream).hostname in ("127.0.0.1", "localhost", "::1")


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        ip_address(name)
        return True
    return False
