"""How many bytes of files a component keeps in its folder, without its logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from patternbench.lab.host.running import RunningComponent

MOST_FILES = 20_000
"""A component with more isn't measured: looking at them all would take as long as a short round."""
LOG = ".log"


def bytes_of(running: RunningComponent) -> int | None:
    """Return the size of a component's files; None for too many, or where they can't be read."""
    logs = running.folder / running.launch.log if running.launch.log else None
    try:
        sizes = list(islice(_sizes(running.folder, logs), MOST_FILES + 1))
    except OSError:
        return None
    return sum(sizes) if len(sizes) <= MOST_FILES else None


def _sizes(folder: Path, logs: Path | None) -> Iterator[int]:
    """Yield the size of each file but the logs. A file that goes away meanwhile has none."""
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(path, name) != logs]
        for name in files:
            if not name.endswith(LOG):
                yield _size(Path(path, name))


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:
        return 0
