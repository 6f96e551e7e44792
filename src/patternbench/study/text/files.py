"""Opens all files that users name: only regular files, and only up to a size."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from patternbench.study.text.bounds import LARGEST
from patternbench.terms.problems import InputError, Problem, did_you_mean

MOST_SIBLINGS = 1000
"""How many names of a folder are searched for a similar one."""


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield a regular file, open for reading. Raises InputError if it can't be read or isn't a regular file.

    A pipe or a device is refused before it is read, because it may never begin or never end.
    """
    try:
        with open(path, "rb", opener=regular) as file:
            yield file
    except FileNotFoundError:
        hint = did_you_mean(Path(path).name, _siblings(Path(path).parent))
        raise InputError(Problem("there is no such file", file=str(path), hint=hint)) from None
    except IsADirectoryError:
        raise InputError(Problem("is a folder; a file is needed", file=str(path))) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(Problem(f"cannot be read: {why}", file=str(path))) from None


def read_bytes(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return the content of a regular file. Raises InputError if it has more than ``largest`` bytes."""
    with opened(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise InputError(Problem("is too large", file=str(path), allowed=f"at most {largest:,} bytes"))
    return content


def read_start(path: str | Path, most: int) -> bytes:
    """Return the first bytes of a regular file. Raises InputError if it can't be read."""
    with opened(path) as file:
        return file.read(most)


def read_text(path: str | Path, largest: int = 4 * LARGEST) -> str:
    """Return the text of a regular file. Raises InputError if it can't be read."""
    try:
        return read_bytes(path, largest).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(Problem("is not UTF-8 text", file=str(path))) from None


def problem_of(path: str | Path) -> Problem | None:
    """Why one of our programs couldn't read a file; None if it can."""
    try:
        with opened(path):
            return None
    except InputError as error:
        return error.problems[0]


def regular(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a file without waiting for a pipe's other end, and close it if it isn't a regular file."""
    handle = os.open(path, flags | os.O_NONBLOCK, mode)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    hint = "write what it gives to a file, and name that"
    raise InputError(Problem("is a pipe, a socket or a device; a file is needed", file=path, hint=hint))


def _siblings(folder: Path) -> list[str]:
    return [entry.name for entry in islice(folder.iterdir(), MOST_SIBLINGS)] if folder.is_dir() else []
