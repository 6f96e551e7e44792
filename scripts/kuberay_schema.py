"""Writes what our manifests name of KubeRay's schemas: names of fields, types, allowed values, and no descriptions.

    python -m scripts.kuberay_schema FOLDER VERSION > tests/unit/checks/kuberay.schema.json

FOLDER has ``ray.io_rayclusters.yaml`` and ``ray.io_rayjobs.yaml`` of that version: the folder ``config/crd/bases`` of
the Go module github.com/ray-project/kuberay/ray-operator. A field that KubeRay doesn't have ends this with its path.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from scripts.crd_schema import Schema, reduced

MANIFESTS = Path(__file__).parent.parent / "docs" / "examples" / "kuberay"
KINDS = {"RayCluster": "ray.io_rayclusters.yaml", "RayJob": "ray.io_rayjobs.yaml"}
CLAIM = "PersistentVolumeClaim"
TO_CLAIM = ("spec", "headGroupSpec", "template", "spec", "volumes", 0, "ephemeral", "volumeClaimTemplate", "spec")
"""Where the schema of a cluster has that of a claim, which Kubernetes itself defines."""


def manifests(folder: Path = MANIFESTS) -> list[dict[str, Any]]:
    """All objects that our manifests declare."""
    return [one for path in sorted(folder.glob("*.yaml")) for one in YAML(typ="safe").load_all(path.read_text())]


def schema_of(kind: str, folder: Path) -> Schema:
    """Return the whole schema of a kind of object, as the cluster holds it."""
    file = folder / KINDS.get(kind, KINDS["RayCluster"])
    (version,) = (one for one in YAML(typ="safe").load(file.read_text())["spec"]["versions"] if one["name"] == "v1")
    whole: Schema = version["schema"]["openAPIV3Schema"]
    if kind != CLAIM:
        return whole
    return {"type": "object", "required": ["spec"], "properties": {**whole["properties"], "spec": _at(whole, TO_CLAIM)}}


def _at(schema: Schema, path: Iterable[str | int]) -> Schema:
    for part in path:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
    return schema


def main(folder: Path, version: str) -> None:
    """Print the schemas by kind."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in manifests():
        kinds.setdefault(one["kind"], []).append(one)
    source = (
        f"github.com/ray-project/kuberay/ray-operator {version}, config/crd/bases, Apache-2.0; reduced to our fields"
    )
    schemas = {
        kind: reduced(schema_of(kind, folder), values, "KubeRay", kind) for kind, values in sorted(kinds.items())
    }
    print(json.dumps({"source": source, "schemas": schemas}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
