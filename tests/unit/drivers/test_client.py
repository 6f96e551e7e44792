"""The driver against clients that do not keep their side."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.hostile_servers import serving

from patternbench.conformance.check import check_client
from patternbench.drivers import client as module
from patternbench.drivers.client import Client, ClientError
from patternbench.drivers.registry import ClientSpec
from patternbench.drivers.rounds import ClientRequest, ClientRound
from patternbench.lab.host.processes import StartError
from patternbench.terms.units import Duration

DESCRIPTION = {"contract": 1, "name": "x", "version": "1", "language": "-", "library": {}, "strategies": ["baseline"]}
ROUND = ClientRound(
    target="http://127.0.0.1:1",
    request=ClientRequest(method="GET", path="/", headers={}, body=None, timeout_us=1000),
    users=1,
    think_time_us=0,
    rejected_pause_us=1000,
    successes=1,
    max_attempts=None,
    time_limit_us=1000,
    seed=1,
    strategy={"baseline": {}},
)

ROWS = {"user": [0], "call": [0], "attempt": [1], "start_us": [5], "duration_us": [10], "outcome": [200]}
BATCH = json.dumps({"batch": ROWS}).encode() + b"\n"


@contextmanager
def scripted(
    description: object,
    answer: bytes,
    status: int = 200,
    *,
    hang: bool = False,
    more: bool = False,
    later: tuple[threading.Event, bytes] | None = None,
) -> Iterator[ClientSpec]:
    """A client that answers every POST alike.

    One that hangs sends nothing until it is let go, one that promises ``more`` does not come to an end until then. What
    it sends ``later`` comes once an event is set.
    """
    release = threading.Event()
    rest = len(later[1]) if later else int(more)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(200, json.dumps(description).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if hang:
                release.wait(20)
            self.reply(status, answer, rest)
            if later and later[0].wait(20):
                self.wfile.write(later[1])
            if more:
                release.wait(20)

        def reply(self, code: int, text: bytes, rest: int = 0) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(text) + rest))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield ClientSpec("x", url=f"http://127.0.0.1:{server.server_port}")
    finally:
        release.set()
        server.shutdown()
        server.server_close()


def test_a_round_is_collected_to_its_end(tmp_path: Path) -> None:
    end = json.dumps({"end": {"rows": 1, "duration_us": 20, "cpu_us": 3}}).encode() + b"\n"
    with scripted(DESCRIPTION, BATCH + end) as spec:
        delivered = Client(spec, tmp_path).run(ROUND)
    assert len(delivered.batches) == 1
    assert delivered.end.cpu_us == 3


def test_a_client_that_hangs_is_given_up_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", Duration.parse("200ms"))
    with scripted(DESCRIPTION, b"", hang=True) as spec, pytest.raises(ClientError, match="client x had not ended"):
        Client(spec, tmp_path).run(ROUND)


def test_a_round_does_not_outlive_its_time_limit_and_keeps_what_was_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE", Duration.parse("200ms"))
    with scripted(DESCRIPTION, BATCH, more=True) as spec, pytest.raises(ClientError) as caught:
        Client(spec, tmp_path).run(ROUND, limit=Duration.parse("3ms"))
    assert str(caught.value) == "over its time limit of 3ms: client x had not ended 200ms later"
    assert len(caught.value.batches) == 1


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (b'{"error": "out of memory"}\n', 200, "client x gave up: out of memory"),
        (b"", 200, "broke the contract"),
        (b"nonsense\n", 200, "broke the contract: line 1"),
        (b'{"problems": [{"path": "a.b", "message": "cannot"}]}', 422, "a.b: cannot"),
        (b'{"error": "busy"}', 409, "refused the round"),
    ],
)
def test_what_a_client_does_wrong_is_said(answer: bytes, status: int, message: str, tmp_path: Path) -> None:
    with scripted(DESCRIPTION, answer, status) as spec, pytest.raises(ClientError, match=message):
        Client(spec, tmp_path).run(ROUND)


@pytest.mark.parametrize("description", [{"contract": 2}, [], "x"])
def test_another_version_of_the_contract_is_refused_at_the_start(description: object, tmp_path: Path) -> None:
    with scripted(description, b"") as spec, pytest.raises(StartError, match="does not speak version 1"):
        Client(spec, tmp_path)


def test_a_client_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"client x at http://127\.0\.0\.1:1 does not answer"):
        Client(ClientSpec("x", url="http://127.0.0.1:1"), tmp_path)


def test_a_round_ends_as_soon_as_the_system_has_died_and_keeps_what_it_has(tmp_path: Path) -> None:
    requested, reported = threading.Event(), iter([[], ["envoy ended"]])

    def died() -> list[str]:
        requested.set()
        return next(reported)

    second = BATCH.replace(b'"call": [0]', b'"call": [1]').replace(b'"start_us": [5]', b'"start_us": [500]')
    with scripted(DESCRIPTION, BATCH, later=(requested, second)) as spec, pytest.raises(ClientError) as caught:
        Client(spec, tmp_path).run(ROUND, died)
    assert str(caught.value) == "the system died: envoy ended"
    assert [batch.call.tolist() for batch in caught.value.batches] == [[0]]


@pytest.mark.parametrize("duration_us", [2**53, 2**63 - 1, 20_000_000_000])
def test_a_round_longer_than_the_time_that_it_took_is_refused(duration_us: int, tmp_path: Path) -> None:
    end = json.dumps({"end": {"rows": 1, "duration_us": duration_us, "cpu_us": 3}}).encode() + b"\n"
    refused = pytest.raises(ClientError, match=r"broke the contract: end\.duration_us is .* the unit is microseconds")
    with scripted(DESCRIPTION, BATCH + end) as spec, refused:
        Client(spec, tmp_path).run(ROUND)


def test_a_client_is_reached_past_a_proxy_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    end = json.dumps({"end": {"rows": 1, "duration_us": 20, "cpu_us": 3}}).encode() + b"\n"
    with scripted(DESCRIPTION, BATCH + end) as spec:
        assert Client(spec, tmp_path).run(ROUND).end.rows == 1


@pytest.mark.parametrize("description", [DESCRIPTION | {"contract": True}, DESCRIPTION | {"contract": "1"}])
def test_a_version_of_the_contract_that_is_no_number_is_refused(description: object, tmp_path: Path) -> None:
    with scripted(description, b"") as spec, pytest.raises(StartError, match="does not speak version 1"):
        Client(spec, tmp_path)


def test_a_client_that_fails_to_check_a_round_has_not_agreed_to_it(tmp_path: Path) -> None:
    with scripted(DESCRIPTION, b'{"problems": []}', status=500) as spec:
        client = Client(spec, tmp_path)
        with pytest.raises(ClientError, match="at POST /check: it answered 500"):
            client.check(ROUND)
        client.close()


def test_a_description_that_is_nested_without_end_is_refused_in_words(tmp_path: Path) -> None:
    deep: object = 1
    for _ in range(900):
        deep = [deep]
    with scripted(DESCRIPTION | {"library": deep}, b"") as spec:
        Client(spec, tmp_path).close()  # what a reader can hold is read
    with nested(100_000) as url, pytest.raises(StartError, match="does not answer GET /client"):
        Client(ClientSpec("deep", url=url), tmp_path)
    with nested(100_000) as url:
        (finding,) = check_client(url, only=())
    assert (finding.status, "is not JSON" in finding.seen) == ("failed", True)


@contextmanager
def nested(depth: int) -> Iterator[str]:
    """A client whose description is nothing but lists in lists."""
    body = b"[" * depth + b"]" * depth

    def describe(send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with serving(describe) as url:
        yield url
