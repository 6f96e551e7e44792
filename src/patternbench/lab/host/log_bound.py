"""The logs of components are bounded on disk: the middle of one that grows beyond that is given back.

Its beginning says how the component started, its end why it died; both are kept. What lies between is punched out of
the file (fallocate), so that the places of all other bytes, and the writers, stay as they are. A note in the file says
what is missing. When all processes have ended, the hole is closed.
"""

from __future__ import annotations

import ctypes
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

HEAD, TAIL = 8 << 20, 24 << 20
"""Bytes that are kept of a log's beginning and of its end."""
STEP = 8 << 20
"""Bytes beyond that which are cut at once."""
GLANCE_S = 0.1
"""How often the sizes of logs are looked at."""
PUNCH_KEEPING_SIZE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE, FALLOC_FL_KEEP_SIZE of linux/falloc.h
NOTE = "\n[patternbench: {:,} bytes are left out here, as a log keeps its first {:,} and its last {:,} bytes]\n"
ROOM = 200
"""Bytes at the beginning of the hole that the note takes."""


@dataclass
class BoundedLog:
    """A log and the first byte after what was left out of it; 0 as long as it is whole."""

    path: Path
    cut_to: int = 0

    def cut(self) -> None:
        """Give back what lies between beginning and end, if the log has grown by a step beyond both."""
        size = self.path.stat().st_size if self.path.is_file() else 0
        if size - max(self.cut_to, HEAD) < TAIL + STEP:
            return
        end = (size - TAIL) // STEP * STEP
        with self.path.open("r+b") as log:
            if _punched(log.fileno(), max(self.cut_to, HEAD), end):
                self.cut_to = end
                log.seek(HEAD)
                log.write(_note(end - HEAD).ljust(ROOM).encode())

    def close_up(self) -> None:
        """Make the file as short as what is left in it; no one may write to it any more."""
        if not self.cut_to or not self.path.is_file():
            return
        draft = self.path.with_name(f"{self.path.name}.tmp")
        with self.path.open("rb") as log, draft.open("wb") as short:
            short.write(log.read(HEAD))
            short.write(_note(self.cut_to - HEAD).encode())
            log.seek(self.cut_to)
            shutil.copyfileobj(log, short)
        draft.replace(self.path)
        self.cut_to = 0


class LogKeeper:
    """Keeps the logs of processes within their bound, in its own thread, until it is closed."""

    def __init__(self) -> None:
        self._logs: dict[Path, BoundedLog] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, path: Path) -> None:
        """Bound a log from now on."""
        with self._lock:
            self._logs.setdefault(path, BoundedLog(path))
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, daemon=True, name="logs")
                self._thread.start()

    def cut(self) -> list[str]:
        """Return the names of those whose log is not whole."""
        return [path.stem for path, log in self._known() if log.cut_to]

    def close(self) -> None:
        """Watch no longer, and close the holes; every process that writes has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        for _, log in self._known():
            _quietly(log.close_up)

    def _keep(self) -> None:
        while not self._over.wait(GLANCE_S):
            for _, log in self._known():
                _quietly(log.cut)

    def _known(self) -> Iterable[tuple[Path, BoundedLog]]:
        with self._lock:
            return list(self._logs.items())


def _quietly(act: Callable[[], None]) -> None:
    """Ignore a log that can't be cut (the disk is full, the folder was deleted): it must not cost a round."""
    try:
        act()
    except OSError:
        return


def _note(missing: int) -> str:
    return NOTE.format(missing, HEAD, TAIL)


def _punched(handle: int, begin: int, end: int) -> bool:
    """Whether the file system has given back these bytes of a file; a few cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    call = library.fallocate64
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return bool(call(handle, PUNCH_KEEPING_SIZE, begin, end - begin) == 0)
