"""What leaves a run's folder for other tools."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from rich.table import Table

from patternbench.cli import report as report_verb
from patternbench.cli.export import export
from patternbench.cli.main import main
from patternbench.observe.warning import RoundWarning
from patternbench.plan.expand import expand
from patternbench.records import all_attempts, attempts, folder, tables
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, FAILED, Entry, Journal
from patternbench.records.tables import TableError
from patternbench.report.build import BuiltReport, gather, refresh_rounds, units_of_responses
from patternbench.report.export import ExportRequest, export_run, resiliencebench, rounds
from patternbench.report.model import counting
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: x
system: target
workload: {{closed: {{users: 2, successes: 1}}}}
strategies: [{{client: native, <<: {strategy}}}]
"""
LATE = RoundWarning("late_schedule", "sent late", "lower the rate", invalidates=True)
RETRY = {"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay": "20ms"}}}}


def recorded(path: Path, strategy: dict[str, Any], more: str = "") -> RunFolder:
    """A run of three rounds of one scenario: one counts, one is not valid, one failed."""
    run = RunFolder(path)
    run.create()
    text = STUDY.format(strategy=json.dumps(strategy)) + more
    scenario = expand(loads(text, "study.yaml")).scenarios[0].as_json() | {"id": "a"}
    places = [{"index": number, "block": number, "scenario": "a"} for number in range(3)]
    manifest = {"manifest": 1, "study": "x", "study_file": "study.yaml", "left_out": {}}
    folder.write_text(run.path / "study.yaml", text)
    folder.write_json(run.plan, {"factors": {}, "scenarios": [scenario], "rounds": places})
    folder.write_json(run.manifest, manifest)
    journal = Journal(run.journal)
    for number, (status, warnings) in enumerate([(DONE, []), (DONE, [LATE]), (FAILED, [])]):
        _attempts(run, f"{number:05d}")
        journal.append(Entry(number, number, "a", status, f"{number:05d}", 1e9 + number, 1.0, 2, doubts=warnings))
    refresh_rounds(run)
    return run


def _attempts(run: RunFolder, name: str) -> None:
    user, ones = np.array([0, 1]), np.ones(2, dtype=np.int64)
    batch = Batch(user, 0 * user, ones, 10 * user, 5 * ones, np.zeros(2, np.int8), 200 * ones)
    attempts.write(run.attempts_of(name), attempts.from_batches([batch], warm_up=False))


def exported_attempts(run: RunFolder, every_round: bool = False) -> pd.DataFrame:
    request = ExportRequest("parquet", "attempts", every_round)
    return pd.read_parquet(export_run(run, request, run.path.parent / "attempts.parquet", force=True))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return recorded(tmp_path / "run", {"baseline": {}})


@pytest.mark.parametrize("table", [rounds, exported_attempts, resiliencebench])
def test_an_export_leaves_out_rounds_that_failed_or_are_not_valid(run: RunFolder, table: Any) -> None:
    exported = table(run)
    number = "block" if "block" in exported else "round"
    assert set(exported[number]) == ({0} if number == "block" else {1})


def test_an_export_of_every_round_marks_those_that_are_not_valid(run: RunFolder) -> None:
    found = exported_attempts(run, every_round=True)
    assert dict(zip(found["round"], found["valid"], strict=True)) == {0: True, 1: False}
    assert list(rounds(run, every_round=True)["valid"]) == [True, False, True]
    assert list(rounds(run, every_round=True)["status"]) == [DONE, DONE, FAILED]
    assert list(resiliencebench(run, every_round=True)["valid"]) == [True, True, False, False]


@pytest.mark.parametrize(
    ("strategy", "name", "column"),
    [
        ({"stack": [{"deadline": "5s"}, RETRY]}, "deadline+retry", "retry.max_attempts"),
        ({"stack": [RETRY], "name": "careful"}, "careful", "retry.max_attempts"),
        (RETRY, "Retry", "max_attempts"),
    ],
)
def test_a_stack_is_exported_for_resiliencebench(
    tmp_path: Path, strategy: dict[str, Any], name: str, column: str
) -> None:
    run = recorded(tmp_path / "run", strategy)
    exported = pd.read_csv(export_run(run, ExportRequest("resiliencebench-csv"), None, force=False))
    assert set(exported["strategy"]) == {name}
    assert set(exported[column]) == {3}


def test_a_report_shows_rounds_that_are_not_valid_where_asked_and_its_title_says_so(run: RunFolder) -> None:
    usual, whole = gather(run), gather(run, include_invalid=True)
    assert len(counting(usual.rounds)) == 1
    assert len(counting(whole.rounds)) == 2
    assert (usual.study_name, whole.study_name) == ("x", "x (with rounds that are not valid)")
    assert len(whole.latencies) > len(usual.latencies)
    stored = pd.read_parquet(run.rounds)["valid"]
    assert list(stored) == [True, False, True], "what is stored stays as it was judged"


def test_programs_are_told_which_file_was_written(run: RunFolder) -> None:
    result = CliRunner().invoke(export, [str(run.path), "--format", "csv", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout) == {"written": [str(run.path / "export" / "rounds.csv")]}


def test_programs_are_reported_where_the_report_is_and_what_is_damaged(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_verb, "build", lambda *_: BuiltReport(Table(), ["round 1 can no longer be read"]))
    result = CliRunner().invoke(report_verb.report, [str(run.path), "--json"], catch_exceptions=False)
    assert json.loads(result.stdout) == {
        "run": str(run.path),
        "report": str(run.report),
        "damage": ["round 1 can no longer be read"],
    }


def state(run: RunFolder) -> dict[str, int]:
    """The files of a run's folder, with the nanosecond at which each was last changed."""
    return {str(path.relative_to(run.path)): path.stat().st_mtime_ns for path in run.path.rglob("*")}


@pytest.mark.parametrize("table", ["rounds", "attempts"])
def test_an_export_to_elsewhere_only_reads_the_runs_folder(run: RunFolder, table: str, tmp_path: Path) -> None:
    """It is often a folder that no one may write to, and its table of rounds may be an older one."""
    run.rounds.unlink()
    before = state(run)
    words = ["export", str(run.path), "--format", "csv", "--table", table, "--out", str(tmp_path / "out.csv")]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    assert set(pd.read_csv(tmp_path / "out.csv")["round"]) == {0}
    assert state(run) == before


def test_claims_are_printed_without_a_write_into_the_runs_folder(run: RunFolder) -> None:
    run.rounds.unlink()
    before = state(run)
    assert gather(run).rounds["round"].tolist() == [0, 1, 2]
    assert state(run) == before


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_run_of_which_no_round_has_ended_has_no_rounds_to_export(run: RunFolder, form: str, tmp_path: Path) -> None:
    run.journal.write_text("")
    with pytest.raises(TableError, match="no round of this run has ended yet"):
        export_run(run, ExportRequest(form), tmp_path / "out", force=False)
    assert not (tmp_path / "out").exists()


def test_exported_rounds_say_their_factors_and_units_as_the_runs_own_table_does(run: RunFolder, tmp_path: Path) -> None:
    out = export_run(run, ExportRequest("parquet"), tmp_path / "out.parquet", force=False)
    assert tables.units_of(out) == tables.units_of(run.rounds) == units_of_responses(run)
    assert tables.units_of(out)
    assert tables.factors_of(out) == tables.factors_of(run.rounds)


def mixed_run(path: Path) -> tuple[RunFolder, pd.DataFrame]:
    """A run whose rounds have answers everywhere, timeouts without a status, and journeys; and all its attempts."""
    run = recorded(path, {"baseline": {}})
    journal = Journal(run.journal)
    frames = []
    for number in range(3):
        user, ones = np.arange(5), np.ones(5, dtype=np.int64)
        late = np.array([0, 1, 0, 1, 0], np.int8) * (number == 1)
        batch = Batch(user, 0 * user, ones, 10 * user, 5 * ones, late, np.where(late, 0, 200))
        table = attempts.from_batches([batch], warm_up=False)
        if number == 2:
            table = table.append_column("journey", pa.array(user, pa.uint32()))
        attempts.write(run.attempts_of(f"{number:05d}"), table)
        journal.append(Entry(number, number, "a", DONE, f"{number:05d}", 1e9 + number, 1.0, 5))
        frames.append(attempts.read(run.attempts_of(f"{number:05d}")).assign(round=number, block=number, scenario="a"))
    whole = pd.concat(frames, ignore_index=True)
    front = ["round", "block", "scenario"]
    return run, whole[front + [name for name in whole.columns if name not in front]]


@pytest.mark.parametrize("block", [2, 100])
def test_attempts_are_exported_in_blocks_as_if_they_had_been_one_table(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_attempts, "BLOCK", block)
    run, whole = mixed_run(tmp_path / "run")
    for name in ("attempts.csv", "attempts.csv.gz", "attempts.csv.zip"):
        out = export_run(run, ExportRequest("csv", "attempts"), tmp_path / name, force=False)
        assert_same_texts(out, whole)
    found = exported_attempts(run)
    assert list(found) == list(whole)
    pd.testing.assert_frame_equal(found, whole.astype(found.dtypes.to_dict()), check_categorical=False)
    assert found["status"].tolist()[:5] == [200.0] * 5
    assert found["journey"].isna().tolist() == [True] * 10 + [False] * 5


def assert_same_texts(file: Path, whole: pd.DataFrame) -> None:
    expected = pd.read_csv(io.StringIO(whole.to_csv(index=False)), dtype=str)
    pd.testing.assert_frame_equal(pd.read_csv(file, dtype=str), expected)


@pytest.mark.parametrize(
    ("fault", "columns"),
    [
        ("[]", {"faultType": "none", "faultPercentage": 0}),
        (
            "[{abort: {percentage: 40, status: 503}}]",
            {"faultType": "abort", "faultPercentage": 40, "faultStatus": 503},
        ),
        (
            "[{delay: {percentage: 30, duration: 1500us}}]",
            {"faultType": "delay", "faultPercentage": 30, "faultDuration": 1.5},
        ),
    ],
)
def test_times_of_strategies_and_faults_are_in_milliseconds_as_that_tool_has_them(
    tmp_path: Path, fault: str, columns: dict[str, object]
) -> None:
    run = recorded(tmp_path / "run", RETRY, more=f"faults: {fault}\n")
    (row,) = resiliencebench(run).drop_duplicates(["strategy"]).to_dict("records")
    expected = {"max_attempts": 3, "backoff.fixed.delay": 20.0, **columns}
    assert {name: row[name] for name in expected} == expected
    assert not {"faultStatus", "faultDuration"} & {*row} - {*columns}
