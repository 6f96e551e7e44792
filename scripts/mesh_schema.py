"""Writes what our generated configurations name of the schemas of Istio and of the Gateway API.

    python -m scripts.mesh_schema ISTIO GATEWAY > tests/unit/configurations/meshes.schema.json

ISTIO is the folder of the Go module istio.io/api, GATEWAY that of sigs.k8s.io/gateway-api (`go mod download -json`
prints where they are). A field that they don't have ends this with its path. Rules in CEL are left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from scripts.crd_schema import Schema, reduced

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "configurations"
FORMS = ("istio", "gateway-api")
OF_EVERY_OBJECT = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
"""The fields that Kubernetes itself defines, which Istio's definitions leave out."""
DEFINITIONS = {
    "istio": "kubernetes/customresourcedefinitions.gen.yaml",
    "gateway-api": "config/crd/experimental/*.yaml",
}


def objects(form: str) -> list[dict[str, Any]]:
    """All objects that the generated files of a form declare."""
    files = sorted((GOLDEN / form).glob("*.yaml"))
    return [one for path in files for one in YAML(typ="safe").load_all(path.read_text()) if one]


def definitions(folder: Path, pattern: str) -> Iterator[tuple[str, str, Schema]]:
    """Yield each kind of object that a module defines, with its version and its schema."""
    for path in sorted(folder.glob(pattern)):
        for one in YAML(typ="safe").load_all(path.read_text(encoding="utf-8")):
            if one and one.get("kind") == "CustomResourceDefinition":
                spec = one["spec"]
                for version in spec["versions"]:
                    schema: Schema = version["schema"]["openAPIV3Schema"]
                    whole = {**schema, "properties": {**OF_EVERY_OBJECT, **schema["properties"]}}
                    yield spec["names"]["kind"], f"{spec['group']}/{version['name']}", whole


def main(istio: Path, gateway: Path) -> None:
    """Print the schemas by version and kind."""
    known = {
        (kind, version): schema
        for form, folder in zip(FORMS, (istio, gateway), strict=True)
        for kind, version, schema in definitions(folder, DEFINITIONS[form])
    }
    used: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in (one for form in FORMS for one in objects(form)):
        used.setdefault((one["kind"], one["apiVersion"]), []).append(one)
    schemas = {
        f"{version} {kind}": reduced(known[kind, version], values, version, kind)
        for (kind, version), values in sorted(used.items())
    }
    sources = [f"{folder.parent.name}/{folder.name}, Apache-2.0; reduced to our fields" for folder in (istio, gateway)]
    print(json.dumps({"sources": sources, "schemas": schemas}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
