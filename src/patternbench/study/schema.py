"""The JSON Schema of the study file, for editors."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from patternbench.study import forms
from patternbench.study.model.levels import Levels
from patternbench.study.models import Study
from patternbench.terms.units import Duration

DRAFT = "https://json-schema.org/draft/2020-12/schema"
STEPS = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Step"}}
FILES = {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}}
NUMBER = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "examples": ["${size}"]}]}
NUMBERS = {"type": "array", "minItems": 1, "uniqueItems": True, "items": NUMBER}
SHORTHANDS: dict[str, dict[str, object]] = {
    "NamedSystem": {"type": "string", "description": "the name of a system file"},
    "Journey": {**STEPS, "description": "its steps"},
    "Trace": {"anyOf": [{"type": "string"}, FILES], "description": "its file, or several as levels"},
    "WeightedUrl": {"type": "string", "description": "its URL"},
    "Series": {"type": "string", "description": "its query"},
    "PrometheusAt": {"type": "string", "description": "its URL"},
    "Each": {"type": "string", "description": "the name of the captured list"},
    "Items": {"anyOf": [NUMBER, NUMBERS], "description": "how many it carries, or several as levels"},
    "Feeder": {"type": "string", "description": "its file"},
}
"""Short forms that are allowed instead of a whole model."""


class _AsWritten(GenerateJsonSchema):
    """Shows defaults as a study would write them."""

    def encode_default(self, dft: object) -> object:
        if isinstance(dft, BaseModel):
            return {name: self.encode_default(value) for name, value in dft if value is not None}
        if isinstance(dft, Levels):
            return self.encode_default(dft[0])
        return str(dft) if isinstance(dft, Duration) else super().encode_default(dft)

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> dict[str, object]:
        """Return a union of which a text may fit several members, which only code here distinguishes."""
        made = super().tagged_union_schema(schema)
        return {"anyOf" if key == "oneOf" else key: value for key, value in made.items() if key != "discriminator"}


def schema_of(model: type[BaseModel]) -> dict[str, object]:
    """Return the schema of a file that is written as a study is (JSON Schema, draft 2020-12)."""
    return {"$schema": DRAFT, **model.model_json_schema(schema_generator=_AsWritten)}


def study_schema() -> dict[str, object]:
    """Return the schema of version 1 of the study file (JSON Schema, draft 2020-12)."""
    schema = Study.model_json_schema(schema_generator=_AsWritten)
    for name, short in SHORTHANDS.items():
        schema["$defs"][name] = {"anyOf": [short, schema["$defs"][name]]}
    fields = schema["properties"]
    fields["quick"]["propertyNames"] = {"enum": [name for name in fields if name not in forms.KEPT]}
    return {"$schema": DRAFT, **schema}
