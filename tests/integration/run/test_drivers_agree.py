"""The two drivers of the native client, the load engine's jobs and the client contract, give the same attempts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pandas as pd
import pytest
from tests.integration.run.conftest import entries, patternbench

from patternbench.drivers import registry
from patternbench.drivers.client import Client
from patternbench.drivers.driver import Driver, Task
from patternbench.drivers.engine import EngineDriver
from patternbench.drivers.library import LibraryDriver
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.study.load import loads
from patternbench.study.model.system import Endpoint
from patternbench.terms.units import Duration

STUDY = """\
patternbench: 1
name: both
system: target
warm_up: 0s
workload:
  closed: CLOSED
  request: {method: POST, path: "/items?page=1", headers: {X-Own: "yes"}, body: text, timeout: 5s}
strategies: [{client: native, STRATEGY}]
"""
RETRY = "retry: {max_attempts: 3, backoff: {fixed: {delay: 1ms}}, jitter: none}"
BREAKER = """circuit_breaker: {failure_rate: 50, window: {calls: 4}, minimum_calls: 4, open_for: 10m,
  half_open_calls: 1}"""
COMPARED = ["group", "user", "call", "attempt", "outcome", "status", "success", "warm_up"]


class Scripted(BaseHTTPRequestHandler):
    """Answers every third request of a connection with 503, and the others with 200."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str, str | None, bytes]]] = []
    count = 0

    def do_POST(self) -> None:
        """Answer, and remember what was asked."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Scripted.seen.append((self.command, self.path, self.headers["X-Own"], body))
        self.count += 1
        self.send_response(503 if self.count % 3 == 0 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """A server that answers one connection after another, so that one user's attempts come in one order."""
    Scripted.seen.clear()
    server = HTTPServer(("127.0.0.1", 0), Scripted)
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def attempts(driver: Driver, task: Task, file: Path) -> pd.DataFrame:
    """What each user's calls came to, in order."""
    driven = driver.drive(task, file)
    assert driven.shortfall is None
    rows = pd.read_parquet(file).sort_values(["user", "call", "attempt"], kind="stable")[COMPARED]
    return rows.astype({"group": str, "outcome": str}).reset_index(drop=True)


def task(closed: str, strategy: str, url: str, folder: Path) -> Task:
    """A round of the study."""
    study = loads(STUDY.replace("CLOSED", closed).replace("STRATEGY", strategy), "x.yaml")
    (scenario,) = expand(study).scenarios
    made = Task(scenario, (Endpoint(url),), Duration.parse("20s"), Duration(0), 7, 0, Inputs(folder))
    return replace(made, warm_up_on_top=True)


@pytest.mark.parametrize("strategy", ["baseline: {}", RETRY, BREAKER])
@pytest.mark.parametrize(
    "closed", ["{users: 1, successes: 30}", "{users: 1, successes: 40, max_attempts: 17, rejected_pause: 1ms}"]
)
def test_the_engine_and_the_client_contract_give_the_same_attempts_for_the_same_seed(
    closed: str, strategy: str, url: str, tmp_path: Path
) -> None:
    if strategy == BREAKER:
        closed = "{users: 1, successes: 2}"
    requested = task(closed, strategy, url, tmp_path)
    by_engine = attempts(EngineDriver(tmp_path / "load", tmp_path / "logs"), requested, tmp_path / "engine.parquet")
    sent = Scripted.seen.copy()
    Scripted.seen.clear()
    spec = registry.required("native", None)
    client = Client(spec, tmp_path / "client")
    try:
        by_contract = attempts(LibraryDriver(client), requested, tmp_path / "contract.parquet")
    finally:
        client.close()
    pd.testing.assert_frame_equal(by_engine, by_contract)
    assert sent == Scripted.seen
    assert len(sent) >= 2


def test_a_run_that_was_begun_with_the_client_contract_continues_with_it(tmp_path: Path) -> None:
    folder, study = tmp_path / "run", tmp_path / "study.yaml"
    text = STUDY.replace("CLOSED", "{users: 2, successes: 3}").replace("STRATEGY", "baseline: {}")
    study.write_text(
        text.replace("method: POST, ", "")
        .replace(", body: text", "")
        .replace("0s", "200ms\nrounds: 3")
        .replace("/items?page=1", "/bytes/9")
    )
    done = patternbench("run", str(study), "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert {entry["warmed"]["where"] for entry in entries(folder)} == {"within"}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest.pop("by_engine") == ["native"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    (folder / "journal.jsonl").write_text("".join(lines[:-2]))
    done = patternbench("resume", str(folder))
    assert done.returncode == 0, done.stderr
    assert [entry["warmed"]["where"] for entry in entries(folder)][-2:] == ["before", "none"]
    rounds = pd.read_parquet(folder / "rounds.parquet")
    assert len(rounds) == 3
    assert rounds["valid"].all()
