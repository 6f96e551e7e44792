"""The receiver as an ASGI application: ``POST /v1/traces`` takes OTLP, ``/round`` is for the runner.

``POST /round`` begins a round, ``DELETE /round`` ends it, ``GET /round`` tells what came, ``GET /round/spans`` gives
the file. Spans that began before ``POST /round?since_ns=`` aren't part of the round. A body is read up to a limit,
compressed or not, in a bounded time, and only a few at once: further senders wait.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from urllib.parse import parse_qs

import orjson

from patternbench.traces.receive import otlp
from patternbench.traces.receive.otlp import JSON, PROTOBUF, BodyError
from patternbench.traces.receive.spool import Spool


class Scope(TypedDict):
    """A connection before its body is read: the fields of ASGI that are used here."""

    type: str
    method: str
    path: str
    query_string: bytes
    headers: Iterable[tuple[bytes, bytes]]


Message = MutableMapping[str, object]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MOST_BYTES = 8 << 20
"""Of a body, packed or unpacked; a full batch of an exporter (512 spans) has a fortieth of it."""
AT_ONCE = 8
READ_S = 10.0
PIECE = 1 << 20
GZIP = 16 + zlib.MAX_WBITS
OK, BAD, NOT_FOUND, NOT_ALLOWED, TIMED_OUT, TOO_LARGE, UNSUPPORTED = 200, 400, 404, 405, 408, 413, 415


class RefusedError(Exception):
    """A request cannot be taken: with which status it is answered, the reason that is counted, and why in words."""

    def __init__(self, status: int, reason: str, why: str) -> None:
        super().__init__(why)
        self.status, self.reason = status, reason


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    body: bytes = b""
    content_type: str = JSON


class Receiver:
    """Takes spans into a spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._reading = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise NotImplementedError("only HTTP is spoken here")
        method, path = scope["method"], scope["path"]
        if path == "/round/spans":
            await _send_file(send, self._spool.path)
        elif path == "/round":
            await _reply(send, self._round(method, scope["query_string"]))
        else:
            await _reply(send, await self._traces(method, path, _headers(scope), receive))

    def _round(self, method: str, query: bytes) -> Answer:
        if method == "POST":
            self._spool.begin(_since_ns(query))
        elif method == "DELETE":
            self._spool.end()
        elif method != "GET":
            return Answer(NOT_ALLOWED)
        return Answer(OK, orjson.dumps(self._spool.received.as_json()))

    async def _traces(self, method: str, path: str, headers: Mapping[str, str], receive: Receive) -> Answer:
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            _check(method, path, content_type)
            async with self._reading:
                body = await asyncio.wait_for(_body(headers, receive), READ_S)
                return self._taken(body, content_type)
        except RefusedError as refusal:
            self._spool.refuse(refusal.reason)
            shown = JSON if content_type == JSON else PROTOBUF
            return Answer(refusal.status, otlp.refused(str(refusal), shown), shown)
        except TimeoutError:
            self._spool.refuse("too_slow")
            return Answer(TIMED_OUT)

    def _taken(self, body: bytes, content_type: str) -> Answer:
        try:
            batch = otlp.batch_of(otlp.decoded(body, content_type))
        except BodyError as error:
            raise RefusedError(BAD, "bad_body", f"the body {error}") from None
        left_out = self._spool.take(batch)
        why = ", ".join(otlp.reasons(left_out))
        return Answer(OK, otlp.answered(left_out.total(), why, content_type), content_type)


def _since_ns(query: bytes) -> int:
    """From when on a round's spans end; 0 where that is not said."""
    said = parse_qs(query.decode("latin-1")).get("since_ns", ["0"])[0]
    return int(said) if said.isdecimal() else 0


def _check(method: str, path: str, content_type: str) -> None:
    """Raise RefusedError for a request that isn't an export of traces."""
    if path != "/v1/traces":
        raise RefusedError(NOT_FOUND, "other_signal", f"{path} is not received here; spans are, at /v1/traces")
    if method != "POST":
        raise RefusedError(NOT_ALLOWED, "bad_method", "spans are sent by POST")
    if content_type not in (PROTOBUF, JSON):
        raise RefusedError(UNSUPPORTED, "content_type", f"the content type must be {PROTOBUF} or {JSON}")


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


async def _body(headers: Mapping[str, str], receive: Receive) -> bytes:
    """The body of a request, unpacked. Raises RefusedError."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise RefusedError(UNSUPPORTED, "encoding", "the content encoding must be gzip, or none")
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > MOST_BYTES:
        raise _too_large()
    raw = await _read(receive)
    return _unpacked(raw) if encoding == "gzip" else raw


async def _read(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    total, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(BAD, "broken_off", "the request broke off")
        piece = message.get("body", b"")
        assert isinstance(piece, bytes)
        pieces.append(piece)
        total, more = total + len(piece), bool(message.get("more_body"))
        if total > MOST_BYTES:
            raise _too_large()
    return b"".join(pieces)


def _unpacked(raw: bytes) -> bytes:
    """The unpacked body, up to the limit: a gzip bomb is refused before it is unpacked."""
    unpacking = zlib.decompressobj(GZIP)
    try:
        body = unpacking.decompress(raw, MOST_BYTES + 1)
    except zlib.error as error:
        raise RefusedError(BAD, "bad_body", f"the body is not gzip: {error}") from None
    if len(body) > MOST_BYTES:
        raise _too_large()
    if not unpacking.eof:
        raise RefusedError(BAD, "bad_body", "the body is not whole gzip")
    return body


def _too_large() -> RefusedError:
    return RefusedError(TOO_LARGE, "too_large", f"a body may have at most {MOST_BYTES:,} bytes, unpacked too")


async def _reply(send: Send, answer: Answer) -> None:
    headers = [(b"content-type", answer.content_type.encode()), (b"content-length", str(len(answer.body)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _send_file(send: Send, path: Path) -> None:
    if not path.is_file():
        await _reply(send, Answer(NOT_FOUND))
        return
    headers = [(b"content-type", b"application/vnd.apache.parquet")]
    await send({"type": "http.response.start", "status": OK, "headers": headers})
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
