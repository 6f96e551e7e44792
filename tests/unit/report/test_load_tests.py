"""A run's rounds as load tests over one factor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.support.recorded_run import pinned

from patternbench.cli.loadtest import loadtest
from patternbench.plan.order import Round
from patternbench.records import attempts, tables
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry, Journal
from patternbench.report import load_tests
from patternbench.terms.problems import InputError

USERS = [10, 20, 30, 40]


def factor(name: str, role: str, levels: list[object]) -> dict[str, object]:
    unit = "text" if isinstance(levels[0], str) else "count"
    return {"name": name, "path": [name], "role": role, "unit": unit, "none": None, "levels": levels}


def attempts_of(users: int, slow: float) -> pa.Table:
    """Five requests of 1 ms a user, the first of the warm-up, the last one too many."""
    start = np.arange(5) * 10_000
    columns = {
        "user": np.zeros(5), "group": ["all"] * 5, "step": ["a"] * 5, "call": range(5), "attempt": [1] * 5,
        "intended_us": start, "start_us": start + 100, "first_byte_us": [None] * 5,
        "end_us": start + int(1000 * users * slow), "outcome": ["answered"] * 4 + ["timeout"],
        "status": [200, 200, 200, 503, None], "success": [True] * 3 + [False] * 2, "bytes": [0] * 5,
        "warm_up": [True, *[False] * 4],
    }  # fmt: skip
    frame = pd.DataFrame(columns)
    return pa.Table.from_pandas(frame, preserve_index=False).cast(attempts.SCHEMA)


def run_of(path: Path, architectures: list[str]) -> RunFolder:
    scenarios = [
        {"id": f"{name}{users}", "levels": {"users": users, "architecture": name}}
        for name in architectures
        for users in USERS
    ]
    rounds = [Round(index, 0, str(one["id"])) for index, one in enumerate(scenarios)]
    run = pinned(RunFolder(path), scenarios, rounds)
    declared = [factor("users", "load", list(USERS)), factor("architecture", "pattern", list(architectures))]
    planned = json.loads(run.plan.read_text())
    run.plan.write_text(json.dumps({**planned, "factors": declared}))
    table = []
    for index, one in enumerate(scenarios):
        slow = 2.0 if one["levels"]["architecture"] == "messaging" else 1.0
        attempts.write(run.attempts_of(f"{index:05d}"), attempts_of(one["levels"]["users"], slow))
        Journal(run.journal).append(Entry(index, 0, one["id"], DONE, f"{index:05d}", 1.0, 1.0, 5))
        table.append(
            {"round": index, "block": 0, "scenario": one["id"], "status": "done", "valid": True, "started": 1.0}
        )
    tables.write_rounds(pd.DataFrame(table), declared, run.rounds)
    return run


def test_a_runs_load_is_the_factor_that_its_workload_varies(tmp_path: Path) -> None:
    (only,) = load_tests.requests_of(run_of(tmp_path / "run", ["gateway"]))
    assert (only.factor, only.levels) == ("users", {})
    assert sorted(only.requests["load"].unique()) == USERS
    assert len(only.requests) == 4 * 4, "the warm-up is left out"
    assert only.requests.groupby("load")["response"].first().tolist() == [10.0, 20.0, 30.0, 40.0]
    assert set(only.requests["status"]) == {"200", "503", "timeout"}


def test_there_is_a_load_test_for_each_level_of_what_else_varies(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", ["gateway", "messaging"])
    result = CliRunner().invoke(loadtest, [str(run.path), "--json"])
    assert result.exit_code == 0, result.output
    tests = json.loads(result.stdout)["tests"]
    assert [one["at"] for one in tests] == [{"architecture": "gateway"}, {"architecture": "messaging"}]
    assert [one["levels"][3]["mean"] for one in tests] == [40.0, 80.0]
    page = tmp_path / "page.html"
    result = CliRunner().invoke(loadtest, [str(run.path), "--html", str(page)])
    assert "architecture=messaging" in result.stdout
    assert "architecture=messaging" in page.read_text()


def test_a_factor_that_holds_no_numbers_is_no_load(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", ["gateway", "messaging"])
    with pytest.raises(InputError, match=r"no numeric factor `architecture`.*users"):
        load_tests.requests_of(run, "architecture")
    with pytest.raises(InputError, match="did you mean `users`"):
        load_tests.requests_of(run, "user")


def with_journeys(table: pa.Table) -> pa.Table:
    """The same attempts as journeys of two: the first of the warm-up, the last of them cut off."""
    columns = {"journey": [0, 0, 1, 1, 2], "ends_journey": [False, True, False, True, False]}
    unknown = pa.nulls(len(table), pa.uint32())
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table.append_column("items", unknown).append_column("failed_items", unknown)


def test_a_journey_is_one_where_journeys_are_asked_for(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", ["gateway"])
    for index, users in enumerate(USERS):
        attempts.write(run.attempts_of(f"{index:05d}"), with_journeys(attempts_of(users, 1.0)))
    (only,) = load_tests.requests_of(run, unit="journey")
    assert only.requests.groupby("load")["response"].first().tolist() == pytest.approx([20.0, 30.0, 40.0, 50.0])
    assert only.requests["status"].tolist() == ["failed"] * 4
    assert only.requests["time"].tolist() == [1020.0] * 4
    result = CliRunner().invoke(loadtest, [str(run.path), "--unit", "journey"])
    assert "Most failures: 100 % at load 10" in result.stdout


def test_rounds_without_journeys_are_no_load_test_of_journeys(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="have no journeys"):
        load_tests.requests_of(run_of(tmp_path / "run", ["gateway"]), unit="journey")


def test_an_answer_that_lacks_what_was_expected_is_distinguished_from_good_ones(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", ["gateway"])
    for index, users in enumerate(USERS):
        frame = attempts_of(users, 1.0).to_pandas().astype({"outcome": str})
        frame.loc[1, ["outcome", "success"]] = ["expectation_failed", False]
        table = pa.Table.from_pandas(frame, preserve_index=False).cast(attempts.SCHEMA)
        attempts.write(run.attempts_of(f"{index:05d}"), table)
    (only,) = load_tests.requests_of(run)
    assert set(only.requests["status"]) == {"200", "not as expected (200)", "503", "timeout"}
    assert set(only.requests["block"]) == {0}
