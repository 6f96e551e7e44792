"""One definition of a run's files: the schemas, the code and every language that writes them agree with it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.schemas import conforms
from tests.support.studies import ROOT, study

from patternbench.analyze import metrics
from patternbench.plan.expand import expand
from patternbench.plan.order import rounds_of
from patternbench.records import attempts, tables
from patternbench.records.batches import Batch
from patternbench.records.columns import ATTEMPTS, RESPONSES, ROUNDS, STEPS, TABLE_2, names
from patternbench.records.schemas import SCHEMAS
from patternbench.run.prepared_run import planned
from patternbench.terms.quantities import unit_of

UNITS = {"s": ("s", "ms"), "1/s": ("/s",), "%": ("%",), "": ("",)}
"""How a report writes the unit of a column."""


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_of_the_contract_is_what_the_code_says(name: str) -> None:
    kept = json.loads((ROOT / f"contracts/records/{name}.schema.json").read_text())
    assert kept == json.loads(json.dumps(SCHEMAS[name]())), "type `make contracts`"
    jsonschema.Draft202012Validator.check_schema(kept)


@pytest.mark.parametrize("columns", [ATTEMPTS, ROUNDS, STEPS])
def test_no_column_is_defined_twice(columns: tuple[object, ...]) -> None:
    found = names(columns)  # type: ignore[arg-type]
    assert len(set(found)) == len(found)


def test_the_responses_of_the_contract_are_those_that_are_computed() -> None:
    assert tuple(names(RESPONSES)) == metrics.RESPONSES
    assert TABLE_2 == metrics.TABLE_2
    assert [name for name in names(STEPS) if name in metrics.RESPONSES] == list(metrics.STEP_RESPONSES)


@pytest.mark.parametrize("column", RESPONSES, ids=lambda column: column.name)
def test_a_response_is_reported_in_the_unit_of_its_column(column: object) -> None:
    assert unit_of(column.name, 1.0)[0] in UNITS[column.unit]  # type: ignore[attr-defined]


def test_a_client_and_the_load_engine_write_the_same_columns(tmp_path: Path) -> None:
    one = np.arange(1)
    batch = Batch(one, one, one + 1, one, one, np.zeros(1, np.int8), 200 + one)
    attempts.write(tmp_path / "a.parquet", attempts.from_batches([batch], warm_up=False))
    text = (ROOT / "engine/crates/attemptlog/src/arrow_schema.b64").read_text()
    engine = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text)))
    assert pq.read_schema(tmp_path / "a.parquet").equals(engine, check_metadata=False)


def test_rows_of_attempts_are_valid_by_their_schema() -> None:
    one = np.arange(1)
    batch = Batch(one, one, one + 1, one, one, np.zeros(1, np.int8), 200 + one)
    schema = SCHEMAS["attempts"]()
    for row in attempts.from_batches([batch], warm_up=True).to_pylist():
        conforms(row, schema)


def test_a_table_has_the_types_of_its_columns_whatever_is_missing(tmp_path: Path) -> None:
    frame = pd.DataFrame({"round": [0.0], "cause": [None], "p95": [np.nan], "users": [50], "status": ["failed"]})
    tables.write_rounds(frame, [{"name": "users"}], tmp_path / "r.parquet")
    schema = pq.read_schema(tmp_path / "r.parquet")
    found = {field.name: field.type for field in schema}
    assert found == {
        "round": pa.int64(),
        "cause": pa.string(),
        "p95": pa.float64(),
        "users": pa.int64(),
        "status": pa.string(),
    }
    assert tables.factors_of(tmp_path / "r.parquet") == [{"name": "users"}]


def test_a_plan_is_valid_by_its_schema() -> None:
    requested = study()
    plan = expand(requested)
    made = planned(plan, rounds_of(plan.scenarios, 1, 1, "shuffled"), requested).as_json()
    conforms(json.loads(json.dumps(made)), SCHEMAS["plan"]())
    assert [factor["name"] for factor in made["factors"]] == list(plan.factors)
