"""The receiver by gRPC: the method ``Export`` of OTLP's trace service, with the bounds that the one by HTTP has.

gRPC itself would unpack a message of any size, so packed messages come here as they were sent. The method is declared
as one that takes a stream: of a single message nothing would be heard before it is whole, however slow its sender is.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Never

import grpc
from grpc import aio

from patternbench.traces.receive import app, bounds
from patternbench.traces.receive.bounds import (
    BAD,
    BUSY,
    MOST_BYTES,
    TIMED_OUT,
    TOO_LARGE,
    UNSUPPORTED,
    ReadingSlots,
    RefusedError,
)
from patternbench.traces.receive.otlp import PROTOBUF
from patternbench.traces.receive.spool import Spool

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
STATUSES = {
    BAD: grpc.StatusCode.INVALID_ARGUMENT,
    TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    UNSUPPORTED: grpc.StatusCode.UNIMPLEMENTED,
    TIMED_OUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    BUSY: grpc.StatusCode.UNAVAILABLE,
}
"""The status for each of HTTP's. By OTLP's rules an exporter sends again what was ``UNAVAILABLE``."""
GZIP_BEGINS = b"\x1f\x8b"
"""How gzip begins. Protobuf never does: it has no fields of type 7."""
IDENTITY_OR_GZIP = 0b101
"""The encodings that messages may have, as gRPC numbers them."""
MOST_CONNECTIONS = 4096
AT_ONCE = 32
"""Of messages, each of which gRPC keeps in memory until it is whole. Of those that wait for a place it reads 64 KiB."""
NO_MESSAGE = "no_message"
"""Why gRPC hands no message over: it has refused it and told its sender why, or its sender has hung up."""
_Requests = AsyncIterator[bytes]
_Context = aio.ServicerContext[bytes, bytes]


class PortError(Exception):
    """A port cannot be had; the message says which."""


def options() -> list[tuple[str, int]]:
    """Return the settings of gRPC. Half of the open files is for those who come by HTTP, such as the runner."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return [
        ("grpc.max_receive_message_length", MOST_BYTES),
        ("grpc.per_message_decompression", 0),
        ("grpc.compression_enabled_algorithms_bitset", IDENTITY_OR_GZIP),
        ("grpc.max_concurrent_streams", bounds.MOST_EXPORTS),
        ("grpc.max_allowed_incoming_connections", min(files // 2, MOST_CONNECTIONS)),
        ("grpc.server_handshake_timeout_ms", int(1000 * bounds.READ_S)),
        ("grpc.max_connection_idle_ms", 1000 * bounds.KEEP_ALIVE_S),
        ("grpc.http2.bdp_probe", 0),  # what no one reads yet stays with its sender
        ("grpc.so_reuseport", 0),  # a port that is taken is an error
    ]


class GrpcReceiver(grpc.GenericRpcHandler):
    """Takes spans into a spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._places = ReadingSlots(bounds.MOST_EXPORTS)
        self._reading = asyncio.Semaphore(AT_ONCE)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Return the handler of a method; None for one that isn't received here."""
        if details.method == METHOD:
            return grpc.stream_unary_rpc_method_handler(self.export)
        self._spool.refuse("other_signal")
        return None

    async def export(self, requests: _Requests, context: _Context) -> bytes:
        """Answer one export."""
        try:
            return app.taken(self._spool, await self._read(requests), PROTOBUF)
        except RefusedError as refusal:
            await self._refuse(context, refusal)
        except TimeoutError:
            await self._refuse(context, RefusedError(TIMED_OUT, "too_slow", "the message took too long to come"))
        except asyncio.CancelledError:
            self._spool.refuse(NO_MESSAGE)
            raise

    async def _read(self, requests: _Requests) -> bytes:
        """Return the message, unpacked; raises RefusedError, or TimeoutError where its sender is slow."""
        with self._places.one():
            async with self._turn():
                message = await asyncio.wait_for(anext(requests, None), bounds.READ_S)
        if message is None:
            raise RefusedError(BAD, NO_MESSAGE, "there was no message")
        return bounds.unpacked(message) if message.startswith(GZIP_BEGINS) else message

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One of the places for messages that are read; raises RefusedError if none gets free in time."""
        try:
            async with asyncio.timeout(bounds.READ_S):
                await self._reading.acquire()
        except TimeoutError:
            raise RefusedError(BUSY, "too_busy", f"{AT_ONCE} messages are being read; send again later") from None
        try:
            yield
        finally:
            self._reading.release()

    async def _refuse(self, context: _Context, refusal: RefusedError) -> Never:
        self._spool.refuse(refusal.reason)
        await context.abort(STATUSES[refusal.status], str(refusal))


@asynccontextmanager
async def receiving(spool: Spool, port: int) -> AsyncIterator[None]:
    """Receive by gRPC at a port of loopback; raises PortError if that port is taken."""
    server = aio.server(options=options())
    server.add_generic_rpc_handlers((GrpcReceiver(spool),))
    try:
        server.add_insecure_port(f"127.0.0.1:{port}")
    except RuntimeError:
        raise PortError(f"cannot receive by gRPC at 127.0.0.1:{port}: another program may have this port") from None
    await server.start()
    try:
        yield
    finally:
        await server.stop(grace=None)
