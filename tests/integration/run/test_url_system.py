"""A service that already runs is measured behind the same fault proxy, with its own headers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest
from tests.integration.run.conftest import patternbench

from patternbench.lab import engine

STUDY = """\
patternbench: 1
name: mine
system: {{url: "{url}", ready: /health, headers: {{Authorization: "Bearer ${{env:TOKEN}}"}}}}
rounds: 1
warm_up: 0ms
workload: {{closed: {{users: 2, successes: 20}}, request: {{path: /work}}}}
faults: [{{abort: {{percentage: [0, 50], status: 500}}}}]
strategies: [{{client: native, baseline: {{}}}}]
"""


class Guarded(BaseHTTPRequestHandler):
    """Answers 200 to those who bring the token, 401 to others."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(200 if self.headers.get("Authorization") == "Bearer secret" else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_service_at_a_url_is_measured_with_faults_in_front_of_it(tmp_path: Path, service: str) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text(STUDY.format(url=service))
    folder = tmp_path / "run"
    done = patternbench("run", str(study), "--out", str(folder), "--json", TOKEN="secret")
    assert done.returncode == 0, done.stderr
    rounds = pd.read_parquet(folder / "rounds.parquet").set_index("abort.percentage")
    assert rounds.loc[0, "UnsuccessfulRequests"] == 0
    assert rounds.loc[50, "UnsuccessfulRequests"] > 0
    assert Guarded.seen.count("/health") == 1
    assert Guarded.seen.count("/work") == 80


@pytest.mark.parametrize("load", ["closed: {users: 1, successes: 3}", "open: {rate: 50, arrivals: 3}"])
def test_the_path_of_a_url_stands_before_every_request(tmp_path: Path, service: str, load: str) -> None:
    study = tmp_path / "based.yaml"
    text = STUDY.format(url=service + "/base").replace("closed: {users: 2, successes: 20}", load)
    study.write_text(text.replace("[0, 50]", "0"))
    Guarded.seen.clear()
    done = patternbench("run", str(study), "--out", str(tmp_path / "run"), "--json", TOKEN="secret")
    assert done.returncode == 0, done.stderr
    assert Guarded.seen.count("/base/work") == 3
    assert set(Guarded.seen) == {"/base/work", "/base/health"}


def test_a_client_is_warmed_up_without_the_faults_of_the_round_before(tmp_path: Path, service: str) -> None:
    """The first client meets every call aborted; the second starts after it, and its warm-up reaches the service."""
    study = tmp_path / "warm.yaml"
    text = STUDY.format(url=service).replace("warm_up: 0ms", "warm_up: 300ms\norder: declared\ntime_limit: 20s")
    text = text.replace("successes: 20", "successes: 20, max_attempts: 20").replace("[0, 50]", "100")
    command = [engine.binary(), "client", "--port", "0"]
    both = "[{client: [native, mine], baseline: {}}]\nclients: {mine: {command: " + json.dumps(command) + "}}"
    study.write_text(text.replace("[{client: native, baseline: {}}]", both))
    folder = tmp_path / "run"
    patternbench("run", str(study), "--out", str(folder), "--json", TOKEN="secret")
    for name in ("warm-up-000", "warm-up-001"):
        assert set(pd.read_parquet(folder / "attempts" / f"{name}.parquet")["status"]) == {200}, name


def test_the_token_stands_in_no_record(tmp_path: Path, service: str) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text(STUDY.format(url=service))
    folder = tmp_path / "run"
    assert patternbench("run", str(study), "--out", str(folder), "--json", TOKEN="secret").returncode == 0
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"Bearer secret" not in path.read_bytes(), path
    assert json.loads((folder / "plan.json").read_text())


def test_two_deployments_are_levels_and_take_turns_in_every_block(tmp_path: Path, service: str) -> None:
    other = service.replace("127.0.0.1", "localhost")
    study = tmp_path / "two.yaml"
    text = (
        STUDY.replace("rounds: 1", "rounds: 2")
        .format(url=service)
        .replace(f'url: "{service}"', f'url: ["{service}", "{other}"]')
    )
    study.write_text(text)
    done = patternbench("run", str(study), "--out", str(tmp_path / "run"), TOKEN="secret")
    assert done.returncode == 0, done.stdout + done.stderr
    rounds = pd.read_parquet(tmp_path / "run" / "rounds.parquet")
    in_blocks = rounds.groupby("block")["system.url"].agg(set)
    assert len(in_blocks) > 1 and all(urls == {service, other} for urls in in_blocks)
    compared = patternbench("compare", str(tmp_path / "run"), "--baseline", f"system.url={service}", "--json")
    assert compared.returncode == 0, compared.stderr
