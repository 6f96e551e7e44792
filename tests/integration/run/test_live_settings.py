"""Scenarios that differ in what a component takes while it runs need one start of the system."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.lab.test_host import until
from tests.integration.run.conftest import entries, left_behind, patternbench

from patternbench.records.journal import Entry
from patternbench.records.load_summaries import LoadProgress
from patternbench.run import prepared_run
from patternbench.study.load import StudyFile

BREAKER = '''
"""A service behind a breaker whose threshold is set, and whose count of requests is reset, by admin calls."""
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

state = {"threshold": None, "count": 0}

class Breaker(BaseHTTPRequestHandler):
    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        print(os.getpid(), self.command, state["threshold"], state["count"], file=log, flush=True)

    def do_GET(self):
        state["count"] += 1
        self.answer(200)

    def do_PUT(self):
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["threshold"]
        if wanted == 13:
            return self.answer(500)
        state["threshold"] = wanted
        self.answer(204)

    def do_DELETE(self):
        state["count"] = 0
        self.answer(204)

    def log_message(self, *_):
        pass

log = open(sys.argv[2], "a")
HTTPServer(("127.0.0.1", int(sys.argv[1])), Breaker).serve_forever()
'''
SYSTEM = """\
patternbench-system: 1
name: own
about: a breaker that is set while it runs, and a service that nothing is changed of
settings:
  threshold: {default: 1, role: pattern, unit: count, about: of the breaker}
components:
  - process:
      name: breaker
      command: [PYTHON, breaker.py, "${self.port.http}", LOG]
      folder: ..
      live: {threshold: {call: {method: PUT, url: "${self.url}/breaker", body: {threshold: "${threshold}"}}}}
      reset: {call: {method: DELETE, url: "${self.url}/count"}}
  - target: {}
endpoint: breaker
"""
STUDY = """\
patternbench: 1
name: live
system: {name: own, settings: {threshold: LEVELS}}
rounds: ROUNDS
order: ORDER
seed: 3
warm_up: 0ms
time_limit: 20s
workload:
  closed: {users: 1, requests: 2}
  journey: [{name: ask, path: /}]
"""


def study(folder: Path, levels: list[int], rounds: int = 1, order: str = "shuffled") -> Path:
    """A study of thresholds of the breaker, next to its system."""
    (folder / "systems").mkdir()
    (folder / "breaker.py").write_text(BREAKER)
    system = SYSTEM.replace("PYTHON", sys.executable).replace("LOG", str(folder / "told"))
    (folder / "systems" / "own.yaml").write_text(system)
    text = STUDY.replace("LEVELS", str(levels)).replace("ROUNDS", str(rounds)).replace("ORDER", order)
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def reported(folder: Path) -> list[list[str]]:
    """What the breaker reported: its process, the method, its threshold and its count then."""
    return [line.split() for line in (folder / "told").read_text().splitlines()]


def starts(folder: Path) -> list[tuple[int, str, str]]:
    """Each start of a component: its round, which, why."""
    return [(entry["round"], one["component"], one["why"]) for entry in entries(folder) for one in entry["starts"]]


class Listener:
    """Does something after a round."""

    def __init__(self, after: Callable[[Entry], None]) -> None:
        self.round_ended = after

    def round_started(self, _: object) -> None: ...

    def place_noticed(self, _: str) -> None: ...

    def looked(self, _: str) -> None: ...

    def round_progressed(self, _: LoadProgress) -> None: ...


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a hundred scenarios that differ in a live setting."""
    folder = tmp_path_factory.mktemp("hundred")
    levels = [level for level in range(101) if level != 13]
    path = study(folder, levels)
    done = patternbench("run", str(path), "--out", str(folder / "run"), "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_hundred_scenarios_that_differ_in_a_live_setting_need_one_start_of_the_system(hundred: Path) -> None:
    assert len(entries(hundred / "run")) == 100
    assert sorted(starts(hundred / "run")) == [(0, "breaker", "it was not up"), (0, "target", "it was not up")]
    assert len({process for process, *_ in reported(hundred)}) == 1
    noted = json.loads((hundred / "run" / "manifest.json").read_text())["starts"]
    assert {name: (one["count"], one["reasons"]) for name, one in noted.items()} == {
        "breaker": (1, {"it was not up": 1}),
        "target": (1, {"it was not up": 1}),
    }
    assert left_behind(str(hundred)) == []


def test_the_level_of_each_round_acted_in_it_and_each_began_as_after_a_start(hundred: Path) -> None:
    requested = [(int(threshold), int(count)) for _, method, threshold, count in reported(hundred) if method == "GET"]
    counts = {threshold: [count for _, count in calls] for threshold, calls in groupby(requested, lambda call: call[0])}
    rounds = pd.read_parquet(hundred / "run" / "rounds.parquet").sort_values("round")
    assert list(counts) == list(rounds["threshold"])
    assert set(map(tuple, counts.values())) == {(1, 2)}


def test_the_time_of_a_reset_is_in_the_journal_and_no_part_of_the_round(hundred: Path) -> None:
    first, *others = entries(hundred / "run")
    assert first["reset_seconds"] == 0
    assert all(0 < entry["reset_seconds"] < 5 for entry in others)


def test_the_plan_counts_the_starts_that_the_run_needed(hundred: Path) -> None:
    reported = patternbench("plan", str(hundred / "study.yaml"), "--json")
    assert json.loads(reported.stdout)["starts"] == {"breaker": 1, "target": 1}
    shown = " ".join(patternbench("plan", str(hundred / "study.yaml")).stdout.split())
    assert "components are started before 1 of 100 rounds, each component once" in shown


def test_a_component_that_dies_between_rounds_is_started_alone_and_costs_no_round(tmp_path: Path) -> None:
    path = study(tmp_path, [1, 2, 3, 4])

    def kill_after_the_second(entry: Entry) -> None:
        if entry.round == 1:
            os.kill(int(reported(tmp_path)[-1][0]), signal.SIGKILL)
            until(lambda: not any("breaker.py" in line for line in left_behind(str(tmp_path))))

    prepared = prepared_run.begin(StudyFile.read(path), tmp_path / "run", skip_unavailable=False)
    made = prepared.execute(Listener(kill_after_the_second))
    assert [entry.status for entry in made] == ["done"] * 4
    (again,) = [start for start in starts(tmp_path / "run") if start[0] > 0]
    assert again[:2] == (2, "breaker")
    assert again[2].startswith("breaker ended with code 137")


def test_a_setting_that_is_refused_fails_its_round_with_its_cause_and_no_other(tmp_path: Path) -> None:
    path = study(tmp_path, [1, 13, 3], order="declared")
    done = patternbench("run", str(path), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 1, done.stderr
    first, refused, last = entries(tmp_path / "run")
    assert [entry["status"] for entry in (first, refused, last)] == ["done", "failed", "done"]
    line = 1 + SYSTEM.splitlines().index("  - process:")
    assert refused["cause"].startswith(
        f"{tmp_path}/systems/own.yaml:{line}: breaker didn't accept its live setting `threshold`: PUT http://127.0.0.1:"
    )
    assert "/breaker was answered with 500; expected a status from 200 to 299" in refused["cause"]
    assert starts(tmp_path / "run")[2:] == [(2, "breaker", "it was not up")]


def test_a_reset_that_fails_fails_its_round_with_its_cause(tmp_path: Path) -> None:
    path = study(tmp_path, [1, 2], order="declared")
    system = tmp_path / "systems" / "own.yaml"
    system.write_text(system.read_text().replace('/count"}', '/count", status: 200}'))
    done = patternbench("run", str(path), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 1, done.stderr
    first, last = entries(tmp_path / "run")
    assert (first["status"], last["status"]) == ("done", "failed")
    assert "breaker could not be reset: DELETE http://127.0.0.1:" in last["cause"]
    assert "/count was answered with 204; expected 200" in last["cause"]


def test_a_run_that_continues_starts_the_system_once_more_with_the_settings_of_its_next_round(tmp_path: Path) -> None:
    path = study(tmp_path, [1, 2, 3], rounds=2)

    def interrupt_after_the_fourth(entry: Entry) -> None:
        if entry.round == 3:
            raise KeyboardInterrupt

    prepared = prepared_run.begin(StudyFile.read(path), tmp_path / "run", skip_unavailable=False)
    with pytest.raises(KeyboardInterrupt):
        prepared.execute(Listener(interrupt_after_the_fourth))
    assert left_behind(str(tmp_path)) == []
    done = patternbench("resume", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    assert {(number, name) for number, name, _ in starts(tmp_path / "run")} == {
        (number, name) for number in (0, 4) for name in ("breaker", "target")
    }
    noted = json.loads((tmp_path / "run" / "manifest.json").read_text())["starts"]
    assert {name: one["count"] for name, one in noted.items()} == {"breaker": 2, "target": 2}
    rounds = pd.read_parquet(tmp_path / "run" / "rounds.parquet").sort_values("round")
    requested = [int(threshold) for _, method, threshold, _ in reported(tmp_path) if method == "GET"]
    assert [level for level, _ in groupby(requested)] == [level for level, _ in groupby(rounds["threshold"])]
