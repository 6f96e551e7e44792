"""The JSON Schemas of a run's files, made from their definitions; ``contracts/records`` holds what these give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from patternbench.records.columns import ATTEMPTS, OF_JOURNEYS, ROUNDS, STEPS, row_schema
from patternbench.records.stored import Manifest, RunPlan, StoredPart

OF_ATTEMPTS = (
    "One row per attempt on the wire, and one per call that was rejected or dropped before it reached the wire. "
    "Times are whole microseconds from the round's start. "
    "Only files of rounds with journeys have the last four columns."
)
OF_ROUNDS = (
    "One row per round. Further columns are the study's factors under their names (null where one does not apply, "
    "durations in seconds) and the responses that it derives."
)
OF_STEPS = "One row per round, group and step: responses as in rounds, over that step's calls only."


def _of_model(model: type[StoredPart]) -> dict[str, object]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}


SCHEMAS: dict[str, Callable[[], dict[str, object]]] = {
    "attempts": partial(row_schema, "attempts", OF_ATTEMPTS, ATTEMPTS, optional=OF_JOURNEYS),
    "rounds": partial(row_schema, "rounds", OF_ROUNDS, ROUNDS, more=True),
    "steps": partial(row_schema, "steps", OF_STEPS, STEPS),
    "plan": partial(_of_model, RunPlan),
    "manifest": partial(_of_model, Manifest),
}
"""How to make the schema of each file, by its name."""
