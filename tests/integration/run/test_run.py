"""A study from its file to its report, on the embedded default."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import ROUNDS, TINY, command, entries, left_behind, patternbench


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    (folder / "tiny.yaml").write_text(TINY)
    done = patternbench("run", str(folder / "tiny.yaml"), "--out", str(folder / "run"), "--json")
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert (reported["scenarios"], reported["rounds"], reported["failed"]) == (8, ROUNDS, 0)
    return folder / "run"


def test_a_run_leaves_every_file_of_the_records_contract(finished: Path) -> None:
    for name in ("study.yaml", "plan.json", "manifest.json", "journal.jsonl", "rounds.parquet", "report.html"):
        assert (finished / name).stat().st_size > 0, name
    assert len(list((finished / "attempts").glob("[0-9]*.parquet"))) == ROUNDS
    assert list((finished / "figures").glob("*.svg"))
    assert list((finished / "tables").glob("*.csv"))


SECRET = "in-plain-words"


def test_a_run_whose_study_holds_a_secret_is_for_its_owner_alone_and_says_where_the_secret_lies(tmp_path: Path) -> None:
    text = TINY.replace("rounds: 3", "rounds: {until: {response: p95, half_width: 1ms}, min: 3, max: 4}")
    text = text.replace("path: /bytes/100}", f"path: /bytes/100, headers: {{X-Api-Key: {SECRET}}}}}")
    text = text.replace("users: [2, 4]", "users: 2").replace("percentage: [0, 50]", "percentage: 0")
    (tmp_path / "tiny.yaml").write_text(text)
    done = patternbench("run", str(tmp_path / "tiny.yaml"), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    assert "in the study and plan.json of its folder, readable only by your account" in " ".join(done.stderr.split())
    run = tmp_path / "run"
    assert run.stat().st_mode & 0o777 == 0o700
    holds = {file.name: file.stat().st_mode & 0o777 for file in run.rglob("*") if file.is_file() and written_in(file)}
    assert holds == {"study.yaml": 0o600, "plan.json": 0o600}


def written_in(file: Path) -> bool:
    return SECRET.encode() in file.read_bytes()


def test_a_run_leaves_no_process(finished: Path) -> None:
    assert left_behind(str(finished)) == []


def test_every_round_ran_once_and_every_scenario_in_every_block(finished: Path) -> None:
    found = entries(finished)
    assert [entry["round"] for entry in found] == list(range(ROUNDS))
    assert len({(entry["block"], entry["scenario"]) for entry in found}) == ROUNDS


def test_what_a_system_took_of_the_processors_in_a_round_is_no_more_than_they_have(finished: Path) -> None:
    rounds = pd.read_parquet(finished / "rounds.parquet")
    assert (rounds["system_cpu_s"] >= 0).all()
    assert rounds["system_cpu_s"].sum() > 0
    assert (rounds["system_cpu_s"] <= (os.cpu_count() or 1) * rounds["seconds"] + 0.1).all()


def test_the_manifest_pins_what_was_measured(finished: Path) -> None:
    noted = json.loads((finished / "manifest.json").read_text())
    assert noted["seed"] == 5
    assert re.search(r"1\.40", noted["envoy"])
    assert (noted["by_engine"], noted["clients"]) == (["native"], {})
    assert re.search(r"\d+\.\d+", noted["engine"])
    assert {"cpu", "cores", "kernel", "memory_bytes"} <= noted["machine"].keys()


def test_faults_reach_the_share_that_the_scenario_says(finished: Path) -> None:
    rounds = pd.read_parquet(finished / "rounds.parquet")
    healthy = rounds[rounds["abort.percentage"] == 0]
    assert (healthy["UnsuccessfulRequests"] == 0).all()
    faulty = rounds[rounds["abort.percentage"] == 50]
    share = faulty["UnsuccessfulRequests"].sum() / faulty["TotalRequests"].sum()
    assert 0.35 < share < 0.65


def test_every_user_got_its_successes(finished: Path) -> None:
    rounds = pd.read_parquet(finished / "rounds.parquet")
    for entry, users in zip(entries(finished), rounds["users"], strict=True):
        rows = pd.read_parquet(finished / "attempts" / f"{entry['file']}.parquet").query("not warm_up")
        assert rows.groupby("user")["success"].sum().tolist() == [3] * users


RAW = {"study.yaml", "plan.json", "manifest.json", "journal.jsonl", "attempts", "load", "logs", ".lock"}
"""What a run's folder holds that is measured or pinned; all else is made from it."""


def made_of_records(run: Path) -> dict[str, bytes]:
    """Every readable file of a run with its content."""
    found = [path for path in sorted(run.rglob("*")) if path.is_file() and path.relative_to(run).parts[0] not in RAW]
    return {str(path.relative_to(run)): path.read_bytes() for path in found}


def test_the_report_is_rebuilt_from_the_records_alone(finished: Path) -> None:
    before = made_of_records(finished)
    assert {"report.html", "rounds.parquet", "steps.parquet"} < set(before)
    for name in before:
        (finished / name).unlink()
    assert patternbench("report", str(finished)).returncode == 0
    after = made_of_records(finished)
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] != before[name]] == []


def test_the_report_follows_the_records(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    journal = run / "journal.jsonl"
    journal.write_text("".join(line + "\n" for line in journal.read_text().splitlines()[:-8]))
    assert patternbench("report", str(run)).returncode == 0
    rounds = pd.read_parquet(run / "rounds.parquet")
    assert len(rounds) == ROUNDS - 8
    for row in rounds.itertuples():
        attempts = pd.read_parquet(run / "attempts" / f"{row.round:05d}.parquet").query("not warm_up")
        assert row.TotalRequests == (attempts["outcome"] != "rejected").sum(), row.round


def test_a_run_ends_with_a_short_table_and_the_path_of_the_report(tmp_path: Path, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 1"))
    done = patternbench("run", str(tiny), "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "run" / "report.html") in done.stdout.splitlines()[-1]
    assert "baseline" in done.stdout


def test_a_folder_that_holds_another_run_is_refused_and_kept(finished: Path, tiny: Path) -> None:
    before = (finished / "journal.jsonl").read_bytes()
    done = patternbench("run", str(tiny), "--out", str(finished))
    assert done.returncode == 2
    assert "holds another run" in done.stderr
    assert "Traceback" not in done.stderr
    assert (finished / "journal.jsonl").read_bytes() == before


def test_a_finished_run_resumes_to_itself(finished: Path) -> None:
    before = (finished / "journal.jsonl").read_bytes()
    assert patternbench("resume", str(finished)).returncode == 0
    assert (finished / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("format_", ["csv", "parquet", "resiliencebench-csv"])
def test_a_run_is_exported(finished: Path, format_: str, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    done = patternbench("export", str(finished), "--format", format_, "--out", str(out))
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(out) if format_ == "parquet" else pd.read_csv(out)
    users = 3 * (2 + 4) * 4
    assert len(table) == (users if format_ == "resiliencebench-csv" else ROUNDS)
    assert {"SuccessfulCalls", "ContentionRate", "TotalExecutionTime"} <= set(table.columns)


def test_ctrl_c_leaves_nothing_behind_and_says_how_to_continue(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen(command("run", str(tiny), "--out", str(folder)), stderr=subprocess.PIPE, text=True)
    wait_for_rounds(folder, 2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"patternbench resume {folder}" in errors
    assert left_behind(str(folder)) == []


def test_a_run_in_a_shells_background_can_be_interrupted_too(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "run"
    words = " ".join(map(shlex.quote, command("run", str(tiny), "--out", str(folder), "--json")))
    script = f"trap '' INT; exec {words}"
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_rounds(folder, 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130


def wait_for_rounds(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(entries(folder)) < count:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.02)
