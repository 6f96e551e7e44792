"""The page of ``patternbench watch``: read-only, for this machine alone unless someone asks for more.

It answers GET, and nothing else. A page of another site can't read it, since its Host header must be ours; beyond this
machine every address needs a token. What it shows loads nothing from elsewhere, and its scripts are its own.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from patternbench.report import page as report_page
from patternbench.watch.hub import LIST, Hub

LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_VIEWERS = 64
SILENT_S = 15.0
"""After this time without news a viewer gets a sign of life, by which a lost one is found out."""
PARTS = Path(__file__).parent / "page"
TITLE = "patternbench watch"


@dataclass(frozen=True)
class Access:
    """Who may look: through which names of this machine, and with which token; none where that is not needed."""

    hosts: frozenset[str]
    token: str = ""

    @classmethod
    def of(cls, host: str) -> Access:
        """Return the access to an address: on this machine alone without a token, else with a new one."""
        if host in LOOPBACK:
            return cls(frozenset(LOOPBACK))
        return cls(frozenset(), secrets.token_urlsafe(18))

    def allows(self, host: str, token: str) -> bool:
        """Whether a request may be answered, by its Host header and its token."""
        if self.token:
            return hmac.compare_digest(token.encode(), self.token.encode())
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.hosts


class PageServer(ThreadingHTTPServer):
    """The server of the page; a viewer has a thread of its own."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, hub: Hub) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.hub, self.access, self.viewers = hub, Access.of(host), 0
        super().__init__((host, port), Viewer)

    @property
    def url(self) -> str:
        """Where the page is, with the token that it needs."""
        host, port = self.server_address[0], self.server_address[1]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}/" + (f"?token={self.access.token}" if self.access.token else "")


class Viewer(BaseHTTPRequestHandler):
    """A request of a browser."""

    server: PageServer
    server_version = TITLE.replace(" ", "-")
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Answer with the page, the events of a run or of the list, or a run as it was earlier."""
        with suppress(OSError):  # the viewer has gone
            if not self.server.access.allows(self.headers.get("Host", ""), self._asked("token")):
                self._send(
                    HTTPStatus.FORBIDDEN,
                    "text/plain",
                    "This page needs the address that `patternbench watch` printed.\n",
                )
                return
            answer = self._ANSWERS.get(urlsplit(self.path).path)
            if answer is None:
                self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is nothing here.\n")
            else:
                answer(self)

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'"
        more = "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        self._send(HTTPStatus.OK, "text/html", page(nonce), {"Content-Security-Policy": f"{policy}; {more}"})

    def _events(self) -> None:
        name = self._asked("run") or LIST
        if not self.server.hub.knows(name):
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is no such run.\n")
            return
        if self.server.viewers >= MOST_VIEWERS:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", "Too many are watching already.\n")
            return
        with _counted(self.server):
            self._head(HTTPStatus.OK, "text/event-stream", {"Connection": "close"})
            self.close_connection = True
            self._stream(name)

    def _stream(self, name: str) -> None:
        version = 0
        while not self.server.hub.is_over:
            news = self.server.hub.next_text(name, version, SILENT_S)
            version, text = news or (version, "")
            self.wfile.write(f"data: {text}\n\n".encode() if news else b": still here\n\n")
            self.wfile.flush()

    def _replay(self) -> None:
        rounds = self._asked("rounds")
        text = self.server.hub.replayed(self._asked("run"), int(rounds)) if rounds.isdecimal() else None
        if text is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is no such run.\n")
        else:
            self._send(HTTPStatus.OK, "application/json", text)

    _ANSWERS: ClassVar[dict[str, Callable[[Viewer], None]]] = {"/": _page, "/events": _events, "/replay": _replay}

    def _asked(self, name: str) -> str:
        """Return what the address says of something; empty if it says nothing."""
        return parse_qs(urlsplit(self.path).query).get(name, [""])[0]

    def _send(self, status: HTTPStatus, kind: str, text: str, more: dict[str, str] | None = None) -> None:
        content = text.encode()
        self._head(status, f"{kind}; charset=utf-8", {"Content-Length": str(len(content)), **(more or {})})
        self.wfile.write(content)

    def _head(self, status: HTTPStatus, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        for name, value in {**headers, "Referrer-Policy": "no-referrer", **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal is for what matters."""


@contextmanager
def _counted(server: PageServer) -> Iterator[None]:
    server.viewers += 1
    try:
        yield
    finally:
        server.viewers -= 1


def page(nonce: str) -> str:
    """Return the page: one file with its style and its script, in the look of the report."""
    style = report_page.environment().get_template("page.css").render()
    parts = {"nonce": nonce, "title": TITLE, "style": style + _part("watch.css"), "script": _part("watch.js")}
    text = _part("watch.html")
    for name, part in parts.items():
        text = text.replace(f"@@{name}@@", part)
    return text


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")
