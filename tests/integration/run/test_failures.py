"""What goes wrong in a round is recorded with its cause; the run continues, and its exit code says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import (
    ROUNDS,
    TINY,
    by_library,
    command,
    entries,
    left_behind,
    mounted,
    patternbench,
)
from tests.integration.run.test_run import wait_for_rounds
from tests.support.journal_lines import altered


def processes(mark: str, folder: Path) -> list[int]:
    """The process ids of programs of a run whose command line holds the mark, guards left out."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            here = str((place / "cwd").readlink()) if place.name.isdigit() else ""
        except OSError:
            continue
        line = b" ".join(words).decode(errors="replace")
        if str(folder) in f"{here} {line}" and mark in line and " guard " not in line:
            found.append(int(place.name))
    return found


def slowed(study: Path) -> None:
    """Make rounds last most of a second, so that a kill falls into one."""
    study.write_text(study.read_text().replace("successes: 3", "successes: 3, think_time: 250ms"))


def kill_during_a_round(victim: str, folder: Path) -> None:
    """Kill the programs that the mark names, well after the last round ended and well before the next does."""
    time.sleep(0.2)
    for pid in processes(victim, folder):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def running(study: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run in the background; killed on leaving if it has not ended."""
    process = subprocess.Popen(
        command("run", str(study), "--out", str(folder), "--json"), stdout=-1, stderr=-1, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Killed:
    """A run of which a part was killed: its folder, its exit code, and what it wrote."""

    folder: Path
    code: int
    out: str
    errors: str


def killed(victim: str, place: Path) -> Killed:
    study, folder = place / "tiny.yaml", place / "run"
    study.write_text(by_library(TINY))
    slowed(study)
    with running(study, folder) as process:
        wait_for_rounds(folder, 3)
        kill_during_a_round(victim, place)
        out, errors = process.communicate(timeout=280)
    return Killed(folder, process.returncode, out, errors)


@pytest.fixture(scope="module")
def without_its_client(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    return killed("patternbench-engine client", tmp_path_factory.mktemp("client"))


def costs_its_round_alone(run: Killed, name: str) -> None:
    assert run.code == 1, run.errors
    reported = json.loads(run.out)
    assert reported["rounds"] == ROUNDS
    assert 1 <= reported["failed"] <= 2
    causes = [entry["cause"] for entry in entries(run.folder) if entry["status"] == "failed"]
    assert all(name in cause for cause in causes), causes
    assert left_behind(str(run.folder)) == []


@pytest.mark.parametrize(("victim", "name"), [("envoy -c", "envoy"), ("patternbench-engine target", "target")])
def test_a_part_that_is_killed_costs_its_round_and_no_other(victim: str, name: str, tmp_path: Path) -> None:
    costs_its_round_alone(killed(victim, tmp_path), name)


def test_a_client_that_is_killed_costs_its_round_and_no_other(without_its_client: Killed) -> None:
    costs_its_round_alone(without_its_client, "client")


def test_failed_rounds_run_again_when_asked(without_its_client: Killed) -> None:
    folder = without_its_client.folder
    rounds = pd.read_parquet(folder / "rounds.parquet").set_index("round")
    failed = rounds[rounds["status"] == "failed"]
    assert len(failed) >= 1
    assert failed[["scenario", "users", "client", "strategy", "cause"]].notna().all(axis=None), (
        "a failure keeps its keys"
    )
    done = patternbench("resume", str(folder), "--retry-failed", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["failed"] == 0
    for number in map(int, failed.index):
        assert [e["file"] for e in entries(folder) if e["round"] == number] == [f"{number:05d}", f"{number:05d}-2"]


def test_a_round_that_is_not_valid_runs_again_when_asked_and_keeps_its_earlier_records(
    tmp_path: Path, tiny: Path
) -> None:
    folder = tmp_path / "run"
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 1"))
    assert patternbench("run", str(tiny), "--out", str(folder), "--json").returncode == 0
    late = {"kind": "late_schedule", "message": "late", "remedy": "rest", "invalidates": True}
    lines = entries(folder)
    victim = next(line for line in lines if line["round"] == 1)
    judged = [altered(line, doubts=[late]) if line is victim else altered(line) for line in lines]
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in judged))
    done = patternbench("resume", str(folder), "--retry-invalid", "--json")
    assert done.returncode == 0, done.stderr
    assert [e["file"] for e in entries(folder) if e["round"] == 1] == ["00001", "00001-2"]
    assert all((folder / "attempts" / f"{name}.parquet").is_file() for name in ("00001", "00001-2"))
    assert pd.read_parquet(folder / "rounds.parquet").set_index("round")["valid"].all()


class Hanging(BaseHTTPRequestHandler):
    """Answers at its root only; everything else it never answers."""

    stop = threading.Event()

    def do_GET(self) -> None:
        if self.path != "/":
            self.stop.wait(60)
            return
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def hanging() -> Iterator[str]:
    Hanging.stop.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    Hanging.stop.set()
    server.shutdown()


def test_a_target_that_hangs_costs_the_round_at_its_time_limit(tmp_path: Path, tiny: Path, hanging: str) -> None:
    text = TINY.replace('{name: target, settings: {service_time: "fixed:1ms"}}', f'{{url: "{hanging}"}}')
    text = text.replace("time_limit: 20s", "time_limit: 1s").replace("rounds: 3", "rounds: 1")
    text = text.replace("warm_up: 100ms", "warm_up: 0ms").replace("[0, 50]", "0").replace("[2, 4]", "2")
    tiny.write_text(text.replace("{path: /bytes/100}", "{path: /bytes/100, timeout: 300ms}"))
    done = patternbench("run", str(tiny), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 1, done.stderr
    causes = {entry["cause"] for entry in entries(tmp_path / "run")}
    assert causes == {"over its time limit of 1s: 2 users were not finished"}
    assert all(entry["rows"] > 0 for entry in entries(tmp_path / "run")), "what was attempted is kept"


@pytest.mark.parametrize(
    ("workload", "ending"),
    [
        ("request: {path: /bytes/100, timeout: 50s}", ("client library had not ended 2s later", set())),
        ("journey: [{path: /bytes/100, timeout: 50s}]", ("6 successes are missing", {"cancelled"})),
    ],
    ids=["a library's client", "the load engine"],
)
def test_a_request_with_a_longer_timeout_is_given_up_soon_after_the_time_limit(
    tmp_path: Path, tiny: Path, hanging: str, workload: str, ending: tuple[str, set[str]]
) -> None:
    text = TINY.replace('{name: target, settings: {service_time: "fixed:1ms"}}', f'{{url: "{hanging}"}}')
    text = text.replace("time_limit: 20s", "time_limit: 1s").replace("rounds: 3", "rounds: 1")
    text = text.replace("warm_up: 100ms", "warm_up: 0ms").replace("[0, 50]", "0").replace("[2, 4]", "2")
    text = text[: text.index("  - {client: native, retry")].replace("request: {path: /bytes/100}", workload)
    tiny.write_text(text.replace(", max_attempts: 60", "") if "journey" in workload else by_library(text))
    done = patternbench("run", str(tiny), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 1, done.stderr
    (entry,) = entries(tmp_path / "run")
    made = pd.read_parquet(tmp_path / "run" / "attempts" / f"{entry['file']}.parquet")
    cause = entry["cause"].removeprefix("over its time limit of 1s: ")
    assert (cause, set(made["outcome"])) == ending


def test_a_full_disk_costs_the_round_and_loses_nothing_that_was_there(tmp_path: Path, tiny: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 40").replace("successes: 3", "successes: 40"))
    with mounted(disk, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        with running(tiny, disk / "run") as process:
            _, errors = process.communicate(timeout=200)
        assert process.returncode in (1, 2), errors
        assert "Traceback" not in errors
        whole = [entry for entry in entries(disk / "run") if entry["status"] == "done"]
        assert whole
        for entry in whole:
            assert (disk / "run" / "attempts" / f"{entry['file']}.parquet").stat().st_size > 0
        assert not list((disk / "run").rglob("*.tmp"))


BREAKS_THE_CONTRACT = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

class Client(BaseHTTPRequestHandler):
    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.answer(json.dumps({"contract": 1, "name": "liar", "version": "1", "language": "Python",
                                "library": {"name": "none", "version": "0"}, "strategies": ["baseline"]}))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/check":
            self.answer('{"problems": []}')
        else:
            batch = {"user": [0], "call": [0], "attempt": [2], "start_us": [1], "duration_us": [1], "outcome": [200]}
            self.answer(json.dumps({"batch": batch}))

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Client)
print(json.dumps({"listening": f"127.0.0.1:{server.server_port}"}), flush=True)
server.serve_forever()
"""


def test_a_client_that_violates_the_contract_costs_its_rounds_and_is_reported_why(tmp_path: Path, tiny: Path) -> None:
    script = tmp_path / "liar.py"
    script.write_text(BREAKS_THE_CONTRACT)
    text = TINY.split("strategies:")[0] + "strategies:\n  - {client: liar, baseline: {}}\n"
    tiny.write_text(
        text.replace("rounds: 3", "rounds: 1") + f'clients: {{liar: {{command: ["{sys.executable}", "{script}"]}}}}\n'
    )
    done = patternbench("run", str(tiny), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 1, done.stderr
    causes = {entry["cause"] for entry in entries(tmp_path / "run")}
    assert all("broke the contract: line 1 of the stream: batch.attempt[0] of user 0 is 2" in cause for cause in causes)


def test_nothing_is_left_behind_when_the_run_itself_is_killed(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "run"
    with running(tiny, folder) as process:
        wait_for_rounds(folder, 2)
        process.kill()
        process.wait()
        deadline = time.monotonic() + 10
        while left_behind(str(folder)):
            assert time.monotonic() < deadline, left_behind(str(folder))
            time.sleep(0.05)
