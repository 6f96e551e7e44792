"""What is seen of work that a round has left behind, by sockets and processes of this machine."""

from __future__ import annotations

import itertools
import math
import os
import socket
from pathlib import Path

import pytest

from patternbench.lab import machine
from patternbench.lab.host import unfinished
from patternbench.lab.host.unfinished import NOTHING, SPAN_S, WITHIN_S, Work, left_at, once_done, seen


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_request_whose_caller_has_left_is_seen_until_it_is_read_and_closed(family: socket.AddressFamily) -> None:
    if family == socket.AF_INET6 and not Path("/proc/net/tcp6").exists():
        pytest.skip("no IPv6 here")
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        with socket.create_connection((host, port)) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert left_at([port]) == 0, "who still waits has not left"
        assert left_at([port]) == 1, "no one has read it yet"
        taken, _ = server.accept()
        assert left_at([port]) == 1, "no one has answered it yet"
        taken.close()
        assert left_at([port]) == 0


def test_a_closed_connection_to_another_port_is_none_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as ours:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        assert (left_at([port]), left_at([ours.getsockname()[1]])) == (1, 0)


def test_a_kernel_without_these_tables_shows_nothing(tmp_path: Path) -> None:
    assert left_at([80], tmp_path) == 0


def test_cpus_are_cpu_seconds_over_the_span_that_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {1: iter([1.0, 1.3]), 2: iter([5.0, 5.2]), 3: itertools.repeat(math.nan)}
    monkeypatch.setattr(machine, "seconds_below", lambda pid: next(taken[pid]))
    slept: list[float] = []
    work = seen([1, 2, 3], [], clock=iter([10.0, 10.5]).__next__, pause=slept.append)
    assert (work.cpus, work.left, slept) == (pytest.approx(1.0), 0, [SPAN_S])


def test_a_process_that_has_gone_meanwhile_does_not_count_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([9.0, math.nan])
    monkeypatch.setattr(machine, "seconds_below", lambda _: next(taken))
    assert seen([1], [], clock=iter([0.0, 1.0]).__next__, pause=lambda _: None).cpus == 0


def test_work_of_this_process_is_seen_as_its_cpu_time() -> None:
    def burn(_: float) -> None:
        until = machine.seconds_below(os.getppid()) + 0.1
        while machine.seconds_below(os.getppid()) < until:
            sum(range(100_000))

    assert seen([os.getppid()], [], pause=burn).cpus > 0


@pytest.mark.parametrize(
    ("looks", "found"),
    [
        ([Work(0.01, 0)], Work(0.01, 0)),
        ([Work(1.5, 3), Work(0.0, 1), Work(0.9, 0), Work(0.1, 0)], Work(0.1, 0)),
    ],
)
def test_the_wait_is_over_once_neither_cpus_nor_requests_show_work(looks: list[Work], found: Work) -> None:
    left = iter(looks)
    assert once_done(lambda: next(left), clock=lambda: 0.0) == found
    assert next(left, None) is None


def test_what_never_ends_is_told_after_the_bound() -> None:
    clock = iter([0.0, 1.0, WITHIN_S - 0.1, WITHIN_S + 0.1])
    work = once_done(lambda: Work(0.93, 12), clock=clock.__next__)
    assert not work.is_none
    assert str(work) == "it kept 0.9 CPUs busy and had 12 requests whose callers had left"
    assert str(Work(1.0, 0)) == "it kept 1.0 CPUs busy"
    assert NOTHING.is_none
    assert next(clock, None) is None


def test_what_idle_services_take_is_no_work() -> None:
    assert Work(unfinished.BUSY_CPUS - 0.01, 0).is_none
    assert not Work(unfinished.BUSY_CPUS, 0).is_none
