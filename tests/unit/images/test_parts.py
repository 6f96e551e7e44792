"""Compose files and manifests are written from the system's own files, and say what the lab says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from scripts.images import clustered, composed, parts
from scripts.images.clustered import PLACE
from scripts.images.staged import FOLDER, IMAGES, ROOT

SCHEMA = json.loads((ROOT / "filters" / "kubernetes" / "schema.json").read_text(encoding="utf-8"))
KUBERNETES = Draft202012Validator(SCHEMA)
Tree = dict[str, Any]


def loaded(text: str) -> list[Tree]:
    return list(YAML(typ="safe").load_all(text))


FILES = composed.files()
COMPOSED: Mapping[str, Tree] = {name: loaded(text)[0] for name, text in FILES.items() if name.endswith("compose.yaml")}
CLUSTERED: Mapping[str, list[Tree]] = {name: loaded(text) for name, text in clustered.files().items()}
SERVICES = [(name, key, one) for name, project in COMPOSED.items() for key, one in project["services"].items()]
DEPLOYMENTS = [one for objects in CLUSTERED.values() for one in objects if one["kind"] == "Deployment"]


@pytest.mark.parametrize(("name", "text"), FILES.items(), ids=list(FILES))
def test_a_compose_file_is_what_its_system_says_now(name: str, text: str) -> None:
    path = FOLDER / name
    assert path.read_text(encoding="utf-8") == text, "type `python -m scripts.images.composed`"


@pytest.mark.parametrize(("name", "text"), clustered.files().items(), ids=list(clustered.files()))
def test_manifests_are_what_their_system_says_now(name: str, text: str) -> None:
    assert (PLACE / name).read_text(encoding="utf-8") == text, "type `python -m scripts.images.clustered`"


@pytest.mark.parametrize(("name", "key", "service"), SERVICES, ids=lambda one: one if isinstance(one, str) else "")
def test_a_service_is_reached_by_its_name_and_waits_for_those_that_it_needs(name: str, key: str, service: Tree) -> None:
    project = COMPOSED[name]["services"]
    text = json.dumps(service)
    assert "127.0.0.1" not in text.replace('"127.0.0.1:', ""), "only published ports are of this machine"
    assert "${" not in text.replace("${PASSWORD:-", "").replace("$${", "")
    assert set(service.get("depends_on", ())) <= set(project) - {key}
    images = {f"patternbench-{image}" for image in IMAGES}
    ours = service["image"] in images
    assert ours or service["image"] in parts.STORES.values()
    assert ours == service.get("read_only", False)
    assert ours or "healthcheck" in service


@pytest.mark.parametrize("project", COMPOSED.values(), ids=list(COMPOSED))
def test_what_is_called_from_outside_is_published_on_loopback_alone(project: Tree) -> None:
    published = [port for service in project["services"].values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_aggregator_is_healthy_when_every_route_answers() -> None:
    environment = COMPOSED["cinema/compose.yaml"]["services"]["aggregator"]["environment"]
    assert environment["HEALTH"].split() == [
        "/actuator/health/cinemas",
        "http://gateway:8081/actuator/health/routes",
        "http://gateway:8080/ready",
    ]
    assert (environment["HEALTH_PORT"], environment["ADDRESS"]) == ("8081", "aggregator")


def test_each_service_has_a_database_and_a_user_of_its_own() -> None:
    project, script = COMPOSED["cinema/compose.yaml"], FILES["cinema/config/db-databases.sh"]
    for cinema in ("cineworld", "dundrum", "ucd"):
        assert f"CREATE DATABASE cinema_{cinema};" in script
        assert f"GRANT ALL ON cinema_{cinema}.* TO 'cinema_{cinema}'@'%';" in script
        own = project["services"][f"cinema-{cinema}"]["environment"]
        assert own["DATABASE_URL"] == f"jdbc:mariadb://db:3306/cinema_{cinema}"
        assert own["DATABASE_PASSWORD"] == project["services"]["db"]["environment"]["MARIADB_ROOT_PASSWORD"]


def test_envoy_listens_to_all_and_calls_services_by_their_names() -> None:
    clusters = FILES["insurance/config/gateway-clusters.json"]
    hosts = {
        endpoint["endpoint"]["address"]["socket_address"]["address"]
        for cluster in json.loads(clusters)["resources"]
        for group in cluster["load_assignment"]["endpoints"]
        for endpoint in group["lb_endpoints"]
    }
    assert hosts == {"customer-management", "customer-self-service", "policy-management"}
    fixed = FILES["target/config/envoy-envoy.json"]
    assert '"address": "0.0.0.0"' in fixed
    assert '"address": "target"' in fixed


@pytest.mark.parametrize("objects", CLUSTERED.values(), ids=list(CLUSTERED))
def test_every_object_fits_the_published_schema_of_kubernetes(objects: list[Tree]) -> None:
    assert [list(KUBERNETES.iter_errors(one)) for one in objects] == [[]] * len(objects)


@pytest.mark.parametrize("slip", [{"replicas": "one"}, {"replica": 1}, {"selector": {}, "template": []}])
def test_a_slip_in_a_manifest_is_found(slip: Tree) -> None:
    one = json.loads(json.dumps(DEPLOYMENTS[0]))
    one["spec"] |= slip
    assert list(KUBERNETES.iter_errors(one))


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda one: str(one["metadata"]["name"]))
def test_a_pod_is_nobodys_and_its_service_finds_it(deployment: Tree) -> None:
    (objects,) = (objects for objects in CLUSTERED.values() if deployment in objects)
    spec, labels = deployment["spec"]["template"]["spec"], deployment["spec"]["template"]["metadata"]["labels"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert spec["enableServiceLinks"] is False
    services = [one for one in objects if one["kind"] == "Service" and one["spec"]["selector"] == labels]
    (service,) = services
    assert {port["targetPort"] for port in service["spec"]["ports"]} == {port["name"] for port in container["ports"]}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["volumes"]}
    maps = {one["metadata"]["name"] for one in objects if one["kind"] == "ConfigMap"}
    assert {volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume} <= maps


def test_a_password_stands_in_no_manifest() -> None:
    for deployment in DEPLOYMENTS:
        for variable in deployment["spec"]["template"]["spec"]["containers"][0]["env"]:
            if "PASS" in variable["name"]:
                assert variable.get("value", "$(PASSWORD)") == "$(PASSWORD)"
                assert variable["name"] != "PASSWORD" or "secretKeyRef" in variable["valueFrom"]


def test_the_page_names_every_file_of_manifests() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    for file in sorted(Path(PLACE).glob("*.yaml")):
        assert file.name in page
