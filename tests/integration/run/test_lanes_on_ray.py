"""Runs on a real Ray cluster of this machine: nothing is lost, nothing counts twice, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from tests.integration.run.conftest import command, entries, left_behind, patternbench

STUDY = """\
patternbench: 1
name: lanes
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: BLOCKS
seed: 11
warm_up: {requests: 5, at_most: 5s}
time_limit: 20s
workload:
  LOAD
  request: {path: /bytes/10}
strategies: [{client: native, baseline: {}}]
"""
CLOSED = "closed: {users: [2, 4], requests: 15}"
OPEN = "open: {rate: [20, 40], duration: 1500ms}"
PATIENCE_S = 120.0
pytestmark = pytest.mark.timeout(600)  # each starts a cluster, which takes half a minute on a busy machine


def study(folder: Path, load: str, blocks: int) -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.replace("LOAD", load).replace("BLOCKS", str(blocks)))
    return path


def counted(folder: Path) -> dict[int, dict[str, Any]]:
    """The line of each round that counts, as the journal's voided blocks tell."""
    rounds: dict[int, dict[str, Any]] = {}
    for entry in entries(folder):
        if entry["status"] == "voided":
            gone = [n for n, one in rounds.items() if (one["block"], one["lane"]) == (entry["block"], entry["lane"])]
            for number in gone:
                del rounds[number]
        else:
            rounds[entry["round"]] = entry
    return rounds


def assert_whole(folder: Path, blocks: int) -> None:
    """Each round counts once, and each block is of one lane."""
    rounds = counted(folder)
    assert sorted(rounds) == list(range(2 * blocks))
    lanes = {block: {one["lane"] for one in rounds.values() if one["block"] == block} for block in range(blocks)}
    assert all(len(of_block) == 1 for of_block in lanes.values()), lanes
    assert {one["status"] for one in rounds.values()} == {"done"}


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command(*words, "--json"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def await_rounds(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(entries(folder)) < count:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"it did not come to {count} rounds: {process.communicate()[0]}")
        time.sleep(0.05)


def actors(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The actors of a run, among the processes that descend from it."""
    below = psutil.Process(process.pid).children(recursive=True)
    return [one for one in below if is_actor(one)]


def is_actor(process: psutil.Process) -> bool:
    """Whether a process is an actor of a lane; one that has just ended is none."""
    with suppress(psutil.Error):
        return any("LaneWorker" in word for word in process.cmdline())
    return False


def await_nothing_left(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while left_behind(str(folder)) or left_behind("patternbench-lane-"):
        assert time.monotonic() < deadline, left_behind(str(folder)) + left_behind("patternbench-lane-")
        time.sleep(0.1)


def seeds_and_requests(folder: Path) -> dict[int, tuple[str, int]]:
    """Of each round its scenario, and how many attempts it has after its warm-up."""
    made = {}
    for number, entry in counted(folder).items():
        table = pq.read_table(folder / "attempts" / f"{entry['file']}.parquet", columns=["warm_up"])
        made[number] = (entry["scenario"], Counter(table["warm_up"].to_pylist())[False])
    return made


def test_two_lanes_make_the_rounds_that_one_machine_makes(tmp_path: Path) -> None:
    path = study(tmp_path, CLOSED, 4)
    here = patternbench("run", str(path), "--out", str(tmp_path / "here"), "--json")
    assert here.returncode == 0, here.stderr
    there = patternbench("run", str(path), "--out", str(tmp_path / "there"), "--on", "ray", "--json", timeout=300)
    assert there.returncode == 0, there.stdout + there.stderr
    assert_whole(tmp_path / "there", 4)
    assert len({one["lane"] for one in counted(tmp_path / "there").values()}) == 2
    assert seeds_and_requests(tmp_path / "there") == seeds_and_requests(tmp_path / "here")
    assert set(seeds_and_requests(tmp_path / "there").values()) == {
        (scenario, count) for scenario, count in seeds_and_requests(tmp_path / "here").values()
    }
    lanes = json.loads((tmp_path / "there" / "manifest.json").read_text())["lanes"]
    assert len({one["code_sha256"] for one in lanes.values()}) == 1
    assert (tmp_path / "there" / "report.html").is_file()
    await_nothing_left(tmp_path)


@pytest.mark.parametrize("victim", ["worker", "node"])
def test_a_lane_that_is_killed_in_a_block_voids_it_and_the_run_ends_whole(tmp_path: Path, victim: str) -> None:
    """A worker whose node is killed may still hand over the round that it is at; the block is whole all the same."""
    folder = tmp_path / "run"
    with running("run", str(study(tmp_path, OPEN, 6)), "--out", str(folder), "--on", "ray", "--lanes", "2") as run:
        await_rounds(folder, 1, run)
        actor = actors(run)[0]
        node = actor.parent()
        assert node is not None
        assert "raylet" in node.name()
        os.kill((actor if victim == "worker" else node).pid, signal.SIGKILL)
        output, _ = run.communicate(timeout=300)
        assert run.returncode == 0, output
    assert_whole(folder, 6)
    rounds = [entry for entry in entries(folder) if entry["status"] == "done"]
    voided = [entry for entry in entries(folder) if entry["status"] == "voided"]
    assert len(voided) <= 1
    assert len(rounds) <= 12 + 2 * len(voided)
    assert len(voided) == 1 or victim == "node"
    assert all(entry["cause"] for entry in voided)
    await_nothing_left(tmp_path)


def test_a_coordinator_that_was_killed_continues_and_divides_no_block(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with running("run", str(study(tmp_path, OPEN, 4)), "--out", str(folder), "--on", "ray", "--lanes", "2") as run:
        await_rounds(folder, 2, run)
        run.send_signal(signal.SIGKILL)
        run.wait()
    await_nothing_left(tmp_path)
    done = patternbench("resume", str(folder), "--on", "ray", "--lanes", "2", "--json", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_whole(folder, 4)


def test_ctrl_c_ends_a_run_on_lanes_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with running("run", str(study(tmp_path, OPEN, 20)), "--out", str(folder), "--on", "ray", "--lanes", "2") as run:
        await_rounds(folder, 1, run)
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=120)
        assert run.returncode != 0
        assert f"go on with: patternbench resume {folder}" in output
    await_nothing_left(tmp_path)


def test_an_address_where_nothing_answers_is_said_before_anything_runs(tmp_path: Path) -> None:
    path, folder = study(tmp_path, CLOSED, 2), tmp_path / "run"
    done = patternbench("run", str(path), "--out", str(folder), "--on", "ray:127.0.0.1:1")
    assert done.returncode == 2
    assert "no Ray cluster answers there" in done.stderr
    assert "Traceback" not in done.stderr
    assert not entries(folder)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--lanes", "2"], "--lanes says nothing without --on"),
        (["--on", "kubernetes"], "isn't a place to run at"),
        (["--on", "ray", "--lanes", "0"], "--lanes"),
    ],
)
def test_options_of_lanes_that_make_no_sense_are_refused(tmp_path: Path, words: list[str], why: str) -> None:
    done = patternbench("run", str(study(tmp_path, CLOSED, 2)), "--out", str(tmp_path / "run"), *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_study_without_blocks_has_no_lanes(tmp_path: Path) -> None:
    path = study(tmp_path, CLOSED, 2)
    path.write_text(path.read_text().replace("rounds: 2", "rounds: 2\norder: declared"))
    done = patternbench("run", str(path), "--out", str(tmp_path / "run"), "--on", "ray")
    assert done.returncode == 2
    assert "a lane runs whole blocks" in done.stderr
