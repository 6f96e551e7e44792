"""How much of a component's log is read: its end for a message, and what is new for its readiness."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patternbench.lab.host import processes
from patternbench.lab.host.processes import LONGEST_LINE, TAIL_BYTES, Process, ReadLog


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """A process that was never started, with a log that the test writes."""
    made = object.__new__(Process)
    made.log, made.begun = tmp_path / "svc.log", 0
    made.log.touch()
    return made


def noting(requested: list[int]) -> Callable[[Process, int], bytes]:
    """Reads a log, and notes from where on."""
    read = Process.read

    def noted(process: Process, at: int) -> bytes:
        requested.append(at)
        return read(process, at)

    return noted


def test_the_last_words_of_a_flood_are_read_from_its_end(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[int] = []
    monkeypatch.setattr(Process, "read", noting(requested))
    process.log.write_bytes(b"flood\n" * 100_000 + b"the cause\n")
    assert process.tail().endswith("flood | the cause")
    assert requested == [process.log.stat().st_size - TAIL_BYTES]


def test_a_line_without_end_is_cut_in_a_message(process: Process) -> None:
    process.log.write_text("x" * 5_000_000)
    assert len(process.tail()) == LONGEST_LINE + len("...")


def test_a_log_is_read_on_where_its_readiness_was_looked_for_before(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[int] = []
    monkeypatch.setattr(Process, "read", noting(requested))
    log = ReadLog(process)
    process.log.write_text("starting\nalmo")
    assert not log.wrote("^almost ready$")
    with process.log.open("a") as more:
        more.write("st ready\n")
    assert log.wrote("^almost ready$")
    assert log.wrote("^almost ready$"), "what was seen once stays seen"
    assert requested == [0, len("starting\n")]


def test_a_line_beyond_the_first_piece_of_a_log_makes_ready(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST_READ", 64)
    process.log.write_text("noise\n" * 100 + "ready\n")
    assert ReadLog(process).wrote("^ready$")


def test_a_long_line_without_end_does_not_hold_readiness_up(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST_READ", 64)
    process.log.write_text("x" * 640 + "\nready\n")
    assert ReadLog(process).wrote("^ready$")


def test_a_line_that_comes_in_many_pieces_is_read_as_one(tmp_path: Path) -> None:
    long = 3 * (1 << 16)
    words = f"import sys; sys.stdout.write('first\\n' + 'x' * {long} + '\\nlast\\n')"
    with Process("told", [sys.executable, "-c", words], tmp_path) as process:
        assert list(process.lines(silence=30)) == [b"first", b"x" * long, b"last"]
