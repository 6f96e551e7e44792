"""Starts a check's command, shows what it says as it comes, and keeps it. What is running can be stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO

import psutil

NOT_INSTALLED, INTERRUPTED = 127, 130
"""What shells say of a program that is not there, and of one that Ctrl-C has ended."""


@dataclass
class Place:
    """Where a job's words go: the terminal, or a file while others are at work. It sums its commands' CPU time."""

    file: IO[str] | None = None
    cpu_s: float = 0.0

    def tell(self, text: str) -> None:
        """Say a text at once."""
        print(text, end="", file=self.file or sys.stdout, flush=True)


_place: ContextVar[Place | None] = ContextVar("place", default=None)
_running: set[subprocess.Popen[str]] = set()
_changing = threading.Lock()
_stopped = threading.Event()


@contextmanager
def place(file: IO[str] | None = None) -> Iterator[Place]:
    """Let what this thread says go to a file, or to the terminal without one."""
    token = _place.set(here := Place(file))
    try:
        yield here
    finally:
        _place.reset(token)


def kept() -> IO[str]:
    """Return a new file for what a job says; what it and its commands write stands in the order of writing."""
    return tempfile.TemporaryFile("a+", encoding="utf-8", errors="replace")


def tell(text: str) -> None:
    """Say a text where the job speaks that this thread carries out."""
    _here().tell(text)


def _here() -> Place:
    return _place.get() or Place()


def run(command: list[str], folder: str, show: Callable[[str], str] = str) -> tuple[int, str]:
    """Run a command; return its exit code and its standard output, of which ``show`` chooses what is printed."""
    here, lines = _here(), []
    try:
        process = _started(command, folder, here)
    except FileNotFoundError:
        here.tell(f"{command[0]} is not installed; type `make setup-test`\n")
        return NOT_INSTALLED, ""
    if process is None:
        return INTERRUPTED, ""
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            here.tell(show(line))
        here.cpu_s += _ended(process)
    return process.returncode, "".join(lines)


def _started(command: list[str], folder: str, here: Place) -> subprocess.Popen[str] | None:
    """Start a command; None where all is being stopped."""
    with _changing:
        if _stopped.is_set():
            return None
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=here.file, text=True, errors="replace"
        )
        _running.add(process)
        return process


def _ended(process: subprocess.Popen[str]) -> float:
    """Wait for a process; return the CPU time of it and of all that it waited for, in seconds."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except ChildProcessError:  # ``stop`` was quicker, and knows how it ended
        process.wait()
        return 0.0
    with _changing:
        process.returncode = os.waitstatus_to_exitcode(status)
        _running.discard(process)
    return usage.ru_utime + usage.ru_stime


def silent(_: str) -> str:
    """Show nothing of a line."""
    return ""


GRACE_S, END_S = 10.0, 5.0
"""How long a command has to tidy up after Ctrl-C, which reached it too, and then after SIGTERM."""


def stopped() -> bool:
    """Whether commands are being stopped, so that none is started any more."""
    return _stopped.is_set()


def stop() -> None:
    """Start no command any more, and end those that run, with all that they have started."""
    with _changing:
        _stopped.set()
    _, left = psutil.wait_procs(_at_work(), GRACE_S)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(left, END_S)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _at_work() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    with _changing:
        for process in _running:
            with suppress(psutil.NoSuchProcess):
                one = psutil.Process(process.pid)
                found += [one, *one.children(recursive=True)]
    return found
