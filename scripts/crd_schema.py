"""The part of a schema of Kubernetes objects that some objects use: names of fields, types and allowed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KEPT = ("type", "enum", "minimum", "maximum", "pattern", "required")
Schema = Mapping[str, Any]


def reduced(schema: Schema, values: Sequence[Any], owner: str, path: str = "") -> Schema:
    """Return the part of a schema that some values at one place use.

    Raises KeyError with the owner of the schema and the path of what it doesn't have.
    """
    kept: dict[str, Any] = {key: schema[key] for key in KEPT if key in schema}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if "properties" in schema:
        kept["properties"] = _fields(schema["properties"], values, owner, path)
        kept["additionalProperties"] = False
    elif isinstance(schema.get("additionalProperties"), Mapping):
        inner = [item for value in values for item in value.values()]
        kept["additionalProperties"] = reduced(schema["additionalProperties"], inner, owner, f"{path}.*")
    elif "items" in schema:
        kept["items"] = reduced(schema["items"], [item for value in values for item in value], owner, f"{path}[]")
    return kept


def _fields(
    known: Mapping[str, Schema], values: Sequence[Mapping[str, Any]], owner: str, path: str
) -> Mapping[str, Schema]:
    names = sorted({name for value in values for name in value})
    unknown = [f"{path}.{name}" for name in names if name not in known]
    if unknown:
        raise KeyError(f"{owner} has no {', '.join(unknown)}")
    return {
        name: reduced(known[name], [one[name] for one in values if name in one], owner, f"{path}.{name}")
        for name in names
    }
