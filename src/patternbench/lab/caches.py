"""Where what is made once for many runs is kept: in the cache folder of the user."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from patternbench.lab.processes import absolute

SHORT = 12
"""Hex digits of a hash that tell one content from another."""


def folder() -> Path:
    """Our folder in the user's cache."""
    return Path(absolute(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")) / "patternbench"


def short_hash(*contents: bytes) -> str:
    """A short hash of contents."""
    sha256 = hashlib.sha256()
    for content in contents:
        sha256.update(content)
    return sha256.hexdigest()[:SHORT]
