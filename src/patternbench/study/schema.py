"""The JSON Schema of the study file, for editors."""

from __future__ import annotations

from typing import Any

from patternbench.study.models import Study


def study_schema() -> dict[str, Any]:
    """The schema of version 1 of the study file (JSON Schema, draft 2020-12)."""
    schema = Study.model_json_schema()
    system = schema["$defs"]["System"]
    schema["$defs"]["System"] = {"anyOf": [{"type": "string", "description": "a system by name"}, system]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
