"""The manifests for Kubernetes fit its schemas and each other, and nginx takes their configuration."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ratelimit_fixture import FILTER, Nginx, free_port, running
from ruamel.yaml import YAML

MANIFESTS = FILTER.parent / "kubernetes"
FILES = sorted(MANIFESTS.glob("*.yaml"))
SCHEMA = json.loads((MANIFESTS / "schema.json").read_text(encoding="utf-8"))


def objects(*files: Path) -> Iterator[dict[str, Any]]:
    for file in files or FILES:
        yield from YAML(typ="safe").load_all(file.read_text(encoding="utf-8"))


def the(kind: str, name: str = "nginx-ratelimit") -> dict[str, Any]:
    (one,) = (one for one in objects() if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return one


def problems(one: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(one)]


def test_every_object_fits_the_schema_of_kubernetes() -> None:
    kinds = [one["kind"] for one in objects()]
    assert sorted(kinds) == ["ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service"]
    assert [problems(one) for one in objects()] == [[]] * len(kinds)


@pytest.mark.parametrize("tainted", [{"replicas": "two"}, {"replica": 2}, {"strategy": {"rollingUpdates": {}}}])
def test_a_manifest_that_is_wrong_is_refused(tainted: dict[str, object]) -> None:
    deployment = the("Deployment")
    deployment["spec"] |= tainted
    assert problems(deployment)
    assert problems({**the("Service"), "kind": "Servise"})
    assert problems({name: value for name, value in the("ConfigMap").items() if name != "metadata"})


def test_the_manifests_agree_with_each_other() -> None:
    deployment, rules = the("Deployment")["spec"], json.loads(the("ConfigMap")["data"]["plan.json"])
    containers = deployment["template"]["spec"]["containers"]
    assert deployment["replicas"] == rules["balancers"]
    assert rules["dry_run"] is True
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    selectors = [the("Service")["spec"]["selector"], the("Service", "nginx-ratelimit-gossip")["spec"]["selector"]]
    selectors += [the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"]]
    selectors += [the("NetworkPolicy")["spec"]["podSelector"]["matchLabels"]]
    assert selectors == [labels] * 4
    ports = {port["name"] for container in containers for port in container["ports"]}
    used = {port["targetPort"] for one in objects() if one["kind"] == "Service" for port in one["spec"]["ports"]}
    used |= {port["port"] for rule in the("NetworkPolicy")["spec"]["ingress"] for port in rule["ports"]}
    assert used == ports
    listen = next(word for word in containers[1]["command"] if word.startswith("--listen="))
    assert rules["stores"]["shared"]["address"] == listen.removeprefix("--listen=")
    mounted = {mount["name"] for container in containers for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in deployment["template"]["spec"]["volumes"]}


def test_the_rules_are_taken_and_nginx_starts_with_the_configuration(folder: Path, behind: Nginx) -> None:
    data = the("ConfigMap")["data"]
    (folder / "plan.json").write_text(data["plan.json"], encoding="utf-8")
    check = [str(FILTER / "bin" / "ratelimit"), "check", str(folder / "plan.json")]
    assert "a dry run" in subprocess.run(check, capture_output=True, text=True, check=True).stdout
    port = free_port()
    here = {
        "/run/nginx": str(folder),
        "/dev/stderr": str(folder / "error.log"),
        "/usr/share/nginx-ratelimit/lua": str(FILTER / "lua"),
        "/etc/nginx-ratelimit/plan.json": str(folder / "plan.json"),
        "service:80": f"127.0.0.1:{behind.port}",
        "listen 8080": f"listen 127.0.0.1:{port}",
        "listen 9145": "listen @METRICS@",
        "worker_processes 2;": "worker_processes 2; daemon off; user root;",
    }
    config = data["nginx.conf"]
    for theirs, ours in here.items():
        assert theirs in config
        config = config.replace(theirs, ours)
    with running(nginx := Nginx(folder, config, port)):
        assert nginx.metric("ratelimit_dry_run") == 1
