"""A service that already runs is measured behind the same fault proxy, with its own headers."""

from __future__ import annotations

import json
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import httpx
import pandas as pd
import pytest
from tests.integration.run.conftest import command, entries, patternbench
from tests.integration.run.test_run import wait_for_rounds
from tests.support.targets import target_up

from patternbench.lab import environment, topologies
from patternbench.lab.software import engine
from patternbench.study.faults import Fault

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


class GuardedService(BaseHTTPRequestHandler):
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
    server = ThreadingHTTPServer(("127.0.0.1", 0), GuardedService)
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
    assert GuardedService.seen.count("/health") == 3  # before the run, and after each of its rounds
    assert GuardedService.seen.count("/work") == 80


@pytest.mark.parametrize("load", ["closed: {users: 1, successes: 3}", "open: {rate: 50, arrivals: 3}"])
def test_the_path_of_a_url_stands_before_every_request(tmp_path: Path, service: str, load: str) -> None:
    study = tmp_path / "based.yaml"
    text = STUDY.format(url=service + "/base").replace("closed: {users: 2, successes: 20}", load)
    study.write_text(text.replace("[0, 50]", "0"))
    GuardedService.seen.clear()
    done = patternbench("run", str(study), "--out", str(tmp_path / "run"), "--json", TOKEN="secret")
    assert done.returncode == 0, done.stderr
    assert GuardedService.seen.count("/base/work") == 3
    assert set(GuardedService.seen) == {"/base/work", "/base/health"}


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


DYING = """\
patternbench: 1
name: dying
system: {{{place}}}
rounds: 8
warm_up: 0ms
lateness: {{floor: 1m}}
workload: {{open: {{rate: 100, duration: 400ms}}}}
strategies: [{{client: native, baseline: {{}}}}]
"""


@pytest.mark.parametrize("place", ['url: "{url}"', 'urls: ["{url}"]'])
def test_a_service_that_dies_stops_the_run_with_a_remedy(tmp_path: Path, place: str) -> None:
    study, folder = tmp_path / "dying.yaml", tmp_path / "run"
    with target_up(tmp_path / "service") as url:
        study.write_text(DYING.format(place=place.format(url=url)))
        run = subprocess.Popen(
            command("run", str(study), "--out", str(folder)),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        wait_for_rounds(folder, 2)
    _, message = run.communicate(timeout=280)
    made = entries(folder)
    assert run.returncode == 1
    assert len(made) < 8
    assert [warning["kind"] for warning in made[-1]["doubts"] if warning["invalidates"]] == ["target_gone"]
    assert not any(warning["kind"] == "target_gone" for entry in made[:-1] for warning in entry["doubts"])
    assert f"patternbench resume {folder} --retry-invalid" in message


def test_answers_of_the_fault_proxy_itself_are_reported_from_those_of_the_service(tmp_path: Path) -> None:
    """A service that closes every connection unanswered is there, but says nothing: the proxy answers 503 for it."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with (
        environment.Environment(tmp_path) as up,
        httpx.Client() as http,
    ):
        up.change(topologies.of_url(f"http://127.0.0.1:{server.server_address[1]}", {}))
        statuses = {http.get(up.endpoint).status_code for _ in range(4)}
        assert (statuses, up.own_answers()) == ({503}, 4)
        up.inject([Fault.model_validate({"abort": {"percentage": 100, "status": 503}})])
        assert http.get(up.endpoint).status_code == 503
        assert up.own_answers() == 4, "an injected fault is none of them"
        up.inject([])
        server.shutdown()
        server.server_close()
        assert http.get(up.endpoint).status_code == 503
        assert up.own_answers() == 5


class Silent(socketserver.BaseRequestHandler):
    """Reads a request and closes the connection."""

    def handle(self) -> None:
        self.request.recv(65536)
