"""How a host knows that a component is ready: each way says no before, and yes once it is."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from patternbench.lab.host.ready import (
    Answers,
    Http,
    LogLine,
    Port,
    ReadyLine,
    SuccessfulCommand,
    SuccessiveReadiness,
    announcements,
)


@dataclass
class StartingComponent:
    """A component of which the test says what can be seen."""

    ports: dict[str, int] = field(default_factory=dict)
    text: str = ""
    works: bool = False

    def written(self) -> str:
        return self.text

    def wrote(self, pattern: str) -> bool:
        return re.search(pattern, self.written(), re.MULTILINE) is not None

    def succeeds(self, command: tuple[str, ...], seconds: float) -> bool:
        assert command
        assert seconds > 0
        return self.works


@contextmanager
def serving(answer: Callable[[socket.socket], Any]) -> Iterator[StartingComponent]:
    """A server that does one thing with each caller."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    answer(caller)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield StartingComponent({"http": server.getsockname()[1]})
        finally:
            server.shutdown(socket.SHUT_RDWR)


def nothing(_: socket.socket) -> None:
    """Hang up."""


def says(text: bytes) -> Callable[[socket.socket], None]:
    return lambda caller: caller.sendall(text)


def answers(status: int, body: bytes = b"") -> Callable[[socket.socket], None]:
    def answer(caller: socket.socket) -> None:
        caller.recv(4096)
        caller.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    return answer


@pytest.fixture
def closed() -> StartingComponent:
    """A component whose port no one listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return StartingComponent({"http": probe.getsockname()[1]})


def test_a_port_is_ready_once_it_accepts(closed: StartingComponent) -> None:
    assert not Port("http").met(closed)
    with serving(nothing) as starting:
        assert Port("http").met(starting)


def test_a_port_that_accepts_is_not_ready_before_it_greets() -> None:
    with serving(nothing) as starting:
        assert not Port("http", greets=True).met(starting)
    with serving(says(b"5.5.5-MariaDB")) as starting:
        assert Port("http", greets=True).met(starting)


@pytest.mark.parametrize(
    ("status", "below", "ready"), [(200, 500, True), (404, 500, True), (503, 500, False), (404, 400, False)]
)
def test_http_is_ready_once_it_answers_below_the_bound(status: int, below: int, ready: bool) -> None:
    with serving(answers(status)) as starting:
        assert Http("http", "/health", below).met(starting) is ready


@pytest.mark.parametrize(
    ("status", "pattern", "ready"), [(200, '"version": "2"', True), (200, '"version": "3"', False), (404, "2", False)]
)
def test_an_answer_counts_once_it_is_200_and_its_body_matches(status: int, pattern: str, ready: bool) -> None:
    with serving(answers(status, b'{"version": "2"}')) as starting:
        assert Answers("http", "/config", pattern).met(starting) is ready


def test_a_port_that_accepts_is_not_ready_before_it_answers_http(closed: StartingComponent) -> None:
    assert not Http("http").met(closed)
    with serving(nothing) as starting:
        assert not Http("http").met(starting)
    with serving(says(b"nonsense\r\n\r\n")) as starting:
        assert not Http("http").met(starting)


@pytest.mark.parametrize(
    ("text", "ready"),
    [
        ("", False),
        ('{"listening": "127.0.0.1:1"', False),
        ('{"listening": "127.0.0.1:1"}', False),
        ('starting\n{"listening": "127.0.0.1:1"}\n', True),
        ('{"ready": 1}\n', False),
        ("[1]\n{\n", False),
    ],
)
def test_an_announcement_is_a_whole_line_of_json_with_its_key(text: str, ready: bool) -> None:
    assert ReadyLine("listening").met(StartingComponent(text=text)) is ready


def test_what_was_announced_first_counts() -> None:
    assert announcements('{"listening": "a", "more": 1}\nx\n{"listening": "b"}\n') == {"listening": "a", "more": 1}


def test_a_line_of_the_log_is_looked_for_by_its_pattern() -> None:
    way = LogLine(r"^Started .* in \d+ seconds")
    assert not way.met(StartingComponent(text="Starting\n"))
    assert way.met(StartingComponent(text="x\nStarted Shop in 5 seconds\n"))


def test_a_probe_of_the_components_own_decides() -> None:
    assert not SuccessfulCommand(("redis-cli", "ping")).met(StartingComponent())
    assert SuccessfulCommand(("redis-cli", "ping")).met(StartingComponent(works=True))


def test_urls_are_asked_after_the_own_way_and_each_once_those_before_are_answered_well(
    closed: StartingComponent,
) -> None:
    with serving(answers(204)) as well, serving(answers(503)) as badly:
        good, bad = (f"http://127.0.0.1:{one.ports['http']}/list?x=1" for one in (well, badly))
        up = StartingComponent(text="up\n")
        assert SuccessiveReadiness(LogLine("up"), (good, good)).met(up)
        assert not SuccessiveReadiness(LogLine("up"), (good, bad)).met(up)
        assert not SuccessiveReadiness(LogLine("down"), (good,)).met(up)
        assert not SuccessiveReadiness(LogLine("up"), (f"http://127.0.0.1:{closed.ports['http']}",)).met(up)


def test_what_is_not_ready_says_what_it_still_waits_for(closed: StartingComponent) -> None:
    with serving(answers(302)) as starting:
        url = f"http://127.0.0.1:{starting.ports['http']}/items"
        assert Http("http", "/items", status=200).lacks(starting) == f"{url} answers 302 instead of 200"
        assert Answers("http", "/items", "up").lacks(starting) == f"{url} answers 302 instead of 200 with up"
        assert SuccessiveReadiness(Port("http"), (url,)).lacks(starting) == f"{url} answers 302 instead of 200 to 299"
    port = closed.ports["http"]
    assert Http("http").lacks(closed) == f"http://127.0.0.1:{port}/ does not answer"
    assert SuccessiveReadiness(Port("http"), ()).lacks(closed) == f"nothing accepts connections at 127.0.0.1:{port}"
    assert LogLine("^Started").lacks(closed) == "no line of its output matches ^Started"
    assert ReadyLine("listening").lacks(closed) == "it has not printed `listening`"
    assert SuccessfulCommand(("pg_isready",)).lacks(closed) == "`pg_isready` does not succeed"
