"""Servers on loopback whose answers never end, or are not worth reading to their end."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PAUSE_S = 0.02
BOMB = gzip.compress(bytes(1 << 24))
"""16 MiB of zeros in 16 kB."""
Hostile = Callable[[Callable[[bytes], None]], None]


def dripped_head(send: Callable[[bytes], None]) -> None:
    send(OK)
    while True:
        send(b"X-More: 1\r\n")
        time.sleep(PAUSE_S)


def dripped_body(send: Callable[[bytes], None]) -> None:
    send(CHUNKED)
    while True:
        send(b"1\r\nx\r\n")
        time.sleep(PAUSE_S)


def endless_1xx(send: Callable[[bytes], None]) -> None:
    while True:
        send(b"HTTP/1.1 100 Continue\r\n\r\n")


def endless_body(send: Callable[[bytes], None]) -> None:
    send(OK + b"\r\n")
    while True:
        send(bytes(1 << 16))


def gzip_bomb(send: Callable[[bytes], None]) -> None:
    send(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB)


def redirect_loop(send: Callable[[bytes], None]) -> None:
    send(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")


def silence(send: Callable[[bytes], None]) -> None:
    while True:
        time.sleep(PAUSE_S)
        send(b"")


WAYS = (dripped_head, dripped_body, endless_1xx, endless_body, gzip_bomb, redirect_loop, silence)


@contextmanager
def serving(way: Hostile) -> Iterator[str]:
    """A server that answers everybody in this way, at its URL."""
    over = threading.Event()

    def answer(caller: socket.socket) -> None:
        def send(data: bytes) -> None:
            if over.is_set():
                raise OSError
            caller.sendall(data)

        with caller, suppress(OSError):
            caller.settimeout(1)
            caller.recv(1 << 16)
            way(send)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    caller, _ = server.accept()
                    threading.Thread(target=answer, args=(caller,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)
