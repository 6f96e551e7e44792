"""Values against JSON Schemas. To check a schema itself takes far longer than a value, so it is done once for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from patternbench.study.schema import study_schema

_ready: dict[int, Validator] = {}
"""By the identity of a schema, which its validator keeps alive."""


def conforms(value: object, schema: Mapping[str, Any]) -> None:
    """Raise ValidationError for a value that is not as a schema says, as ``jsonschema.validate`` does."""
    if id(schema) not in _ready:
        kind = validator_for(schema)
        kind.check_schema(schema)
        _ready[id(schema)] = kind(schema)
    wrong = best_match(_ready[id(schema)].iter_errors(value))
    if wrong is not None:
        raise wrong


@cache
def of_studies() -> Mapping[str, Any]:
    """The schema of study files, made once."""
    return study_schema()
