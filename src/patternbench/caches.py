"""The folder of files that are made once for many runs: the user's cache folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

SHORT = 12
"""Hex digits of a hash that tell one content from another."""
NO_CACHE = (OSError,)
"""The errors of a missing cache, or of a user without a home."""


def folder() -> Path:
    """Our folder in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache").absolute() / "patternbench"


def home() -> Path:
    """Return the user's home. Raises OSError for a user without one, such as a bare number in a container."""
    try:
        return Path.home()
    except RuntimeError:
        raise OSError("this user has no home; set HOME or XDG_CACHE_HOME to a folder of your own") from None


def short_hash(*contents: bytes) -> str:
    """Return a short hash of contents."""
    sha256 = hashlib.sha256()
    for content in contents:
        sha256.update(content)
    return sha256.hexdigest()[:SHORT]


def kept_text(name: str, make: Callable[[], str]) -> str:
    """Return a text that takes a moment to make, from the cache if it is there whole.

    A line after the text holds its hash, so that a damaged copy is made again. A cache that cannot be read or written
    costs time and nothing else.
    """
    if (text := _read(name)) is not None:
        return text
    made = make()
    with suppress(*NO_CACHE):
        _write(folder() / name, made)
    return made


def _read(name: str) -> str | None:
    try:
        content, _, digest = (folder() / name).read_bytes().rpartition(b"\n")
    except NO_CACHE:
        return None
    return content.decode() if digest.decode("ascii", "replace") == short_hash(content) else None


def _write(path: Path, text: str) -> None:
    """Put a text in its place atomically, so that no one reads an incomplete one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        draft = Path(file.name)
    try:
        draft.write_bytes(b"\n".join((content, short_hash(content).encode())))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
