"""Files of lines that are only appended to: each is on disk before the next, and has the hash of the one before it.

A line is a JSON object. ``check`` is its own hash, ``before`` that of the line after which it was written, so that a
line that was changed, repeated or taken out shows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from patternbench.records.folder import LARGEST, sync_folder
from patternbench.records.seals import short_hash
from patternbench.study.text.files import read_bytes

CHECK, BEFORE = "check", "before"


def linked_line(stated: Mapping[str, object], before: str) -> dict[str, object]:
    """Return a line as it is written after the one with this hash; empty for the first."""
    linked = {**stated, BEFORE: before}
    return {**linked, CHECK: short_hash(linked)}


def append(path: Path, line: Mapping[str, object]) -> int:
    """Write a line, and return how long the file is, once it is on disk; on failure nothing of it stays."""
    new = not path.exists()
    size = 0 if new else path.stat().st_size
    try:
        with path.open("ab") as file:
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            length = file.tell()
        if new:
            sync_folder(path.parent)
    except OSError as error:  # that of a write names no file
        if path.exists():
            os.truncate(path, size)
        raise OSError(error.errno, error.strerror, str(path)) from None
    return length


def keep_whole(path: Path) -> None:
    """Cut off a line that a kill left half written."""
    if not os.path.lexists(path):
        return
    content = read_bytes(path, LARGEST)
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        os.truncate(path, whole)


def whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, without one that is half written at its end."""
    if not os.path.lexists(path):  # lexists: a broken link must not look like a new file
        return []
    return read_bytes(path, LARGEST).split(b"\n")[:-1]
