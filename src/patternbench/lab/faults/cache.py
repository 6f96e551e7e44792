"""Speaks to a cache in Redis's protocol: a command is a list of words, its answer begins with one sign of its type."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from types import TracebackType
from urllib.parse import unquote, urlsplit

from patternbench.lab.host.processes import StartError

SCHEME = "redis"
"""How the URL of a cache begins that speaks this protocol."""
USUAL_PORT = 6379
ANSWERS_WITHIN_S = 5.0
_KEYS = re.compile(rb"keys=([0-9]+)")


class CacheConnection:
    """A connection to a cache, signed in as its URL says. Raises StartError where the cache does not answer."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        where = urlsplit(url)
        try:
            self._socket = socket.create_connection((where.hostname, where.port or USUAL_PORT), ANSWERS_WITHIN_S)
        except OSError as error:
            raise StartError(f"the cache {name} doesn't answer: {error}") from None
        self._answers = self._socket.makefile("rb")
        if where.password:
            login = [unquote(part) for part in (where.username, where.password) if part]
            self.asked(["AUTH", *login])

    def flushed(self) -> int:
        """Remove all keys of all its databases, between no other commands; returns how many there were."""
        *_, done = self.asked(["MULTI"], ["INFO", "keyspace"], ["FLUSHALL", "SYNC"], ["EXEC"])
        held = done[0] if isinstance(done, list) and done else None
        if not isinstance(held, bytes):
            raise StartError(f"the cache {self.name} gave an answer that no Redis gives: {done!r}")
        return sum(map(int, _KEYS.findall(held)))

    def asked(self, *commands: Sequence[str]) -> list[object]:
        """Return the answers to commands, which are sent at once. Raises StartError."""
        try:
            self._socket.sendall(b"".join(map(_written, commands)))
            return [self._answer() for _ in commands]
        except (OSError, ValueError) as error:
            raise StartError(f"the cache {self.name} didn't answer: {error or type(error).__name__}") from None

    def _answer(self) -> object:
        """Return the next answer: bytes, a list of answers, or None for nothing."""
        line = self._answers.readline()
        kind, rest = line[:1], line[1:].rstrip()
        if not line.endswith(b"\r\n"):
            raise ValueError("the connection was closed")
        if kind == b"-":
            raise StartError(f"the cache {self.name} refused: {rest.decode(errors='replace')}")
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        if kind == b"$":
            return None if int(rest) < 0 else self._answers.read(int(rest) + 2)[:-2]
        if kind in (b"+", b":"):
            return rest
        raise ValueError("what it says is not Redis's protocol")

    def __enter__(self) -> CacheConnection:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._answers.close()
        self._socket.close()


def _written(command: Sequence[str]) -> bytes:
    words = [word.encode() for word in command]
    return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)])
