"""All that a host is told of a component: its command, its files, its environment, how it is ready, reset and ended.

``tests/golden/lab/launches`` holds it for every kind, with settings that differ from their defaults; UPDATE_GOLDEN=1
rewrites it, for a person to read the difference.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.golden import is_golden
from tests.support.studies import ROOT

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components import KINDS
from patternbench.lab.host.launch import Launch

OTHERS = ("shop", "redis", "mariadb", "sidecar")
HERE = str(Path(__file__).absolute())
PROGRAM: dict[str, Any] = {
    "env": {"SHOP": "${shop.url}"},
    "prepare": ["make all"],
    "files": {"settings.json": {"shop": "${shop.url}"}},
    "ports": {"http": 0, "admin": 0},
    "secrets": ["password"],
    "endpoints": {"admin": "http://127.0.0.1:${self.port.admin}"},
    "within": "7s",
    "stop": {"signal": "SIGINT", "grace": "3s"},
    "cpus": "1",
    "memory": "64MiB",
    "cpu": 0.5,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "process": {**PROGRAM, "command": "serve --port ${self.port.http}", "ready": {"log": "up"}},
    "python_app": {
        **PROGRAM,
        "app": "shop:app",
        "server": "uvicorn",
        "workers": 3,
        "args": "--lifespan off",
        "ready": {"path": "/health", "status": 204},
    },
    "jvm_app": {
        **PROGRAM,
        "jar": HERE,
        "heap": "128MiB",
        "collector": "serial",
        "class_data_sharing": True,
        "options": "-Dspring.a=b",
        "args": "--server.port=${self.port.http}",
        "ready": {"path": "/health", "port": "admin", "then": ["http://127.0.0.1:${self.port.http}/warm"]},
    },
    "target": {"workers": 3, "service_time": "fixed:2ms", "queue": "9", "seed": 7, "port": 8000, "log": "requests.tsv"},
    "envoy": {"upstream": "https://shop.test", "ca": HERE, "server_name": "shop.inside", "port": 8001, "cpus": "0,1"},
    "gateway": {
        "routes": [{"to": "shop", "prefix": "/shop"}],
        "retries": {"num_retries": 2, "per_try_timeout": "40ms"},
        "adaptive_concurrency": {"max_concurrency_limit": 7},
        "workers": 2,
    },
    "compose": {
        "file": HERE,
        "services": {"web": 80, "admin": 81},
        "profiles": ["small"],
        "env": {"SIZE": "2"},
        "within": "9s",
        "ready": "/health",
    },
    "nginx": {
        "upstream": "shop",
        "port": 8002,
        "workers": 3,
        "balancers": 2,
        "algorithm": "token_bucket",
        "limit": 90,
        "window": "10s",
        "burst": 12,
        "key": "X-Client",
        "store": "redis",
        "stores": {"redis": "redis", "mariadb": "mariadb"},
        "store_timeout": "40ms",
        "when_store_fails": "closed",
        "synchronisation": "lazy",
        "lease_share": 0.25,
        "lease_expires": "2s",
        "lease_size": "dynamic",
        "lease_most": 55,
        "lease_holder": "balancer",
        "fields": "both",
    },
    "bundler": {
        "upstream": "shop",
        "routes": [{"single": "/items/{id}", "bundle": "/items/{ids}", "size": 5, "wait": "2ms"}],
        "workers": 2,
        "timeout": "3s",
        "most_waiting": 9,
    },
    "redis": {"port": 8003},
    "postgres": {"databases": {"core": {}, "crm": {"user": "sales"}}, "synchronous_commit": False, "keep": ["kept"]},
    "mariadb": {"databases": {"core": {}, "crm": {"user": "sales"}}, "flush_at_commit": 1, "max_connections": 99},
    "rabbitmq": {},
    "prometheus": {"scrape": {"shop": "/metrics", "redis.prometheus": "/stats"}, "interval": "200ms"},
    "node_exporter": {"port": 8004},
    "otlp_receiver": {"port": 8005, "grpc_port": 8006, "most_spans": 77},
    "crdt_sidecar": {"join": "sidecar", "interval": "20ms", "distance": "3ms", "max_keys": 88},
    "delay_proxy": {"to": "redis", "delay": "5ms"},
    "fault_proxy": {"to": "redis", "endpoint": "prometheus"},
}


PLACES = [
    (re.escape(HERE), "FILE"),
    (rf"{re.escape(sys.executable)}(?![\w.])", "BIN/python"),
    (re.escape(str(Path(sys.executable).parent)), "BIN"),
    (re.escape(str(ROOT)), "ROOT"),
    (re.escape(str(Path.home())), "HOME"),
    (r"/usr/lib/nginx/modules", "MODULES"),
    (r"(?<=[\" ])/(usr|opt)/[\w/.-]*bin/|BIN/(?=envoy)|[\w/.-]*/(?=patternbench-engine\b)", ""),
    (r"-[0-9a-f]{12}\b", "-DIGEST"),
]
"""What differs between machines: where programs and folders are, and what is made of their content."""


def reported(launch: Launch) -> Any:
    """A launch as data, without what a machine has or lacks of it."""
    text = json.dumps(asdict(replace(launch, needs=())), default=str)
    for place, name in PLACES:
        text = re.sub(place, name, text)
    return by_line(json.loads(text))


def by_line(value: Any) -> Any:
    """Texts of several lines as a list of them, for a person to read."""
    if isinstance(value, dict):
        return {name: by_line(part) for name, part in value.items()}
    if isinstance(value, list):
        return [by_line(part) for part in value]
    return value.splitlines() if isinstance(value, str) and "\n" in value else value


def written(found: Any) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_word_of_how_a_component_is_launched_is_golden(kind: str) -> None:
    launch = KINDS[kind].model_validate(SETTINGS[kind]).describe("one", ComponentRegistry(OTHERS))
    is_golden(f"lab/launches/{kind}.json", written(reported(launch)))
