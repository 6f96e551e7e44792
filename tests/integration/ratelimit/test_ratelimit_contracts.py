"""The schema of the rules says the same as the filter, and the vectors are what the definitions say today."""

import importlib.util
import json
from copy import deepcopy
from typing import Any

import jsonschema
import pytest
from ratelimit_fixture import FILTER, ROOT, VECTORS

CONTRACTS = ROOT / "contracts" / "ratelimit"
SCHEMA = json.loads((CONTRACTS / "plan.schema.json").read_text(encoding="utf-8"))
VECTOR_RULES = json.loads((VECTORS / "plans.json").read_text(encoding="utf-8"))


def changed(case: dict[str, Any]) -> dict[str, Any]:
    rules: dict[str, Any] = {**deepcopy(VECTOR_RULES["base"]), **case.get("change", {})}
    if "limit" in case:
        rules["limits"][0].update(case["limit"])
    return {key: value for key, value in rules.items() if value is not None}


def problems(rules: dict[str, Any]) -> list[Any]:
    return list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(rules))


@pytest.mark.parametrize("case", VECTOR_RULES["good"] + VECTOR_RULES["bad_beyond_the_schema"], ids=lambda c: c["name"])
def test_the_schema_accepts(case: dict[str, Any]) -> None:
    assert problems(changed(case)) == []


@pytest.mark.parametrize("case", VECTOR_RULES["bad"], ids=lambda c: c["name"])
def test_the_schema_refuses(case: dict[str, Any]) -> None:
    assert problems(changed(case))


def test_the_example_fits_the_schema() -> None:
    assert problems(json.loads((FILTER / "examples" / "plan.json").read_text(encoding="utf-8"))) == []


def test_the_vectors_are_what_the_definitions_say() -> None:
    spec = importlib.util.spec_from_file_location("definitions", CONTRACTS / "definitions.py")
    assert spec and spec.loader
    definitions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(definitions)
    for name in definitions.DEFINITIONS:
        assert (VECTORS / f"{name}.json").read_text(encoding="utf-8") == definitions.text(name), name
