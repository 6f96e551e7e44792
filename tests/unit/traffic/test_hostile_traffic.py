"""Descriptions, recordings and tables that were made to hurt end in less than two seconds and 300 MB."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.hostile import BOMB, are_refused_within_bounds

OPENAPI = "openapi: 3.1.0\n"
SELF = "paths:\n  /x:\n    get: {parameters: [{$ref: '#/components/parameters/a'}]}\n"
CIRCLE = "components: {parameters: {a: {$ref: '#/components/parameters/b'}, b: {$ref: '#/components/parameters/a'}}}\n"
CHAIN = "".join(f"    p{n}: {{$ref: '#/components/parameters/p{n + 1}'}}\n" for n in range(2_000))
PARAMETERS = ", ".join(["{$ref: '#/components/parameters/p0'}"] * 2_000)
GET = f"paths: {{/x: {{get: {{parameters: [{PARAMETERS}]}}}}}}\n"
HOSTILE = {
    "bomb.yaml": f"{OPENAPI}{BOMB}paths: *i\n",
    "circle.yaml": f"{OPENAPI}{SELF}{CIRCLE}",
    "chain.yaml": f"{OPENAPI}{GET}components:\n  parameters:\n{CHAIN}",
    "examples.json": json.dumps({"openapi": "3.1.0", "paths": {"/x": {"$ref": "#/paths/~1x"}}}),
    "deep.json": '{"openapi": "3.1.0", "paths": ' + '{"a":' * 100_000,
    "deep.har": '{"log": {"entries": ' + "[" * 100_000,
    "large.har": '{"log": {"entries": [' + "{}," * 1_200_000 + "{}]}}",
    "quotes.sh": "curl 'http://a/" + "\\" * 3_000_000,
    "many.sh": "curl http://a/\n" * 250_000,
}
TRAFFIC = """
from patternbench.traffic.files import TrafficSelection, imported
def read(path): return imported(path, TrafficSelection("a", "http://127.0.0.1:1"))
"""
RESULTS = """
from patternbench.study.text import operator_results
from patternbench.study.text.files import read_text
def read(path): return operator_results.rows(read_text(path), str(path))
"""
TABLE = "scenario_type,fault_percentage,workload_users,GRPC_MAX_ATTEMPTS,GRPC_INITIAL_BACKOFF,"
TABLE += "GRPC_BACKOFF_MULTIPLIER,GRPC_MAX_BACKOFF,checkout_success_rate\n"


@pytest.mark.slow
def test_no_description_recording_or_command_takes_two_seconds_or_300_mb(tmp_path: Path) -> None:
    for name, text in HOSTILE.items():
        (tmp_path / name).write_text(text)
    for name in ("50mb.yaml", "50mb.har", "50mb.json"):
        (tmp_path / name).write_bytes(
            (b'{"openapi": "3.1.0",' if name != "50mb.yaml" else b"a: 1\n") + b" " * 50_000_000
        )
    are_refused_within_bounds(TRAFFIC, tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("row", ["baseline,30,10,1,100,1,100,0.7\n", "x" * 400 + "\n", '"' * 401 + "\n"])
def test_no_table_of_published_results_takes_two_seconds_or_300_mb(tmp_path: Path, row: str) -> None:
    (tmp_path / "data.csv").write_text(TABLE + row * (50_000_000 // len(row)))
    are_refused_within_bounds(RESULTS, tmp_path.iterdir())
