"""The faults for Kubernetes in the documentation are what Chaos Mesh allows, and act on pods that there are."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from ruamel.yaml import YAML
from scripts.chaos_mesh_schema import MANIFESTS, manifests

SCHEMAS = json.loads((Path(__file__).parent / "chaos_mesh.schema.json").read_text(encoding="utf-8"))["schemas"]
Manifest = dict[str, Any]
ALL = manifests()
CINEMA = list(YAML(typ="safe").load_all((MANIFESTS.parent / "cinema.yaml").read_text(encoding="utf-8")))


def check(manifest: Manifest) -> None:
    Draft202012Validator(SCHEMAS[manifest["kind"]]).validate(manifest)


@pytest.mark.parametrize("manifest", ALL, ids=lambda one: str(one["kind"]))
def test_each_fault_is_what_the_schema_of_its_kind_allows(manifest: Manifest) -> None:
    check(manifest)


@pytest.mark.parametrize("manifest", ALL, ids=lambda one: str(one["kind"]))
@pytest.mark.parametrize("slip", [{"mode": "every"}, {"acton": "delay"}, {"selector": []}])
def test_a_slip_in_a_fault_is_found(manifest: Manifest, slip: Manifest) -> None:
    wrong = deepcopy(manifest)
    wrong["spec"] |= slip
    with pytest.raises(ValidationError):
        check(wrong)


def selectors(manifest: Manifest) -> list[Manifest]:
    spec = manifest["spec"]
    return [spec["selector"], *([spec["target"]["selector"]] if "target" in spec else [])]


@pytest.mark.parametrize("manifest", ALL, ids=lambda one: str(one["kind"]))
def test_a_fault_acts_on_pods_of_the_cinema(manifest: Manifest) -> None:
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in CINEMA if one["kind"] == "Deployment"]
    for selector in selectors(manifest):
        wanted = selector["labelSelectors"]
        assert any(wanted.items() <= labels.items() for labels in pods), wanted
