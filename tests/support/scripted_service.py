"""A service whose answers its paths say, and which counts what reaches it; for the proxies in front of it."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELD_S, LOOK_S = 8.0, 0.01
"""How long a request is held where nobody releases it, less than whoever asks waits; how often it is looked at."""


class ScriptedService(ThreadingHTTPServer):
    """What it was asked: when each request came, by path, and how many were inside at once.

    ``/fails/STATUS/TIMES/...`` fails so often and then is well, ``/lost/TIMES/...`` closes the connection so often,
    ``/slow/MS/...`` takes its time, ``/held/...`` waits until it is ``released``, any other path is answered at once.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.came: dict[str, list[float]] = defaultdict(list)
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.released = threading.Event()
        self.lock = threading.Lock()

    def begin_to_hold(self) -> None:
        """Let what is held stay inside, and count anew how many are."""
        self.released.clear()
        self.most.clear()

    def release(self, inside: int) -> None:
        """Let go what is held, as soon as so many are inside: a busy machine brings them late."""
        for _ in range(round(HELD_S / LOOK_S)):
            if self.inside["held"] >= inside or self.released.wait(LOOK_S):
                break
        self.released.set()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: ScriptedService

    def do_GET(self) -> None:
        kind, *words = self.path.strip("/").split("/")
        with self.server.lock:
            self.server.came[self.path].append(time.monotonic())
            number = len(self.server.came[self.path])
            self.server.inside[kind] += 1
            self.server.most[kind] = max(self.server.most[kind], self.server.inside[kind])
        try:
            self._answer(kind, words, number)
        finally:
            with self.server.lock:
                self.server.inside[kind] -= 1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _answer(self, kind: str, words: list[str], number: int) -> None:
        if kind == "lost" and number <= int(words[0]):
            self.close_connection = True
            return
        if kind == "slow":
            time.sleep(int(words[0]) / 1000)
        if kind == "held":
            self.server.released.wait(HELD_S)
        fails = kind == "fails" and number <= int(words[1])
        self.send_response(int(words[0]) if fails else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def scripted_service() -> Iterator[ScriptedService]:
    """The service, up on loopback; gone on leaving."""
    service = ScriptedService()
    thread = threading.Thread(target=service.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        service.server_close()
        thread.join(5)
