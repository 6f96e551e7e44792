"""How a host knows that a component is ready: one class per way, all plain data with one question.

A host asks ``met`` again and again, until it is true, the component has ended, or its time is up.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Protocol

import httpx

from patternbench import asking

LOOPBACK = "127.0.0.1"
ANSWER_S = 1.0
"""How long one question waits for its answer before it is asked again."""
MOST_BYTES = 1 << 22
"""How much of an answer is searched for a pattern."""


@cache
def plain() -> httpx.Client:
    """Return what asks whether a component is ready. Each question has its own connection, so threads may share it."""
    return asking.client(asking.Bounds(ANSWER_S, 2 * MOST_BYTES), verify=False)


class StartingComponent(Protocol):
    """A starting component, as checks of readiness see it."""

    @property
    def ports(self) -> Mapping[str, int]:
        """Its ports by name."""

    def written(self) -> str:
        """Return the beginning of its log since it was started."""

    def wrote(self, pattern: str) -> bool:
        """Whether a line of its log matches a pattern."""

    def succeeds(self, command: tuple[str, ...], seconds: float) -> bool:
        """Whether a command ends well within a time."""


class ReadinessCheck(Protocol):
    """A way to know that a component is ready."""

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""


@dataclass(frozen=True)
class Port:
    """It accepts connections on a port; one that ``greets`` also speaks first, as a database does once it serves."""

    port: str
    greets: bool = False

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        with suppress(OSError), socket.create_connection((LOOPBACK, starting.ports[self.port]), ANSWER_S) as connection:
            return not self.greets or bool(connection.recv(1))
        return False

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        what = "speaks" if self.greets else "accepts connections"
        return f"nothing {what} at {LOOPBACK}:{starting.ports[self.port]}"


@dataclass(frozen=True)
class Http:
    """It answers a path with a status below a bound, or with one status alone."""

    port: str
    path: str = "/"
    below: int = 500
    status: int = 0

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        answer = _answer(_loopback_url(starting, self.port, self.path), most=0)
        if answer is None:
            return False
        return answer[0] == self.status if self.status else answer[0] < self.below

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        expected = str(self.status) if self.status else f"a status below {self.below}"
        return _instead_of(_loopback_url(starting, self.port, self.path), expected)


@dataclass(frozen=True)
class Answers:
    """It answers a path well (200) and with a body that matches a pattern."""

    port: str
    path: str
    pattern: str

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        status, body = _answer(_loopback_url(starting, self.port, self.path), MOST_BYTES) or (0, "")
        return status == HTTPStatus.OK and re.search(self.pattern, body, re.MULTILINE) is not None

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        return _instead_of(_loopback_url(starting, self.port, self.path), f"200 with {self.pattern}")


@dataclass(frozen=True)
class ReadyLine:
    """It prints a line of JSON with a key when it is ready, as our own programs do: ``{"listening": "host:port"}``."""

    key: str

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        return self.key in announcements(starting.written())

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        return f"it has not printed `{self.key}`"


CONTAINED = "contained"
"""The key under which the keeper of a container says that it runs."""
RUNS = ReadyLine(CONTAINED)


@dataclass(frozen=True)
class LogLine:
    """It writes a line that matches a pattern."""

    pattern: str

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        return starting.wrote(self.pattern)

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        return f"no line of its output matches {self.pattern}"


@dataclass(frozen=True)
class SuccessiveReadiness:
    """It is ready in its own way, and then URLs, of others too, are answered well, each once those before are."""

    first: ReadinessCheck
    urls: tuple[str, ...]

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        return self.first.met(starting) and all(_answers_well(url) for url in self.urls)

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        if not self.first.met(starting):
            return self.first.lacks(starting)
        return next((_instead_of(url, "200 to 299") for url in self.urls if not _answers_well(url)), "")


@dataclass(frozen=True)
class SuccessfulCommand:
    """A command ends well: for components that bring a probe of their own."""

    command: tuple[str, ...]

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        return starting.succeeds(self.command, ANSWER_S)

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        return f"`{self.command[0]}` does not succeed"


@dataclass(frozen=True)
class ContainerReadiness:
    """Its container runs, as its keeper says, and it is ready in its own way."""

    own: ReadinessCheck

    def met(self, starting: StartingComponent) -> bool:
        """Whether it is ready now."""
        return RUNS.met(starting) and self.own.met(starting)

    def lacks(self, starting: StartingComponent) -> str:
        """Return what it still waits for, in words."""
        return self.own.lacks(starting) if RUNS.met(starting) else "its container does not run"


def _loopback_url(starting: StartingComponent, port: str, path: str) -> str:
    return f"http://{LOOPBACK}:{starting.ports[port]}{path}"


def _instead_of(url: str, expected: str) -> str:
    """Return what a URL answers instead of what is wanted."""
    answer = _answer(url, most=0)
    return f"{url} answers {answer[0]} instead of {expected}" if answer else f"{url} does not answer"


def _answers_well(url: str) -> bool:
    """Whether a URL of HTTP answers a GET with a status from 200 to 299."""
    status, _ = _answer(url, most=0) or (0, "")
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def _answer(url: str, most: int) -> tuple[int, str] | None:
    """Return the status and the first bytes of the body of a server's answer to a GET; None without an answer."""
    try:
        with plain().stream("GET", url) as response:
            return response.status_code, asking.first_bytes(response, most).decode(errors="replace") if most else ""
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


def announcements(text: str) -> dict[str, object]:
    """Return the values that a program printed in lines of JSON objects.

    Only whole lines count, and a key's first value.
    """
    stated: dict[str, object] = {}
    for announcement in _objects(text):
        stated = announcement | stated
    return stated


def _objects(text: str) -> Iterator[dict[str, object]]:
    for line in text.split("\n")[:-1]:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(line) if line.startswith("{") else None
            if isinstance(parsed, dict):
                yield parsed
