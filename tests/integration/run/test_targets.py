"""Where load goes: several URLs by weight, a Unix socket, TLS that is verified unless a study asks otherwise."""

from __future__ import annotations

import json
import socketserver
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.integration.run.conftest import patternbench
from tests.integration.run.test_bad_input import refused

AROUND = """\
patternbench: 1
name: places
rounds: 1
warm_up: 0s
time_limit: 20s
strategies: [{client: native, baseline: {}}]
workload: {closed: {users: 1, successes: 40}, request: {path: /x}}
"""


class Counting(BaseHTTPRequestHandler):
    """Answers 200, or sends on from ``/old``, and counts what it was asked, by the host that was asked for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.requested[f"{self.headers['Host']} {self.path}"] += 1  # type: ignore[attr-defined]
        moved = self.path == "/old"
        self.send_response(302 if moved else 200)
        if moved:
            self.send_header("Location", "/new")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def address_string(self) -> str:
        return "somebody"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class SocketServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """HTTP on a Unix socket."""

    daemon_threads = True


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    server.requested = Counter()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def service(certificate: Path | None = None) -> Iterator[tuple[str, Counter[str]]]:
    """A service at its URL, with what it was asked; with TLS when it is given a certificate."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}", server.requested  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 and of shop.test that only who knows it trusts."""
    made = tmp_path_factory.mktemp("tls") / "own.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:shop.test"
    key = str(made.with_suffix(".key"))
    requested = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=own"]
    requested += ["-addext", names, "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", str(made)]
    subprocess.run(requested, check=True, capture_output=True)
    return made


READY = 2
"""How often a system at a URL is asked whether it is ready: before the run, and after its only round."""
ASKED = 40 + READY


def study(folder: Path, system: str, **replaced: str) -> str:
    text = AROUND + f"system: {system}\n"
    for old, new in replaced.items():
        text = text.replace(old, new)
    (folder / "study.yaml").write_text(text)
    return str(folder / "study.yaml")


def run(folder: Path, system: str) -> Path:
    """The folder of a run of the system."""
    done = patternbench("run", study(folder, system), "--out", str(folder / "run"), "--json")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def answered(attempts: Path) -> int:
    return int((pd.read_parquet(attempts)["outcome"] == "answered").sum())


def test_load_goes_round_several_urls_by_their_weights(tmp_path: Path) -> None:
    with service() as (one, asked_one), service() as (other, asked_other):
        made = run(tmp_path, f"{{urls: [{{url: '{one}', weight: 3}}, '{other}'], ready: /up}}")
    assert answered(made / "attempts" / "00000.parquet") == 40
    # Each is asked whether it is ready before the run and after its round.
    assert (sum(asked_one.values()), sum(asked_other.values())) == (32, 12)


def test_a_socket_is_measured_as_a_url_is(tmp_path: Path) -> None:
    path = tmp_path / "app.sock"
    with serving(SocketServer(str(path), Counting)) as server:
        made = run(tmp_path, f'{{url: "unix:{path}:/api", ready: /up}}')
        flags = ("--users", "1", "--requests", "5", "--json", "--unix-socket", str(path))
        done = patternbench("load", "http://shop.test/items?page=1", *flags)
    assert answered(made / "attempts" / "00000.parquet") == 40
    assert done.returncode == 0, done.stderr
    assert server.requested["shop.test /items?page=1"] == 5
    assert {place.partition(" ")[2] for place in server.requested} == {"/api/up", "/api/x", "/items?page=1"}


def test_a_certificate_is_verified_by_the_authority_that_a_study_names(tmp_path: Path, certificate: Path) -> None:
    (tmp_path / "own.pem").write_bytes(certificate.read_bytes())
    with ExitStack() as stack:
        url, requested = stack.enter_context(service(certificate))
        made = run(tmp_path, f"{{urls: ['{url}'], ca: own.pem, server_name: shop.test}}")
        manifest = json.loads((made / "manifest.json").read_text())
        message = refused("run", study(tmp_path, f"{{urls: ['{url}']}}"), "--out", str(tmp_path / "other"))
    assert sum(requested.values()) == ASKED
    assert manifest["certificates_verified"] is True
    assert list(manifest["files"]) == ["own.pem"]
    assert "study.yaml:8: system.urls[0]: does not answer" in message
    assert "certificate" in message.lower()


def test_behind_the_fault_proxy_certificates_are_verified_too(tmp_path: Path, certificate: Path) -> None:
    with service(certificate) as (url, requested):
        made = run(tmp_path, f"{{url: '{url}', ca: '{certificate}'}}")
    assert answered(made / "attempts" / "00000.parquet") == 40
    assert sum(requested.values()) == ASKED


def test_what_is_not_verified_is_said_in_the_manifest_and_the_report(tmp_path: Path, certificate: Path) -> None:
    with service(certificate) as (url, _):
        made = run(tmp_path, f"{{url: '{url}', verify: false}}")
        flags = ("--users", "1", "--requests", "3")
        insecure = patternbench("load", url, *flags, "--insecure")
        strict = patternbench("load", url, *flags, "--json")
    assert json.loads((made / "manifest.json").read_text())["certificates_verified"] is False
    assert "certificates were not verified" in (made / "report.html").read_text()
    assert insecure.returncode == 0
    assert "certificates were not verified" in insecure.stderr
    assert (strict.returncode, json.loads(strict.stdout)["errors"]) == (1, 3)


def test_a_step_follows_as_many_redirects_as_it_says(tmp_path: Path) -> None:
    with service() as (url, requested):
        path = Path(study(tmp_path, f"{{urls: ['{url}']}}"))
        steps = "[{path: /old, redirects: 1, expect: {statuses: [200]}}]"
        text = path.read_text().replace("request: {path: /x}", f"journey: {steps}").replace("successes", "requests")
        path.write_text(text)
        done = patternbench("run", str(path), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    rows = pd.read_parquet(tmp_path / "run" / "attempts" / "00000.parquet")
    assert (len(rows), rows["success"].all()) == (40, True)
    assert sorted(requested.values()) == [READY, 40, 40]


@pytest.mark.parametrize(
    ("system", "says"),
    [
        ("{urls: ['http://127.0.0.1:1'], verify: false}", "an https:// URL"),
        ("{url: 'https://127.0.0.1:1', ca: x.pem, verify: false}", "one of ca, verify: false"),
        ("{urls: [{url: 'http://127.0.0.1:1', weight: 0}]}", "a weight above 0"),
        ("{url: 'htp://127.0.0.1:1'}", "system.url"),
        ("{name: target, ca: x.pem}", "ca does not go with a system by name"),
    ],
)
def test_a_place_that_makes_no_sense_is_refused_with_its_line(tmp_path: Path, system: str, says: str) -> None:
    message = refused("plan", study(tmp_path, system))
    assert "study.yaml:8: system" in message
    assert says in message


def test_faults_need_the_proxy_that_stands_before_one_url(tmp_path: Path) -> None:
    path = Path(study(tmp_path, "{urls: ['http://127.0.0.1:1']}"))
    path.write_text(path.read_text() + "faults: [{abort: {percentage: 5}}]\n")
    assert "faults does not go with several URLs or a socket" in refused("plan", str(path))


def test_weights_are_as_many_as_urls() -> None:
    assert "--weights" in refused("load", "http://127.0.0.1:1/", "--weights", "1,2")
