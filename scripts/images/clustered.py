"""Writes manifests for Kubernetes of some of our systems: ``python -m scripts.images.clustered``."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString
from scripts.images import parts
from scripts.images.parts import CONFIG, PASSWORD, SCRATCH, Part, Parts
from scripts.images.staged import ROOT

PLACE = ROOT / "docs" / "examples" / "kubernetes"
SYSTEMS = ("cinema", "target")
HEADER = """\
# {system} on Kubernetes, at the default settings of systems/{system}.yaml: `python -m scripts.images.clustered` writes
# this file from that one. See docs/kubernetes.md.
"""
SECRET = "patternbench"
OWN_USER, STORES_USER = 10001, 999
"""The user of our images, and of the public ones of MariaDB and RabbitMQ."""
STATE = {"mariadb": "/var/lib/mysql", "rabbitmq": "/var/lib/rabbitmq"}
INIT = "/docker-entrypoint-initdb.d"
LARGEST = {"jvm_app": ("1", "512Mi"), "mariadb": ("1", "1Gi"), "rabbitmq": ("1", "1Gi")}
"""Processors and memory of an instance, by its kind; of any other, ``SMALL``."""
SMALL = ("1", "256Mi")


def manifest_file(system: Parts) -> str:
    """Return the text of a system's manifests."""
    written = YAML()
    written.width, written.default_flow_style, written.explicit_start = 120, False, True
    written.indent(mapping=2, sequence=4, offset=2)
    text = io.StringIO()
    written.dump_all(list(manifests(system)), text)
    return HEADER.format(system=system.system) + text.getvalue()


def manifests(system: Parts) -> Iterator[dict[str, object]]:
    """Yield the objects of a system: of each service its files, its pods and its name."""
    for part in system.parts:
        labels = {"app": part.name, "system": system.system}
        if part.files:
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": part.name, "labels": labels},
                "data": {name: LiteralScalarString(text.rstrip("\n") + "\n") for name, text in part.files.items()},
            }
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": part.name, "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": _template(part, labels)},
        }
        ports = [{"name": name, "port": number, "targetPort": name} for name, number in part.ports.items()]
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": part.name, "labels": labels},
            "spec": {"selector": labels, "ports": ports},
        }


def _template(part: Part, labels: Mapping[str, str]) -> dict[str, object]:
    user = OWN_USER if part.ours else STORES_USER
    return {
        "metadata": {"labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,  # variables such as GATEWAY_PORT would be taken for settings
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": user,
                "runAsGroup": user,
                "fsGroup": user,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(part)],
            "volumes": list(_volumes(part)),
        },
    }


def _container(part: Part) -> dict[str, object]:
    cores, memory = LARGEST.get(part.kind, SMALL)
    started = {"command": [part.words[0]], "args": list(part.words[1:])} if part.words else {}
    return {
        "name": part.name,
        "image": part.image,
        "imagePullPolicy": "IfNotPresent",
        **started,
        "env": list(_variables(part)),
        "ports": [{"name": name, "containerPort": number} for name, number in part.ports.items()],
        **_probes(part),
        "resources": {name: {"cpu": cores, "memory": memory} for name in ("requests", "limits")},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": part.ours,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": list(_mounts(part)),
    }


def _probes(part: Part) -> dict[str, object]:
    """Return when a pod gets requests: a start may take two minutes, on a busy node."""
    command = {"exec": {"command": list(part.check or ("/app/health",))}, "timeoutSeconds": 5}
    return {
        "startupProbe": {**command, "periodSeconds": 2, "failureThreshold": 60},
        "readinessProbe": {**command, "periodSeconds": 10},
    }


def _variables(part: Part) -> Iterator[dict[str, object]]:
    if any(PASSWORD in value for value in part.env.values()):
        yield {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "password"}}}
    if parts.listens_at_its_own(part):
        yield {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    health = part.health.variables if part.health else {}
    for name, value in {**part.env, **health}.items():
        yield {"name": name, "value": value.replace(PASSWORD, "$(PASSWORD)")}


def _mounts(part: Part) -> Iterator[dict[str, object]]:
    yield {"name": "scratch", "mountPath": SCRATCH}
    if part.files:
        yield {"name": "config", "mountPath": CONFIG if part.ours else INIT}
    if part.kind in STATE:
        yield {"name": "state", "mountPath": STATE[part.kind]}


def _volumes(part: Part) -> Iterator[dict[str, object]]:
    yield {"name": "scratch", "emptyDir": {}}
    if part.files:
        yield {"name": "config", "configMap": {"name": part.name}}
    if part.kind in STATE:
        yield {"name": "state", "emptyDir": {}}


def files() -> Mapping[str, str]:
    """Return the texts of all manifests by the names of their files."""
    return {f"{name}.yaml": manifest_file(parts.of_system(name)) for name in SYSTEMS}


def main() -> None:
    """Write them."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (PLACE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
