"""A round is an order that another process can carry out, with the same result."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.integration.run.conftest import by_library

from patternbench.records.folder import RunFolder
from patternbench.run import prepared_run
from patternbench.run.round.executor import LocalExecutor
from patternbench.run.round.orders import RoundOrder, RoundResult
from patternbench.study.load import StudyFile

STUDY = """\
patternbench: 1
name: travelling
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: 1
seed: 11
time_limit: 20s
"""
BY_ENGINE = """\
warm_up: 0ms
workload:
  closed: {users: 1, requests: 30}
  feeder: {file: users.csv, order: random}
  journey: [{name: look, path: "/bytes/${feed.size}"}]
strategies: [{client: native, baseline: {}}]
"""
BY_CLIENT = """\
warm_up: 100ms
workload:
  closed: {users: 2, successes: 15}
  request: {path: /bytes/100}
strategies: [{client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 2ms}}}}]
"""
BY_CLIENT = by_library(BY_CLIENT)
ELSEWHERE = """
import json, sys
from patternbench.records.folder import RunFolder
from patternbench.run.round.executor import LocalExecutor
from patternbench.run.round.orders import RoundOrder
folder = RunFolder(sys.argv[1])
folder.create()
with LocalExecutor(folder) as executor:
    (result,) = executor.map([[RoundOrder.from_json(json.load(sys.stdin))]])
print(json.dumps(result.as_json()))
"""
MEASURED = ["start_us", "first_byte_us", "end_us", "intended_us"]


def begun(folder: Path, workload: str) -> tuple[RunFolder, RoundOrder]:
    """A run that is prepared, and the order of its first round."""
    (folder / "users.csv").write_text("size\n10\n20\n3000\n")
    (folder / "study.yaml").write_text(STUDY + workload)
    prepared = prepared_run.begin(StudyFile.read(folder / "study.yaml"), folder / "here", skip_unavailable=False)
    order = prepared.orders().of(prepared.rounds[0], prepared.plan.scenarios[0], "00000", "warm-up-000")
    return prepared.folder, order


def elsewhere(order: RoundOrder, folder: Path) -> RoundResult:
    """The result of an order that goes through JSON into a process that knows nothing of the run."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(folder)],
        input=json.dumps(order.as_json()),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return RoundResult.from_json(json.loads(done.stdout))


def same(result: RoundResult) -> dict[str, Any]:
    """What of a result does not depend on how fast this machine was just then."""
    entries = [(e.round, e.block, e.scenario, e.status, e.file, e.cause) for e in (result.entry, *result.warm_ups)]
    machines, accounts = result.facts["machines"], result.facts["accounts"]
    return {"entries": entries, "files": result.files, "facts": (machines, accounts)}


def attempts(folder: Path) -> list[tuple[Any, ...]]:
    frame = pd.read_parquet(folder / "attempts" / "00000.parquet").drop(columns=MEASURED)
    frame = frame[~frame["warm_up"]].astype(str)
    return sorted(frame.itertuples(index=False, name=None))


@pytest.mark.parametrize("workload", [BY_ENGINE, BY_CLIENT], ids=["load engine", "library client"])
def test_an_order_through_json_into_a_fresh_process_gives_the_same_result(workload: str, tmp_path: Path) -> None:
    run, order = begun(tmp_path, workload)
    with LocalExecutor(run) as executor:
        (here,) = executor.map([[order]])
    if run.inputs.exists():
        other = RunFolder(tmp_path / "there")
        other.create()
        other.unlock()
        shutil.copytree(run.inputs, other.inputs)
    there = elsewhere(order, tmp_path / "there")
    assert here.entry.status == "done", here.entry.cause
    assert same(there) == same(here)
    assert attempts(tmp_path / "there") == attempts(run.path)
    assert len(attempts(run.path)) == 30
    assert all((tmp_path / "there" / name).is_file() for name in there.files)


def test_an_order_whose_files_are_not_there_fails_and_names_them(tmp_path: Path) -> None:
    _, order = begun(tmp_path, BY_ENGINE)
    result = elsewhere(order, tmp_path / "there")
    assert result.entry.status == "failed"
    assert "users.csv" in (result.entry.cause or "")
