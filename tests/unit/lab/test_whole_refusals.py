"""All that is said of settings that a component can't have: what is wrong with them, where, and what is allowed.

Each is one step from what is taken: next to a refusal is its nearest neighbour that is none. The words are held
against ``tests/golden/lab/refusals.txt``; UPDATE_GOLDEN=1 rewrites it, for a person to read.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.golden import is_golden
from tests.support.studies import ROOT
from tests.unit.lab.test_whole_launches import OTHERS, SETTINGS

from patternbench.lab import topologies
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components import KINDS
from patternbench.terms.problems import InputError

LONG, LONGER = "x" * 255, "x" * 256
FILLS = {"max_tokens": 5}
BUNDLED: dict[str, Any] = SETTINGS["bundler"]["routes"][0]
STEPS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # the kind, what it takes on top of usual settings, and what it refuses
    ("process", {"command": "true 'a b'"}, {"command": "true 'a b"}),
    ("process", {"command": ["true"]}, {"command": []}),
    ("process", {"ports": {"http": 65535, "admin": 0}}, {"ports": {"http": 65536, "admin": 0}}),
    ("process", {"ports": {"http": 0, "admin-2": 0, "admin": 0}}, {"ports": {"http": 0, "Admin": 0, "admin": 0}}),
    ("process", {"ready": {"log": "up"}}, {"ready": {"log": "up("}}),
    ("process", {"ready": {"port": "admin"}}, {"ready": {"port": "amdin"}}),
    ("process", {"ready": {"path": "/", "status": 204}}, {"ready": {"port": "http", "status": 204}}),
    ("process", {"ready": {"path": "/"}}, {"ready": {"path": "/", "log": "up"}}),
    ("process", {"files": {LONG: "x"}}, {"files": {LONGER: "x"}}),
    ("process", {"files": {"a/b": "x"}}, {"files": {"/a/b": "x"}}),
    ("process", {"files": {"a/b": "x"}}, {"files": {"a/../b": "x"}}),
    ("process", {"files": {"a/b": "x"}}, {"files": {"./": "x"}}),
    ("process", {"files": {"a/b": "x", "c": "y"}}, {"files": {"a/b": "x", "a": "y"}}),
    ("process", {"env": {"A": "x" * 131_069}}, {"env": {"A": "x" * 131_070}}),
    ("process", {"env": {"A": "b=c"}}, {"env": {"A=b": "c"}}),
    ("process", {"memory": "0.5MiB"}, {"memory": "0MiB"}),
    ("process", {"memory": "64 GB"}, {"memory": "64 G"}),
    ("process", {"cpu": 1024}, {"cpu": 1025}),
    ("process", {"cpu": 0.01}, {"cpu": 0}),
    ("process", {"stop": {"signal": "SIGHUP"}}, {"stop": {"signal": "HUP"}}),
    ("process", {"within": "1us"}, {"within": "0ms"}),
    ("process", {"folder": "tests"}, {"folder": "tests/nowhere"}),
    (
        "process",
        {"live": {"level": {"file": "settings.json", "signal": "SIGHUP"}}},
        {"live": {"level": {"file": "setings.json", "signal": "SIGHUP"}}},
    ),
    (
        "process",
        {"live": {"level": {"call": {"method": "PUT", "url": "http://127.0.0.1:1/x"}}}},
        {"live": {"level": {"call": {"method": "PUT", "url": "http://127.0.0.1:1/x"}, "signal": "SIGHUP"}}},
    ),
    ("process", {"live": {"level": {"file": "settings.json"}}}, {"live": {"level": {}}}),
    ("python_app", {"threads": 4, "server": "gunicorn"}, {"threads": 4}),
    ("python_app", {"workers": 64}, {"workers": 65}),
    ("jvm_app", {"options": "-Dx=y"}, {"options": "-Dx='y"}),
    ("jvm_app", {"packages": ["io.shop"]}, {"packages": ["io-shop"]}),
    ("jvm_app", {"collector": "g1"}, {"collector": "g2"}),
    ("target", {"workers": 4096}, {"workers": 4097}),
    ("target", {"workers": 1}, {"workers": 0}),
    ("gateway", {"routes": [{"to": "shop", "prefix": "/a"}]}, {"routes": [{"to": "shop", "prefix": "a"}]}),
    ("gateway", {"routes": [{"to": "shop"}]}, {"routes": []}),
    (
        "gateway",
        {"routes": [{"to": "shop", "prefix": "/a/b"}, {"to": "shop", "prefix": "/a"}]},
        {"routes": [{"to": "shop", "prefix": "/a"}, {"to": "shop", "prefix": "/a/b"}]},
    ),
    ("gateway", {"routes": [{"to": "shop"}]}, {"routes": [{"to": "shpo"}]}),
    ("gateway", {"routes": [{"to": "http://pay.test"}]}, {"routes": [{"to": "http://pay.test/v1"}]}),
    (
        "gateway",
        {"clusters": {"all": {"to": ["http://a.test", "http://b.test"]}}},
        {"clusters": {"all": {"to": ["http://a.test", "https://b.test"]}}},
    ),
    (
        "gateway",
        {"clusters": {"all": {"to": ["shop", "redis"], "balancing": "weighted", "weights": "80:20"}}},
        {"clusters": {"all": {"to": ["shop", "redis"], "balancing": "weighted", "weights": "80:20:10"}}},
    ),
    (
        "gateway",
        {"clusters": {"all": {"to": ["shop", "redis"], "balancing": "weighted", "weights": "1:0"}}},
        {"clusters": {"all": {"to": ["shop", "redis"], "balancing": "weighted", "weights": "0:0"}}},
    ),
    (
        "gateway",
        {"clusters": {"all": {"to": "shop", "balancing": "random"}}},
        {"clusters": {"all": {"to": "shop", "balancing": "weighted"}}},
    ),
    ("gateway", {"limit": {**FILLS, "fill_interval": "50ms"}}, {"limit": {**FILLS, "fill_interval": "49ms"}}),
    (
        "gateway",
        {"limit": {"per": "x-key", "values": {"a": FILLS}}},
        {"limit": {"values": {"a": FILLS}}},
    ),
    ("gateway", {"retries": {"retry_on": "5xx, reset"}}, {"retries": {"retry_on": "5xx, rest"}}),
    (
        "gateway",
        {"retries": {"base_interval": "10ms", "max_interval": "10ms"}},
        {"retries": {"base_interval": "11ms", "max_interval": "10ms"}},
    ),
    ("gateway", {"retries": {"num_retries": 100}}, {"retries": {"num_retries": 101}}),
    (
        "gateway",
        {"adaptive_concurrency": {"min_rtt_interval": "1ms"}},
        {"adaptive_concurrency": {"min_rtt_interval": "999us"}},
    ),
    ("nginx", {"routes": [{"prefix": "/a", "to": "shop"}]}, {"routes": [{"prefix": "/", "to": "shop"}]}),
    ("nginx", {"upstream": "shop"}, {"upstream": ""}),
    (
        "nginx",
        {"routes": [{"prefix": "/a", "to": "shop"}, {"prefix": "/b", "to": "shop"}]},
        {"routes": [{"prefix": "/a", "to": "shop"}, {"prefix": "/a", "to": "shop"}]},
    ),
    ("nginx", {"algorithm": "fixed_window", "limits": []}, {"algorithm": "fixed_windows"}),
    (
        "nginx",
        {"algorithm": "gcra", "synchronisation": "per_request"},
        {"algorithm": "gcra", "synchronisation": "lazy"},
    ),
    (
        "nginx",
        {"algorithm": "sliding_window_log", "limit": 100_000},
        {"algorithm": "sliding_window_log", "limit": 100_001},
    ),
    ("nginx", {"store": "mariadb"}, {"store": "mysql"}),
    ("nginx", {"grace": 100}, {"grace": 101}),
    ("nginx", {"balancers": 1000}, {"balancers": 1001}),
    ("nginx", {"lease_share": 1}, {"lease_share": 1.01}),
    ("nginx", {"lease_share": 0.01}, {"lease_share": 0}),
    ("nginx", {"sub_windows": 60}, {"sub_windows": 61}),
    ("bundler", {"timeout": "1h"}, {"timeout": "1h1ms"}),
    ("bundler", {"most_waiting": 100_000}, {"most_waiting": 100_001}),
    *(
        ("bundler", {"routes": [{**BUNDLED, **taken}]}, {"routes": [{**BUNDLED, **refused}]})
        for taken, refused in (
            ({"wait": "1ms"}, {"wait": "999us"}),
            ({"wait": "10s"}, {"wait": "10001ms"}),
            ({"size": 2}, {"size": 1}),
            ({"size": 1000}, {"size": 1001}),
            ({"single": "/a/{id}"}, {"single": "/a/id"}),
            ({"bundle": "/a?of={ids}"}, {"bundle": "/a?of={id}"}),
        )
    ),
    ("mariadb", {"databases": {"core": {"user": "ann"}}}, {"databases": {"core": {"user": "root"}}}),
    ("mariadb", {"max_connections": 10}, {"max_connections": 9}),
    ("mariadb", {"flush_at_commit": 2}, {"flush_at_commit": 3}),
    ("postgres", {"databases": {"core": {}}}, {"databases": {"core": {}}, "database": "shop"}),
    ("postgres", {"databases": {"crm": {}}}, {"databases": {"public": {}}}),
    ("postgres", {"keep": ["kept_2"]}, {"keep": ["2_kept"]}),
    ("prometheus", {"scrape": {"shop": "/metrics"}}, {"scrape": {"shop": "metrics"}}),
    ("prometheus", {"scrape": {"shop": "/metrics"}}, {"scrape": {}}),
    ("otlp_receiver", {"most_spans": 10_000_000}, {"most_spans": 10_000_001}),
    ("crdt_sidecar", {"max_keys": 100_000_000}, {"max_keys": 100_000_001}),
    ("compose", {"services": {"web": 80}}, {"services": {"web": 65536}}),
    ("compose", {"services": {"web": 80}}, {"services": {}}),
    ("delay_proxy", {"to": "redis"}, {"to": "reddis"}),
    ("redis", {"port": 65535}, {"port": 65536}),
    ("redis", {}, {"prot": 1}),
    ("rediss", {}, {}),
]


def refusal(kind: str, settings: dict[str, Any]) -> str:
    """What is said of settings on top of the usual ones; nothing where they are taken."""
    fields = {**SETTINGS.get(kind, {}), **settings}
    try:
        topologies.component_of(("one", kind, fields)).describe("one", ComponentRegistry(OTHERS))
    except InputError as error:
        return "\n".join(map(str, error.problems)).replace(str(ROOT), "ROOT")
    return ""


@pytest.mark.parametrize(("kind", "taken", "refused"), STEPS)
def test_what_is_next_to_a_refusal_is_taken(kind: str, taken: dict[str, Any], refused: dict[str, Any]) -> None:
    assert refusal(kind, refused)
    assert kind not in SETTINGS or refusal(kind, taken) == ""


@pytest.mark.parametrize("kind", [kind for kind, model in KINDS.items() if "port" in model.model_fields])
def test_the_last_port_is_the_last_that_any_component_takes(kind: str) -> None:
    assert not refusal(kind, {"port": 65535})
    assert "port" in refusal(kind, {"port": 65536})


def test_every_refusal_says_what_is_wrong_where_and_what_is_allowed() -> None:
    said = [f"{kind} {_short(refused)}\n    {refusal(kind, refused)}" for kind, _, refused in STEPS]
    is_golden("lab/refusals.txt", "\n".join(said) + "\n")


def _short(settings: dict[str, Any]) -> str:
    return str(settings).replace(LONGER, "x*256").replace("x" * 131_070, "x*131070")
