"""The files of a caller's configuration, as ``import-config`` and ``init`` read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patternbench.configurations.reading.products import Configurations
from patternbench.study.text.files import read_text

LARGEST = 4_000_000
"""Bytes of a file at most; YAML, which is slow to read, may have fewer."""


def read(paths: Sequence[Path]) -> Configurations:
    """Return what files hold. Raises InputError where one can't be read, or is of no product that is known."""
    found = Configurations()
    for path in paths:
        found.add(str(path), read_text(path, LARGEST))
    return found
