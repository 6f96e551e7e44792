"""How a URL is asked: whatever a server does, an answer ends within a time in all, and within a number of bytes.

The time and the bytes are those of the whole answer: each ``1xx``, its head and its body. Timeouts of single reads
would let a server that sends a byte a second keep us for ever. Nothing in the environment redirects a question (no
proxy), no redirect is followed unless it is asked for, and no compressed body is unpacked.
"""

from __future__ import annotations

import math
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import ParamSpec

import httpcore
import httpx

Asked = ParamSpec("Asked")
GLANCE_S = 0.25
"""How often a wait looks whether it shall be given up."""
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")
"""The number of an error of the system, which says nothing to people: its words follow."""
FAILED = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol)


@dataclass(frozen=True)
class Bounds:
    """The longest that an answer may take in all, in seconds, and the most bytes that it may have."""

    seconds: float
    bytes: float = 1 << 22


def client(
    bounds: Bounds,
    *,
    base_url: str = "",
    verify: ssl.SSLContext | bool = True,
    uds: str | None = None,
    follow_redirects: bool = False,
    given_up: Callable[[], bool] = lambda: False,
) -> httpx.Client:
    """Return a client whose answers keep bounds. ``given_up`` ends a wait from another thread, within a moment.

    Each question has its own connection, which is closed after its answer.
    """
    transport = BoundedTransport(bounds, verify, uds, given_up)
    return _WritableClient(
        transport=transport, base_url=base_url, timeout=None, trust_env=False, follow_redirects=follow_redirects
    )


def _writable(ask: Callable[Asked, httpx.Request]) -> Callable[Asked, httpx.Request]:
    """Raise httpx.InvalidURL for a request that can't be written: a host, a header, half a character."""

    def made(*args: Asked.args, **kwargs: Asked.kwargs) -> httpx.Request:
        try:
            return ask(*args, **kwargs)
        except (UnicodeError, ValueError) as error:
            raise httpx.InvalidURL(f"it can't be written as a request: {error}") from None

    return made


class _WritableClient(httpx.Client):
    """Raises httpx.InvalidURL for whatever can't be written as a request."""

    build_request = _writable(httpx.Client.build_request)


class BoundedTransport(httpx.BaseTransport):
    """Sends each request over its own connection that keeps the bounds. ``clock`` counts seconds."""

    def __init__(
        self,
        bounds: Bounds,
        verify: ssl.SSLContext | bool = True,
        uds: str | None = None,
        given_up: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bounds, self._verify, self._uds = bounds, verify, uds
        self._given_up, self._clock = given_up, clock
        self._ssl: ssl.SSLContext | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer to a request; raises httpx.TransportError when it breaks its bounds."""
        allowance = Allowance(self._bounds, self._given_up, self._clock)
        pool = httpcore.ConnectionPool(
            ssl_context=self._context() if request.url.scheme == "https" else None,
            uds=self._uds,
            network_backend=_BoundedBackend(allowance),
        )
        try:
            with _as_httpx(request):
                answer = pool.handle_request(_plain(request))
        except BaseException:
            pool.close()
            raise
        assert isinstance(answer.stream, Iterable)
        stream = _BoundedStream(answer.stream, pool, request)
        return httpx.Response(
            answer.status, headers=_unpacked(answer.headers), stream=stream, extensions=answer.extensions
        )

    def _context(self) -> ssl.SSLContext:
        """Return the certificates that are trusted; read once, since that takes a while."""
        if self._ssl is None:
            verify = self._verify
            self._ssl = verify if isinstance(verify, ssl.SSLContext) else httpx.create_ssl_context(verify=verify)
        return self._ssl


class Allowance:
    """What is left of the bounds of one answer."""

    def __init__(self, bounds: Bounds, given_up: Callable[[], bool], clock: Callable[[], float]) -> None:
        self._bounds, self._given_up, self._clock = bounds, given_up, clock
        self._began, self._read = clock(), 0

    def left_s(self) -> float:
        """Return the seconds that are left.

        Raises httpcore.ReadTimeout if none are, ReadError if the wait is given up.
        """
        if self._given_up():
            raise httpcore.ReadError("given up")
        left = self._bounds.seconds - (self._clock() - self._began)
        if left <= 0:
            raise httpcore.ReadTimeout(f"no whole answer within {self._bounds.seconds:g} s")
        return left

    def count(self, read: bytes) -> bytes:
        """Count what was read. Raises httpcore.ReadError if that is too much."""
        self._read += len(read)
        if self._read > self._bounds.bytes:
            raise httpcore.ReadError(f"the answer is longer than {self._bounds.bytes:,} bytes")
        return read


class _BoundedBackend(httpcore.NetworkBackend):
    """Opens connections within an allowance."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance, self._inner = allowance, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = self._allowance.left_s()
        return self._stream(lambda: self._inner.connect_tcp(host, port, left, local_address, socket_options))

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = self._allowance.left_s()
        return self._stream(lambda: self._inner.connect_unix_socket(path, left, socket_options))

    def _stream(self, connect: Callable[[], httpcore.NetworkStream]) -> httpcore.NetworkStream:
        return _BoundedConnection(_awaited(connect, self._allowance), self._allowance)


class _BoundedConnection(httpcore.NetworkStream):
    """A connection whose reads and writes keep an allowance, however small their pieces are."""

    def __init__(self, inner: httpcore.NetworkStream, allowance: Allowance) -> None:
        self._inner, self._allowance = inner, allowance

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = min(self._allowance.left_s(), GLANCE_S)
            with suppress(httpcore.ReadTimeout):
                return self._allowance.count(self._inner.read(max_bytes, left))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._allowance.left_s())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._allowance.left_s()
        secured = _awaited(lambda: self._inner.start_tls(ssl_context, server_hostname, left), self._allowance)
        return _BoundedConnection(secured, self._allowance)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


class _BoundedStream(httpx.SyncByteStream):
    """The body of an answer; its connection is closed with it."""

    def __init__(self, inner: Iterable[bytes], pool: httpcore.ConnectionPool, request: httpx.Request) -> None:
        self._inner, self._pool, self._request = inner, pool, request

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx(self._request):
            yield from self._inner

    def close(self) -> None:
        close = getattr(self._inner, "close", None)
        if close:
            close()
        self._pool.close()


def _awaited(make: Callable[[], httpcore.NetworkStream], allowance: Allowance) -> httpcore.NetworkStream:
    """Return what is made by its own thread: a look-up of a name can't be interrupted, but it can be left behind."""
    future: Future[httpcore.NetworkStream] = Future()
    Thread(target=_fulfil, args=(future, make), daemon=True).start()
    try:
        while True:
            with suppress(TimeoutError):
                return future.result(min(allowance.left_s(), GLANCE_S))
            if future.done():  # the error is the work's own
                return future.result()
    except BaseException:
        future.add_done_callback(_close_late)
        raise


def _fulfil(future: Future[httpcore.NetworkStream], make: Callable[[], httpcore.NetworkStream]) -> None:
    try:
        future.set_result(make())
    except BaseException as error:
        future.set_exception(error)


def _close_late(future: Future[httpcore.NetworkStream]) -> None:
    if future.exception() is None:
        future.result().close()


def _plain(request: httpx.Request) -> httpcore.Request:
    """Return a request as it is sent: asking for a body that isn't compressed."""
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
    url = request.url
    extensions = {name: value for name, value in request.extensions.items() if name == "sni_hostname"}
    assert isinstance(request.stream, httpx.SyncByteStream)
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=[*headers, (b"Accept-Encoding", b"identity")],
        content=request.stream,
        extensions=extensions,
    )


def _unpacked(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers without that of a compression, so that nothing unpacks a body: a few bytes may become gigabytes."""
    return [(name, value) for name, value in headers if name.lower() != b"content-encoding"]


@contextmanager
def _as_httpx(request: httpx.Request) -> Iterator[None]:
    """Errors of the connection as httpx names them."""
    try:
        yield
    except FAILED as error:
        kind = next(kind.__name__ for kind in type(error).__mro__ if hasattr(httpx, kind.__name__))
        raise getattr(httpx, kind)(_NUMBER.sub("", str(error)), request=request) from None
    except (OSError, UnicodeError, OverflowError) as error:  # a host or a port may be one that can't be looked up
        raise httpx.ConnectError(_NUMBER.sub("", str(error)), request=request) from None


def first_bytes(answer: httpx.Response, most: int) -> bytes:
    """Return the beginning of a body, and no more of it."""
    read = b""
    with suppress(httpx.TransportError):
        for piece in answer.iter_raw():
            read += piece
            if len(read) >= most:
                break
    return read[:most]


UNBOUNDED = math.inf
"""No bound in bytes: for streams that are written or judged while they come."""
