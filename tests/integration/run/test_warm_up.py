"""Whatever was started since the last warm-up is warmed by the round's own calls, whichever driver drives them."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.run.conftest import entries, patternbench
from tests.integration.run.test_live_settings import Listener
from tests.support.journal_lines import altered

from patternbench.lab.software import engine
from patternbench.records.journal import Entry
from patternbench.run import prepared_run
from patternbench.study.load import StudyFile

SERVICE = '''
"""A service that says on every answer how many requests this process had answered before."""
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        Service.count += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
'''
SYSTEM = """\
patternbench-system: 1
name: own
about: one process, which its settings or its reset start anew
settings:
  pool: {default: 1, role: pattern, unit: count, about: which is given at its start}
components:
  - process:
      name: shop
      command: [PYTHON, shop.py, "${self.port.http}", "${pool}"]
      folder: ..
      RESET
endpoint: shop
"""
STUDY = """\
patternbench: 1
name: warm
system: {name: own, settings: {pool: POOLS}}
rounds: 2
order: shuffled
seed: 3
warm_up: {requests: 10, at_most: 10s}
time_limit: 20s
workload:
  closed: {users: 1, successes: 3}
  CALLS
clients: {library: {command: [ENGINE, client]}}
strategies: [{client: CLIENT, baseline: {}}]
"""
REQUEST, JOURNEY = "request: {path: /}", "journey: [{name: ask, path: /}]"


def study(folder: Path, calls: str = REQUEST, pools: str = "[2, 10]", reset: str = "", faults: str = "") -> Path:
    """A study of a service next to its system."""
    (folder / "systems").mkdir()
    (folder / "shop.py").write_text(SERVICE)
    (folder / "systems" / "own.yaml").write_text(SYSTEM.replace("PYTHON", sys.executable).replace("RESET", reset))
    text = STUDY.replace("CLIENT", "native" if calls == JOURNEY else "library").replace("ENGINE", engine.path())
    text = text.replace("POOLS", pools).replace("CALLS", calls).replace("rounds: 2", f"rounds: 2\n{faults}")
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def run(folder: Path, **kind: str) -> list[dict[str, Any]]:
    """The lines of the rounds of a run."""
    done = patternbench("run", str(study(folder, **kind)), "--out", str(folder / "run"), "--json")
    assert done.returncode == 0, done.stderr
    return entries(folder / "run")


def warm_ups(folder: Path) -> list[dict[str, Any]]:
    """The lines of the warm-ups in the journal."""
    lines = (folder / "run" / "journal.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["status"] == "warm_up"]


@pytest.mark.parametrize("calls", [REQUEST, JOURNEY])
def test_a_component_that_is_started_before_each_round_is_warmed_in_each_whoever_drives(
    tmp_path: Path, calls: str
) -> None:
    """By ``request`` a library's client is given the rounds, by ``journey`` the load engine."""
    rounds = run(tmp_path, calls=calls, pools="1", reset="reset: restart")
    assert all([start["component"] for start in entry["starts"]] == ["shop"] for entry in rounds)
    assert all(entry["warmed"]["attempts"] >= 10 and "shop" in entry["warmed"]["cold"] for entry in rounds)
    assert {entry["warmed"]["where"] for entry in rounds} == {"before" if calls == REQUEST else "within"}


def test_what_was_started_is_warmed_before_a_round_of_the_load_engine_where_the_study_asks_for_it(
    tmp_path: Path,
) -> None:
    path = study(tmp_path, calls=JOURNEY, pools="1")
    path.write_text(path.read_text() + "after_start: {requests: 30, users: 1, at_most: 10s}\n")
    done = patternbench("run", str(path), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rounds = entries(tmp_path / "run")
    files = [entry["warmed"]["file"] for entry in rounds if entry["starts"]]
    assert [line["file"] for line in warm_ups(tmp_path)] == files
    assert len(files) == 1 < len(rounds)
    assert {entry["warmed"]["where"] for entry in rounds} == {"within"}
    assert all(entry["warmed"]["attempts"] >= 30 + 10 for entry in rounds if entry["starts"])
    assert all(entry["warmed"]["file"] is None for entry in rounds if not entry["starts"])


def test_a_client_warms_up_again_where_a_setting_had_its_service_restarted(tmp_path: Path) -> None:
    rounds = run(tmp_path)
    started = [bool(entry["starts"]) for entry in rounds]
    assert [entry["warmed"]["where"] == "before" for entry in rounds] == started
    assert len(warm_ups(tmp_path)) == sum(started) > 1
    assert [entry["warmed"]["file"] for entry in rounds if entry["starts"]] == [
        line["file"] for line in warm_ups(tmp_path)
    ]


def test_what_stays_up_is_warmed_once_for_a_librarys_client(tmp_path: Path) -> None:
    first, second = run(tmp_path, pools="1")
    assert first["warmed"]["cold"] == ["client library", "shop"]
    assert second["warmed"] == {"where": "none", "cold": [], "attempts": 0, "seconds": 0.0, "file": None}
    assert len(warm_ups(tmp_path)) == 1


def test_a_service_that_a_crash_restarted_within_a_round_is_warmed_before_the_next(tmp_path: Path) -> None:
    calls = "request: {path: /, timeout: 100ms}"
    faults = "faults:\n  - {crash: {}, where: shop, when: {from: 0ms, for: 50ms}}"
    with_time = study(tmp_path, calls=calls, pools="1", faults=faults)
    with_time.write_text(with_time.read_text().replace("successes: 3", "duration: 700ms"))
    done = patternbench("run", str(with_time), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert entries(tmp_path / "run")[1]["warmed"]["cold"] == ["shop"]
    assert len(warm_ups(tmp_path)) == 2


def kill(mark: str, folder: Path) -> None:
    """Kill the client of a run, and wait until its guard has noticed."""
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            line, cwd = (place / "cmdline").read_bytes(), str((place / "cwd").readlink())
        except OSError:
            continue
        if mark.encode() in line and str(folder) in cwd + line.decode(errors="replace") and b"guard" not in line:
            guard = os.pidfd_open(int((place / "stat").read_text().rpartition(")")[2].split()[1]))
            os.kill(int(place.name), signal.SIGKILL)
            select.select([guard], [], [])  # a client counts as alive until its guard, which is its parent, has ended
            os.close(guard)


def test_a_client_that_is_recreated_warms_up_though_its_service_stayed_up(tmp_path: Path) -> None:
    prepared = prepared_run.begin(StudyFile.read(study(tmp_path, pools="1")), tmp_path / "run", skip_unavailable=False)

    def after(entry: Entry) -> None:
        if entry.round == 0:
            kill("client", tmp_path)

    first, second = prepared.execute(Listener(after))
    assert first.warmed is not None
    assert second.warmed is not None
    assert second.warmed.cold == ["client library"]
    assert second.warmed.attempts >= 10


def test_a_run_that_continues_warms_up_what_it_starts_again(tmp_path: Path) -> None:
    run(tmp_path, pools="1")
    journal = tmp_path / "run" / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    done = patternbench("resume", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    assert entries(tmp_path / "run")[-1]["warmed"]["cold"] == ["client library", "shop"]
    assert [line["file"] for line in warm_ups(tmp_path)] == ["warm-up-000", "warm-up-001"]


def without_warmth(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in altered(line).items() if name != "warmed"}


def test_a_journal_without_a_word_on_warm_ups_is_still_read(tmp_path: Path) -> None:
    run(tmp_path, pools="1")
    journal = tmp_path / "run" / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps(without_warmth(line)) + "\n" for line in lines))
    assert patternbench("report", str(tmp_path / "run")).returncode == 0
