"""Lines of a journal that a test alters: without what tells that they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from patternbench.records.lines import BEFORE, CHECK


def altered(line: Mapping[str, Any], **changes: object) -> dict[str, Any]:
    """Return a line with changes, as one of an earlier version: such lines have no hash that would tell of them."""
    return {name: value for name, value in {**line, **changes}.items() if name not in (CHECK, BEFORE)}
