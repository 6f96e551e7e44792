"""Processes that never outlive us, whatever happens to us.

Each runs under the engine's guard, which ends the whole family of a process when our end of a pipe closes. So
Ctrl-C, an exception and even SIGKILL of this process leave nothing behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from patternbench.lab import engine

TAIL_LINES = 5
GRACE_S = 5.0


def absolute(path: str | Path) -> str:
    """A path that a user gave, as a process of ours must be told it: each runs in a folder of its own."""
    return str(Path(path).absolute())


class StartError(Exception):
    """A process did not come up: which, why, and the last lines that it wrote."""


class Silence(Exception):  # noqa: N818
    """A process has said nothing for longer than it may."""


class Process:
    """A running process with its log file; ends when closed."""

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = folder / f"{name}.log"
        self._output = self.log.open("ab")
        self._guard = subprocess.Popen(
            [engine.binary(), "guard", "--grace", "2s", "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            cwd=cwd or folder,
            env={**os.environ, **(env or {})},
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

    def listening(self, timeout: float = 15.0) -> str:
        """The address of the line ``{"listening": "host:port"}`` that our own programs print when they are ready."""
        return str(self.announced("listening", timeout))

    def announced(self, name: str, timeout: float = 15.0) -> Any:
        """What a program says under ``name`` in the line of JSON that it prints when it is ready."""
        assert self._guard.stdout is not None
        readable, _, _ = select.select([self._guard.stdout], [], [], timeout)
        line = self._guard.stdout.readline() if readable else b""
        try:
            return json.loads(line)[name]
        except (ValueError, KeyError, TypeError):
            raise StartError(self.why_not()) from None

    def ended(self, timeout: float) -> bool:
        """Whether it ends by itself within this many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(timeout)
        return not self.alive

    def lines(self, silence: float | None = None) -> Iterator[bytes]:
        """What it writes to its standard output, line by line, to the end.

        Raises Silence when nothing comes for so many seconds; None waits for as long as it runs.
        """
        assert self._guard.stdout is not None
        handle, rest = self._guard.stdout.fileno(), b""
        while True:
            readable, _, _ = select.select([handle], [], [], silence)
            if not readable:
                raise Silence
            read = os.read(handle, 1 << 16)
            *whole, rest = (rest + read).split(b"\n")
            yield from whole
            if not read:
                return

    def ask_to_end(self) -> None:
        """Have it told to end (SIGTERM, and SIGKILL when it does not); returns at once."""
        if self._guard.stdin:
            with contextlib.suppress(OSError):
                self._guard.stdin.close()

    def wait_for_port(self, port: int, timeout: float = 20.0) -> None:
        """Return once something listens on the loopback port; raise StartError when the process ends or time is up."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if not self.alive:
                raise StartError(self.why_not())
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.2):
                return
            time.sleep(0.02)
        raise StartError(self.why_not())

    def why_not(self) -> str:
        """What is known of a process that did not come up or that went away."""
        state = "did not come up" if self.alive else f"ended with code {self._guard.returncode}"
        return f"{self.name} {state}: {self.tail() or 'it wrote nothing'}"

    def tail(self) -> str:
        """The last lines that it wrote to its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(line.strip() for line in lines[-TAIL_LINES:])

    def close(self) -> None:
        """End it and all that it started; returns when they are gone."""
        self.ask_to_end()
        try:
            self._guard.wait(GRACE_S)
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


def free_port() -> int:
    """A loopback port that nothing uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
