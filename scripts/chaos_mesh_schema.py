"""Writes what our manifests name of Chaos Mesh's schemas, as ``kuberay_schema`` does of KubeRay's.

    python -m scripts.chaos_mesh_schema FOLDER VERSION > tests/unit/checks/chaos_mesh.schema.json

FOLDER has ``chaos-mesh.org_networkchaos.yaml`` and its neighbours of that version: the folder ``config/crd/bases``
of the Go module github.com/chaos-mesh/chaos-mesh. A field that Chaos Mesh does not have ends this with its path.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from scripts.crd_schema import Schema, reduced

MANIFESTS = Path(__file__).parent.parent / "docs" / "examples" / "kubernetes" / "faults.yaml"


def manifests() -> list[dict[str, Any]]:
    """All faults that our manifests declare."""
    return list(YAML(typ="safe").load_all(MANIFESTS.read_text(encoding="utf-8")))


def schema_of(kind: str, folder: Path) -> Schema:
    """Return the whole schema of a kind of fault, as the cluster holds it."""
    file = folder / f"chaos-mesh.org_{kind.lower()}.yaml"
    whole = YAML(typ="safe").load(file.read_text(encoding="utf-8"))["spec"]["versions"][0]
    schema: Schema = whole["schema"]["openAPIV3Schema"]
    return schema


def main(folder: Path, version: str) -> None:
    """Print the schemas by kind."""
    source = f"github.com/chaos-mesh/chaos-mesh {version}, config/crd/bases, Apache-2.0; reduced to our fields"
    faults = {str(one["kind"]): one for one in manifests()}
    schemas = {kind: reduced(schema_of(kind, folder), [one], kind) for kind, one in sorted(faults.items())}
    print(json.dumps({"source": source, "schemas": schemas}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
