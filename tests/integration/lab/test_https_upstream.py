"""A service that speaks TLS behind the gateway and behind nginx: trusted by the authorities that are named."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from patternbench.lab import environment, topologies
from patternbench.lab.component import ComponentRegistry


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = str(self.headers["Host"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for localhost, and its key."""
    made = tmp_path_factory.mktemp("https")
    subject = ("-subj", "/CN=own", "-addext", "subjectAltName=DNS:localhost")
    expected = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject)
    subprocess.run([*expected, "-keyout", made / "key.pem", "-out", made / "ca.pem"], check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def entries(url: str, **trust: object) -> list[tuple[str, str, dict[str, object]]]:
    cluster = {"to": url, **trust}
    return [
        ("edge", "gateway", {"routes": [{"to": "pay"}], "clusters": {"pay": cluster}}),
        ("balancer", "nginx", {"upstream": url, **trust}),
    ]


@pytest.mark.parametrize(
    ("trust", "status"), [({"ca": "ca.pem"}, 200), ({"verify": False}, 200), ({"verify": True}, 500)]
)
def test_a_service_is_reached_by_tls_where_its_authority_is_trusted(
    folder: Path, url: str, tmp_path: Path, trust: dict[str, object], status: int
) -> None:
    names = ["edge", "balancer"]
    topology = topologies.of_entries(entries(url, **trust), names, ComponentRegistry(names, folder=folder))
    with environment.Environment(tmp_path) as system:
        system.change(topology)
        answers = [httpx.get(target) for target in system.targets]
    assert [answer.status_code // 100 * 100 for answer in answers] == [status, status]
