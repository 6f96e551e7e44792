"""A run killed at any moment resumes where it stopped: no finished round lost, none twice."""

from __future__ import annotations

import json
import random
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
from tests.integration.run.conftest import ROUNDS, TINY, command, entries, left_behind, patternbench

KILLS = 20


@pytest.mark.timeout(900)  # twenty starts of a run, each of many seconds on a busy machine
def test_a_run_killed_at_20_random_moments_is_completed_with_every_round_once(tmp_path: Path, tiny: Path) -> None:
    source = random.Random(20)
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 12"))
    folder = tmp_path / "run"
    finished: list[str] = []
    for kill in range(KILLS):
        verb = ["resume", str(folder)] if (folder / "plan.json").exists() else ["run", str(tiny), "--out", str(folder)]
        process = subprocess.Popen(command(*verb, "--json"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_new_rounds(folder, len(finished), source.randrange(4), process)
        time.sleep(source.uniform(0, 0.2))
        process.kill()
        process.wait()
        kept = [json.dumps(entry) for entry in entries(folder)]
        assert kept[: len(finished)] == finished, f"kill {kill} lost a finished round"
        finished = kept
        wait_until_gone(str(folder))
    assert finished, "the kills came before anything was measured, so the test says nothing"
    done = patternbench("resume", str(folder), "--json", timeout=200)
    assert done.returncode == 0, done.stderr
    rounds = [entry["round"] for entry in entries(folder)]
    assert sorted(rounds) == list(range(ROUNDS * 4)), "a round is missing or stands twice"
    assert [json.dumps(entry) for entry in entries(folder)][: len(finished)] == finished
    files = {path.stem for path in (folder / "attempts").glob("[0-9]*.parquet")}
    assert files == {f"{index:05d}" for index in range(ROUNDS * 4)}
    assert not list(folder.rglob("*.tmp"))


def test_a_run_that_stops_by_itself_is_killed_and_resumed_with_whole_blocks_and_every_round_once(
    tmp_path: Path, tiny: Path
) -> None:
    rule = "rounds: {until: {response: TotalExecutionTime, half_width: 15%}, min: 3, max: 7}"
    tiny.write_text(tiny.read_text().replace("rounds: 3", rule))
    folder = tmp_path / "run"
    finished: list[str] = []
    for more in (3, 14, 20):
        verb = ["resume", str(folder)] if (folder / "plan.json").exists() else ["run", str(tiny), "--out", str(folder)]
        process = subprocess.Popen(command(*verb, "--json"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_new_rounds(folder, len(finished), more, process)
        process.kill()
        process.wait()
        kept = [json.dumps(entry) for entry in entries(folder)]
        assert kept[: len(finished)] == finished
        finished = kept
        wait_until_gone(str(folder))
    done = patternbench("resume", str(folder), "--json", timeout=200)
    assert done.returncode == 0, done.stderr
    planned = json.loads((folder / "plan.json").read_text())["rounds"]
    rounds = sorted(entries(folder), key=lambda entry: entry["round"])
    assert [{"index": e["round"], "block": e["block"], "scenario": e["scenario"]} for e in rounds] == planned
    assert [place["index"] for place in planned] == list(range(len(planned)))
    assert 8 * 3 <= len(planned) <= 8 * 7
    open_in = [{p["scenario"] for p in planned if p["block"] == block} for block in range(planned[-1]["block"] + 1)]
    assert all(later <= earlier for earlier, later in pairwise(open_in))
    assert "rounds were needed" in (folder / "report.html").read_text()


def test_two_processes_never_write_to_one_run(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "run"
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 30"))
    first = subprocess.Popen(command("run", str(tiny), "--out", str(folder), "--json"), stdout=subprocess.DEVNULL)
    try:
        while not entries(folder):
            time.sleep(0.02)
        second = patternbench("resume", str(folder))
        assert second.returncode == 2
        assert "another process is writing" in second.stderr
    finally:
        first.kill()
        first.wait()


def test_a_line_that_a_kill_left_half_written_is_dropped(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "run"
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 1"))
    assert patternbench("run", str(tiny), "--out", str(folder), "--json").returncode == 0
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join(whole[:-2]) + b"\n" + whole[-2][:40])
    assert patternbench("resume", str(folder), "--json").returncode == 0
    assert sorted(entry["round"] for entry in entries(folder)) == list(range(ROUNDS // 3))


def wait_for_new_rounds(folder: Path, before: int, more: int, process: subprocess.Popen[bytes]) -> None:
    """Return when that many rounds have been added; at once for none, which is while everything is coming up."""
    deadline = time.monotonic() + 60
    while len(entries(folder)) < before + more and process.poll() is None:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.005)


def wait_until_gone(mark: str) -> None:
    """After SIGKILL the guards end what was started; give them the time that they promise to need."""
    deadline = time.monotonic() + 10
    while left_behind(mark):
        assert time.monotonic() < deadline, left_behind(mark)
        time.sleep(0.02)


def test_a_resumed_run_reads_its_own_copy_of_a_file_and_refuses_a_changed_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at_us\n1000\n2000\n3000\n")
    text = TINY.partition("workload:")[0].replace("rounds: 3", "rounds: 1") + (
        "workload: {open: {schedule: {trace: t.csv}}, request: {path: /bytes/100}}\n"
        "strategies: [{client: native, baseline: {}}]\n"
    )
    (tmp_path / "study.yaml").write_text(text.replace("warm_up: 100ms", "warm_up: 0ms"))
    run = tmp_path / "run"
    assert patternbench("run", str(tmp_path / "study.yaml"), "--out", str(run), "--json").returncode == 0
    (run / "journal.jsonl").unlink()
    early = patternbench("report", str(run))
    assert (early.returncode, "no round of this run has ended yet" in early.stderr) == (2, True)
    (tmp_path / "t.csv").unlink()
    assert patternbench("resume", str(run), "--json").returncode == 0
    (entry,) = entries(run)
    assert entry["rows"] == 3
    (copy,) = (run / "inputs").iterdir()
    copy.write_text("at_us\n1000\n")
    (run / "journal.jsonl").unlink()
    done = patternbench("resume", str(run), "--json")
    assert done.returncode == 2
    assert "was changed since the run began" in done.stderr
