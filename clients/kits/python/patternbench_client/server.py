"""The contract's side of a client: HTTP on a loopback address, one round at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

from patternbench_client import rows
from patternbench_client.adapter import Adapter, Entry, Refusal
from patternbench_client.rounds import NotARoundError, Round, read
from patternbench_client.users import RunningRound

BATCH_EVERY_S = 0.08
"""Twice within the contract's 200 ms, with room for a busy machine."""
OWN_HEADERS = {"content-length", "transfer-encoding", "connection", "host"}
CALLS = "GET /client, POST /check, POST /rounds"

Ask = tuple[str, bytes]


class ContractServer:
    """Answers the three calls of the contract."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._busy = False

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, until it is closed or a round was streamed over it."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            async for call, body in requested(reader):
                if call == "POST /rounds" and await self._round(body, reader, writer):
                    break
                if call != "POST /rounds":
                    reply(writer, *self._replied(call, body))
                await writer.drain()
        writer.close()

    def _replied(self, call: str, body: bytes) -> tuple[int, object]:
        if call == "GET /client":
            return 200, self._adapter.description.as_json()
        if call == "POST /check":
            return 200, {"problems": self._problems(body)}
        return 404, {"error": f"{call} isn't one of {CALLS}"}

    def _problems(self, body: bytes) -> list[dict[str, object]]:
        try:
            return [refusal.as_json() for refusal in refusals(read(body), self._adapter)]
        except NotARoundError as error:
            return [Refusal(error.path, None, str(error)).as_json()]

    async def _round(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Run a round and stream it; False where it was refused, and the connection stays."""
        problems = self._problems(body)
        if problems:
            reply(writer, 422, {"problems": problems})
        elif self._busy:
            reply(writer, 409, {"error": "another round is running; wait for its end, or close it"})
        else:
            await self._stream(read(body), reader, writer)
            return True
        return False

    async def _stream(self, round_: Round, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Stream a round; the last line goes out when the client is free: who has read it may start another."""
        self._busy = True
        running = RunningRound(round_, self._adapter)
        try:
            head(writer, 200, "application/x-ndjson", "Connection: close")
            running.start()
            heard = await _batches(running, reader, writer)
        finally:
            await running.close()
            self._busy = False
        if heard:
            writer.write(json.dumps(_last_line(running)).encode() + b"\n")
            await writer.drain()


async def _batches(running: RunningRound, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Write batches until the round is over; False when no one listens any more."""
    closed = asyncio.create_task(reader.read(1))
    try:
        over = False
        while not over:
            await asyncio.wait({closed, *running.waited_for()}, timeout=BATCH_EVERY_S)
            if closed.done():
                return False
            over = running.over
            for line in rows.lines(running.rows.take()):
                writer.write(line)
            await writer.drain()
        return True
    finally:
        closed.cancel()


def _last_line(running: RunningRound) -> dict[str, object]:
    if running.defect is not None:
        return {"error": f"a user could not go on: {running.defect!r}"}
    return {"end": {"rows": running.rows.taken, "duration_us": running.duration_us, "cpu_us": running.cpu_us}}


def refusals(round_: Round, adapter: Adapter) -> list[Refusal]:
    """Return what this client cannot do of a round."""
    own = [name for name in round_.request.headers if name.lower() in OWN_HEADERS]
    refused = [Refusal(f"request.headers.{name}", None, "this client sets the header itself") for name in own]
    strategies = adapter.description.strategies
    if round_.kind not in strategies:
        allowed = ", ".join(strategies)
        return [*refused, Refusal("strategy", round_.kind, "this client does not have it", allowed)]
    return [*refused, *_of_policies(round_, adapter)]


def _of_policies(round_: Round, adapter: Adapter) -> Iterator[Refusal]:
    for number, policy in enumerate(round_.policies):
        path = f"strategy.stack[{number}].{policy.kind}" if round_.kind == "stack" else f"strategy.{policy.kind}"
        entry = Entry(policy, round_.policies[number + 1 :], round_.users)
        for refusal in adapter.refused(entry):
            yield replace(refusal, path=f"{path}.{refusal.path}" if refusal.path else path)


async def requested(reader: asyncio.StreamReader) -> AsyncIterator[Ask]:
    """Yield the requests of a connection: method and path, and the body."""
    while True:
        first, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lengths = [field.split(":", 1)[1] for field in fields if field.lower().startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        yield first.rpartition(" ")[0], body


def reply(writer: asyncio.StreamWriter, status: int, value: object) -> None:
    """Answer with JSON."""
    body = json.dumps(value).encode()
    head(writer, status, "application/json", f"Content-Length: {len(body)}")
    writer.write(body)


def head(writer: asyncio.StreamWriter, status: int, kind: str, field: str) -> None:
    """Write the head of an answer."""
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"
    writer.write(f"{first}\r\nContent-Type: {kind}\r\n{field}\r\n\r\n".encode())
