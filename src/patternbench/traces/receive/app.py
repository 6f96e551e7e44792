"""The receiver as an ASGI application: ``POST /v1/traces`` takes OTLP, ``/round`` is for the runner.

``POST /round`` begins a round, ``DELETE /round`` ends it, ``GET /round`` tells what came, ``GET /round/spans`` gives
the file. Spans that began before ``POST /round?since_ns=`` aren't part of the round. A body is read up to a limit,
compressed or not, in a bounded time. Only a few long ones are read at once: only senders of further long ones wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from urllib.parse import parse_qs

import orjson

from patternbench.traces.receive import bounds, otlp
from patternbench.traces.receive.bounds import (
    BAD,
    MOST_BYTES,
    NOT_ALLOWED,
    NOT_FOUND,
    OK,
    TIMED_OUT,
    UNSUPPORTED,
    ReadingSlots,
    RefusedError,
    too_large,
    unpacked,
)
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

USUAL_BYTES = 256 << 10
"""Of a body that needs no place among the long ones: a full batch of an exporter has less."""
AT_ONCE = 8
"""Of long bodies."""
PIECE = 1 << 20
LONGEST_SINCE = 20
"""Digits of a time in nanoseconds."""


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
        self._long = asyncio.Semaphore(AT_ONCE)
        self._places = ReadingSlots(bounds.MOST_EXPORTS)

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
            body = await self._read(headers, receive)
            return Answer(OK, taken(self._spool, body, content_type), content_type)
        except RefusedError as refusal:
            self._spool.refuse(refusal.reason)
            shown = JSON if content_type == JSON else PROTOBUF
            return Answer(refusal.status, otlp.refused(str(refusal), shown), shown)
        except TimeoutError:
            self._spool.refuse("too_slow")
            return Answer(TIMED_OUT)

    async def _read(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """Return the body of an export, unpacked; raises RefusedError, or TimeoutError where its sender is slow."""
        with self._places.one():
            return await _body(headers, receive, self._long)


def taken(spool: Spool, body: bytes, content_type: str) -> bytes:
    """Take the spans of an export into the spool; its answer. Raises RefusedError."""
    try:
        batch = otlp.batch_of(otlp.decoded(body, content_type))
    except BodyError as error:
        raise RefusedError(BAD, "bad_body", f"the body {error}") from None
    left_out = spool.take(batch)
    why = ", ".join(otlp.reasons(left_out))
    return otlp.answered(left_out.total(), why, content_type)


def _since_ns(query: bytes) -> int:
    """From when on a round's spans end; 0 where that is not said."""
    stated = parse_qs(query.decode("latin-1")).get("since_ns", ["0"])[0]
    return int(stated) if stated.isdecimal() and len(stated) <= LONGEST_SINCE else 0


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


async def _body(headers: Mapping[str, str], receive: Receive, places: asyncio.Semaphore) -> bytes:
    """Return the body of a request, unpacked. Raises RefusedError."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise RefusedError(UNSUPPORTED, "encoding", "the content encoding must be gzip, or none")
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > MOST_BYTES:
        raise too_large()
    raw = await _raw(receive, places)
    return unpacked(raw) if encoding == "gzip" else raw


async def _raw(receive: Receive, places: asyncio.Semaphore) -> bytes:
    """Return the body as it was sent. One beyond the usual size waits for a place, and that time does not count."""
    pieces: list[bytes] = []
    whole = await asyncio.wait_for(_read(receive, pieces, USUAL_BYTES), bounds.READ_S)
    if not whole:
        async with places:
            await asyncio.wait_for(_read(receive, pieces, MOST_BYTES), bounds.READ_S)
    return b"".join(pieces)


async def _read(receive: Receive, pieces: list[bytes], until: int) -> bool:
    """Read pieces until the body ends (true) or has this many bytes (false)."""
    total = sum(map(len, pieces))
    while total <= until:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(BAD, "broken_off", "the request broke off")
        piece = message.get("body", b"")
        assert isinstance(piece, bytes)
        pieces.append(piece)
        total += len(piece)
        if total > MOST_BYTES:
            raise too_large()
        if not message.get("more_body"):
            return True
    return False


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
