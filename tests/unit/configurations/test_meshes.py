"""What is generated for Istio and the Gateway API is what their published schemas allow. No mesh has run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from scripts.mesh_schema import FORMS, objects

SCHEMAS = json.loads((Path(__file__).parent / "meshes.schema.json").read_text())["schemas"]
Manifest = dict[str, Any]
ALL = [(form, one) for form in FORMS for one in objects(form)]
KINDS = {"VirtualService", "DestinationRule", "HTTPRoute", "XBackendTrafficPolicy"}


def check(manifest: Manifest) -> None:
    Draft202012Validator(SCHEMAS[f"{manifest['apiVersion']} {manifest['kind']}"]).validate(manifest)


def first(kind: str, part: str) -> Manifest:
    """An object of a kind whose text has a part."""
    return deepcopy(next(one for _, one in ALL if one["kind"] == kind and part in json.dumps(one)))


def test_every_generated_object_is_what_the_schema_of_its_kind_allows() -> None:
    assert {one["kind"] for _, one in ALL} == KINDS
    for _, one in ALL:
        check(one)


def _misspelt(route: Manifest) -> None:
    route["spec"]["http"][0]["retry"] = route["spec"]["http"][0].pop("retries")


def _a_text(route: Manifest) -> None:
    route["spec"]["http"][0]["retries"]["attempts"] = "two"


@pytest.mark.parametrize("slip", [_misspelt, _a_text])
def test_a_slip_in_a_virtual_service_is_found(slip: Callable[[Manifest], None]) -> None:
    route = first("VirtualService", "perTryTimeout")
    check(route)
    slip(route)
    with pytest.raises(ValidationError):
        check(route)


def test_a_time_that_the_gateway_api_does_not_take_is_found() -> None:
    route = first("HTTPRoute", "backendRequest")
    route["spec"]["rules"][0]["timeouts"]["request"] = "0.5s"
    with pytest.raises(ValidationError):
        check(route)


def test_an_attempt_may_not_take_longer_than_its_call_which_only_a_rule_in_cel_says() -> None:
    routes = [one["spec"]["rules"][0]["timeouts"] for _, one in ALL if one["kind"] == "HTTPRoute"]
    bounded = [one for one in routes if "0s" not in (one["request"], one["backendRequest"])]
    assert bounded
    assert all(one["request"] != one["backendRequest"] for one in bounded)
