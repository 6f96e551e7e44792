"""Processes that never outlive patternbench, however it ends.

Each runs under the engine's guard, which ends the whole family of a process when our end of a pipe closes. So
Ctrl-C, an exception and even SIGKILL of this process leave nothing behind.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

import psutil

from patternbench import interrupts
from patternbench.lab.software import engine
from patternbench.lab.software.jvm_crash import crash_lines
from patternbench.terms.units import Duration

TAIL_LINES = 5
TAIL_BYTES = 1 << 16
LONGEST_LINE = 500
"""How many characters of a line a message repeats."""
MOST_READ = 1 << 20
"""How much of a log is read at once."""
FRAME = "at "
"""How a line of a stack trace begins, in Java and JavaScript."""
GRACE = Duration.parse("2s")
"""How long a family has between being asked and being made to end, where nothing else is said."""
TERMINATE = "SIGTERM"
PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
"""Variables by which programs are told of a proxy, in small letters or in capitals."""
HERE = "127.0.0.1,localhost,::1"
AFTER_GRACE_S = 3.0
"""How long the guard has after that, before it is killed itself."""


def absolute(path: str | Path) -> str:
    """Return a user's path in absolute form for our processes, each of which runs in its own folder."""
    return str(Path(path).absolute())


def environment(ours: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process: ours with its own, in which ours sends no call on this machine to a proxy.

    All that the lab starts is at loopback addresses, which a proxy of a company cannot reach. A proxy that a system
    file names itself is meant, and stays.
    """
    whole = {**ours, **own}
    if any(map(_is_proxy, own)) or not any(value for name, value in ours.items() if _is_proxy(name)):
        return whole
    kept = whole.get("no_proxy") or whole.get("NO_PROXY") or ""
    direct = kept if kept == "*" else ",".join(filter(None, [kept, HERE]))
    return {**whole, "no_proxy": direct, "NO_PROXY": direct}


def _is_proxy(name: str) -> bool:
    return name.lower() in PROXIES


class StartError(Exception):
    """A process did not come up: which, why, and the last lines that it wrote."""


class SilentProcessError(Exception):
    """A process has written nothing for longer than allowed."""


class Process:
    """A running process with its log file in a folder; ends when closed. Without a folder it has no log."""

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: Path | None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        *,
        grace: Duration = GRACE,
        stop: str = TERMINATE,
        piped: bool = True,
    ) -> None:
        """``stop`` is the signal that asks it to end.

        ``piped``: its standard output is read as ``lines``, which someone must do; else it goes to the log.
        """
        guarded = [engine.binary(), "guard", "--grace", f"{grace.us}us", "--", *command]
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = Path(os.devnull) if folder is None else folder / f"{name}.log"
        self._grace, self._stop, self._requested = grace, stop, False
        self._output = self.log.open("ab")
        self.begun = self._output.tell()
        self._guard = subprocess.Popen(
            guarded,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if piped else self._output,
            stderr=self._output,
            cwd=cwd or folder,
            env=environment(os.environ, env or {}),
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process id of the guard, whose end is the process's end."""
        return self._guard.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._guard.poll() is None

    @property
    def code(self) -> int | None:
        """The code that it ended with; None while it runs."""
        return self._guard.poll()

    def family(self) -> list[psutil.Process]:
        """Return the process itself, first, and all that descend from it, without the guard; empty once it is gone."""
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.pid)
            children, below = own.children(), own.children(recursive=True)
            # Orphans become children of the guard.
            return sorted(below, key=lambda process: (process not in children, _born(process)))
        return []

    def signal(self, name: str) -> None:
        """Send the process itself a signal by its name (``SIGQUIT``); nothing where it has ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in self.family()[:1]:
                process.send_signal(signal.Signals[name])

    def ended(self, timeout: float) -> bool:
        """Whether it ends by itself within this many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(timeout)
        return not self.alive

    def lines(self, silence: float | None = None) -> Iterator[bytes]:
        """Its standard output, line by line, to the end.

        Raises SilentProcessError if nothing comes for this many seconds, and in a thread once the command is told to
        end. None waits for as long as it runs.
        """
        assert self._guard.stdout is not None
        handle, rest = self._guard.stdout.fileno(), b""
        while True:
            _await_readable(handle, silence)
            read = os.read(handle, 1 << 16)
            *whole, rest = (rest + read).split(b"\n")
            yield from whole
            if not read:
                return

    def ask_to_end(self) -> None:
        """Ask it to end; returns immediately."""
        if self._stop == TERMINATE:
            self._let_go()
        elif not self._requested:
            self.signal(self._stop)
        self._requested = True

    def _let_go(self) -> None:
        """Let the guard end the whole family: by SIGTERM, and after the grace by SIGKILL."""
        if self._guard.stdin:
            with contextlib.suppress(OSError):
                self._guard.stdin.close()

    def why_not(self) -> str:
        """Why a process didn't come up or went away, as far as known."""
        state = "did not come up" if self.alive else f"ended with code {self._guard.returncode}"
        return f"{self.name} {state}: {self.tail() or 'it wrote nothing'}"

    def written(self) -> str:
        """Return the beginning of its log since it was started."""
        return self.read(self.begun).decode(errors="replace")

    def read(self, at: int) -> bytes:
        """Return what its log holds from a place on, up to a size."""
        with contextlib.suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(at)
            return log.read(MOST_READ)
        return b""

    def tail(self) -> str:
        """Return the last lines of its log, without frames of stack traces, which would hide the message."""
        lines = [_cut(line.strip()) for line in self._last().splitlines()]
        last = [line for line in lines if line and not line.startswith(FRAME)][-TAIL_LINES:]
        return " | ".join(crash_lines(lines) or last)

    def _last(self) -> str:
        """Return the end of its log: a process may have written gigabytes."""
        with contextlib.suppress(FileNotFoundError):
            return self.read(max(self.begun, self.log.stat().st_size - TAIL_BYTES))[:TAIL_BYTES].decode(
                errors="replace"
            )
        return ""

    def close(self) -> None:
        """End it and all that it started; returns when they are gone."""
        self.ask_to_end()
        if self._stop != TERMINATE:
            self.ended(self._grace.seconds)
        self._let_go()
        try:
            self._guard.wait(self._grace.seconds + AFTER_GRACE_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        if self._guard.stdout:
            self._guard.stdout.close()
        self._output.close()

    def __enter__(self) -> Process:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def _await_readable(handle: int, silence: float | None) -> None:
    """Return once something can be read; raises SilentProcessError after this time, or where it is no longer wanted."""
    deadline = math.inf if silence is None else time.monotonic() + silence
    while not select.select([handle], [], [], max(0.0, min(deadline - time.monotonic(), interrupts.GLANCE_S)))[0]:
        interrupts.check()
        if time.monotonic() >= deadline or (interrupts.is_asked() and not interrupts.in_main_thread()):
            raise SilentProcessError


class ReadLog:
    """The log of a process, of which each pattern is looked for in what has come since the last look alone."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._read_to: dict[str, int] = {}
        self._found: set[str] = set()

    def wrote(self, pattern: str) -> bool:
        """Whether a line matches a pattern."""
        if pattern not in self._found and any(re.search(pattern, piece, re.MULTILINE) for piece in self._news(pattern)):
            self._found.add(pattern)
        return pattern in self._found

    def _news(self, pattern: str) -> Iterator[str]:
        """Yield what has come, piece by piece; a line that isn't whole yet comes again.

        A longer line than a piece is cut.
        """
        read = b""
        while not read or len(read) == MOST_READ:
            at = self._read_to.get(pattern, self._process.begun)
            read = self._process.read(at)
            self._read_to[pattern] = at + (read.rfind(b"\n") + 1 or len(read) // MOST_READ * MOST_READ)
            yield read.decode(errors="replace")
            if not read:
                return


@contextlib.contextmanager
def bound_to(cpus: tuple[int, ...], name: str) -> Iterator[None]:
    """Run what this thread starts meanwhile only on these CPUs; on any if none are given.

    Raises StartError where this machine does not have them all for us.
    """
    before = os.sched_getaffinity(0)
    try:
        if cpus and not _bound(cpus):
            expected, here = (", ".join(map(str, sorted(numbers))) for numbers in (cpus, before))
            raise StartError(f"{name} cannot run on CPU {expected}: this run has CPU {here}")
        yield
    finally:
        os.sched_setaffinity(0, before)


def _bound(cpus: tuple[int, ...]) -> bool:
    """Bind this thread to CPUs; whether it has them all."""
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        return False
    return os.sched_getaffinity(0) == set(cpus)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def _born(process: psutil.Process) -> float:
    """When a process began; those that are gone meanwhile come last."""
    try:
        return float(process.create_time())
    except psutil.NoSuchProcess:
        return math.inf
