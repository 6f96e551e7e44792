"""Components describe themselves as plain data, and a kind is one file in one folder."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from dataclasses import asdict
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from tests.support.studies import ROOT

from patternbench.lab import components
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components import KINDS
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Answers
from patternbench.lab.host.references import PARTS, REFERENCE, SELF

FOLDER = Path(components.__file__).parent
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__")
SETTINGS: dict[str, dict[str, Any]] = {
    "process": {"command": "sh -c 'exec sleep ${self.port.http}'", "env": {"SHOP": "${shop.url}"}},
    "target": {"log": "requests.tsv"},
    "envoy": {"upstream": "shop"},
    "gateway": {"routes": [{"to": "shop"}]},
    "python_app": {"app": "httpbin:app"},
    "compose": {"file": str(Path(__file__).absolute()), "services": {"web": 80}},
    "jvm_app": {"jar": str(Path(__file__).absolute()), "class_data_sharing": True},
    "nginx": {"upstream": "shop", "algorithm": "gcra", "store": "redis", "stores": {"redis": "redis"}},
    "bundler": {
        "upstream": "shop",
        "routes": [{"single": "/items/{id}", "bundle": "/items/{ids}", "size": 5, "wait": "2ms"}],
    },
    "redis": {},
    "postgres": {"databases": {"core": {}, "crm": {"user": "sales"}}},
    "rabbitmq": {},
    "prometheus": {"scrape": {"shop": "/metrics", "redis.prometheus": "/metrics"}},
    "node_exporter": {},
    "otlp_receiver": {},
    "mariadb": {"script": "nginx-ratelimit/sql/schema.sql"},
    "crdt_sidecar": {"join": "sidecar"},
    "delay_proxy": {"to": "redis", "delay": "5ms"},
    "fault_proxy": {"to": "redis"},
}
OTHERS = ("shop", "redis", "sidecar")


def described(kind: str) -> Launch:
    return KINDS[kind].model_validate(SETTINGS[kind]).describe("one", ComponentRegistry(OTHERS))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_component_describes_itself_as_plain_data(kind: str) -> None:
    launch = described(kind)
    assert json.loads(json.dumps(asdict(launch)))
    assert (launch.kind, launch.name) == (kind, "one")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_same_settings_are_described_alike_and_without_a_secret_drawn(kind: str) -> None:
    assert described(kind) == described(kind)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_reference_of_a_component_is_to_something_that_a_host_knows(kind: str) -> None:
    launch = described(kind)
    own = {"folder", "user", "change"} | {f"port.{name}" for name in launch.ports}
    own |= {f"secret.{name}" for name in launch.secrets}
    for name, what in REFERENCE.findall(json.dumps(asdict(launch))):
        assert what in own or what.startswith("said.") if name == SELF else name in OTHERS, (name, what)
        if name != SELF:
            assert what.partition(".")[2] in {"", *PARTS}, what


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_component_opens_a_port_starts_a_process_waits_or_cleans_up(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {
        "socket",
        "subprocess",
        "time",
        "threading",
        "tempfile",
        "signal",
        "patternbench.lab.host.local_host",
    }
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Try)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_component_file_holds_one_kind_named_like_the_file(path: Path) -> None:
    kinds = [kind for kind, found in KINDS.items() if found.__module__.endswith(f".{path.stem}")]
    assert kinds == [path.stem]


NEW = """
from typing import ClassVar
from patternbench.lab.component import Component
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Answers
from patternbench.lab.host.ready import LogLine

class Sleeper(Component):
    kind: ClassVar[str] = "sleeper"

    @staticmethod
    def needs():
        return []

    def describe(self, name, neighbours):
        return Launch(kind=self.kind, name=name, command=("sleep", "60"), ready=LogLine("up"))
"""


def test_a_new_kind_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOLDER, tmp_path / "kinds", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "kinds" / "sleeper.py").write_text(NEW)
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    try:
        assert set(import_module("kinds").KINDS) == {*KINDS, "sleeper"}
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "kinds"]:
            del sys.modules[name]


def test_the_page_on_components_names_every_field_of_a_launch() -> None:
    page = (ROOT / "docs" / "write-a-component.md").read_text()
    named = set(re.findall(r"`([a-z_]+)`", page))
    assert set(Launch.__dataclass_fields__) <= named


def test_prometheus_scrapes_every_replica_an_endpoint_and_a_url_each_under_a_name_that_stays() -> None:
    scrape = {"shop": "/metrics", "queue.prometheus": "/metrics", "https://example.org:9100": "/deep/metrics"}
    registry = ComponentRegistry(["shop-1", "shop-2", "queue"], {"shop": ["shop-1", "shop-2"]})
    launch = KINDS["prometheus"].model_validate({"scrape": scrape}).describe("prometheus", registry)
    (file,) = launch.files
    reported = json.dumps(file.content)
    shops, queue, url = json.loads(reported)["scrape_configs"]
    assert [entry["labels"]["instance"] for entry in shops["static_configs"]] == ["shop-1", "shop-2"]
    assert queue["static_configs"] == [{"targets": ["${queue.prometheus.address}"], "labels": {"instance": "queue"}}]
    assert (url["scheme"], url["metrics_path"]) == ("https", "/deep/metrics")
    assert url["static_configs"][0]["targets"] == ["example.org:9100"]
    assert isinstance(launch.ready, Answers)
    assert launch.ready.path.endswith("%3E%3D%204")
