"""A small HTTP server that answers, hangs or hangs up by a script, and remembers its requests.

It is the other side of the contract's tests: what a client says of
its attempts is held against what arrived here.
"""

from __future__ import annotations

import select
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Literal

POLL_S = 0.01


@dataclass(frozen=True)
class ScriptedAnswer:
    """The action for one request: answer with a status, hang, or close the connection unanswered.

    ``delay_us`` passes before the head of the answer, ``body_delay_us`` between head and body.
    """

    status: int = 200
    delay_us: int = 0
    body_delay_us: int = 0
    act: Literal["answer", "hang", "close"] = "answer"


OK, FAIL = ScriptedAnswer(200), ScriptedAnswer(503)
HANG, CLOSE = ScriptedAnswer(act="hang"), ScriptedAnswer(act="close")


@dataclass
class Arrival:
    """One request that reached the target; times in seconds of the monotonic clock, None until then."""

    connection: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    received: float
    finished: float | None = None


@dataclass
class Script:
    """One script, under its own path, and the requests that came for it."""

    path: str
    answers: Callable[[int], ScriptedAnswer]
    arrivals: list[Arrival] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_step(self, arrival: Arrival) -> ScriptedAnswer:
        """Note an arrival, and say what to do with it."""
        with self.lock:
            self.arrivals.append(arrival)
            return self.answers(len(self.arrivals) - 1)

    def wait_for_arrival(self, seconds: float) -> bool:
        """Wait until something has arrived; false when nothing did in time."""
        deadline = time.monotonic() + seconds
        while not self.arrivals and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return bool(self.arrivals)

    def most_at_once(self, since: float) -> int:
        """Count the most requests that were inside the target at once, of those received since then."""
        times = [(a.received, 1) for a in self.arrivals if a.received >= since]
        times += [(a.finished, -1) for a in self.arrivals if a.received >= since and a.finished]
        at_once = most = 0
        for _, change in sorted(times):
            at_once += change
            most = max(most, at_once)
        return most


def sequence(steps: list[ScriptedAnswer], then: ScriptedAnswer = OK) -> Callable[[int], ScriptedAnswer]:
    """Answer by the steps one after another, and by ``then`` for ever after."""
    return lambda index: steps[index] if index < len(steps) else then


class ScriptedTarget:
    """Serves scripts on a free loopback port, each connection on a thread; a context manager."""

    def __init__(self) -> None:
        self._scripts: dict[str, Script] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.target = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_S,), daemon=True)

    def __enter__(self) -> ScriptedTarget:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, answers: Callable[[int], ScriptedAnswer]) -> Script:
        """Serve a script from now on; earlier ones continue under their own paths."""
        script = Script(f"/script/{len(self._scripts)}", answers)
        self._scripts[script.path] = script
        return script

    def of_path(self, path: str) -> Script | None:
        """Find the script of a request's path, its query aside."""
        return self._scripts.get(path.split("?", maxsplit=1)[0])


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    target: ScriptedTarget

    def __init__(self, *args: object) -> None:
        self.closing = threading.Event()
        self._connections = 0
        super().__init__(*args)  # type: ignore[arg-type]

    def next_connection(self) -> int:
        self._connections += 1
        return self._connections

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that goes away is part of the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.number = self.server.next_connection()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what arrives is remembered instead."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        arrival = Arrival(self.number, self.command, self.path, dict(self.headers.items()), body, time.monotonic())
        script = self.server.target.of_path(self.path)
        step = ScriptedAnswer(404) if script is None else script.next_step(arrival)
        try:
            self._act(step, arrival)
        finally:
            arrival.finished = arrival.finished or time.monotonic()

    def _act(self, step: ScriptedAnswer, arrival: Arrival) -> None:
        if step.act == "answer":
            self._answer(step, arrival)
            return
        if step.act == "hang":
            self._hang()
        self.close_connection = True

    def _hang(self) -> None:
        while not self.server.closing.is_set() and not _is_closed(self.connection):
            pass

    def _answer(self, step: ScriptedAnswer, arrival: Arrival) -> None:
        time.sleep(step.delay_us / 1e6)
        has_body = step.status != HTTPStatus.NO_CONTENT
        self.send_response(step.status)
        if has_body:
            self.send_header("Content-Length", "2")
        if step.status in range(300, 400):
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        if step.body_delay_us:
            self.wfile.flush()
            time.sleep(step.body_delay_us / 1e6)
        arrival.finished = time.monotonic()
        self.wfile.write(b"ok" if has_body and self.command != "HEAD" else b"")
        self.wfile.flush()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815


def _is_closed(connection: socket.socket) -> bool:
    """Wait a moment, and say whether the other side has closed its end."""
    readable, _, _ = select.select([connection], [], [], POLL_S)
    if not readable:
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
