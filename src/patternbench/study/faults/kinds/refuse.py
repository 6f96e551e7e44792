"""Refuse: no one listens."""

from __future__ import annotations

from patternbench.study.faults.kind import Kind


class Refuse(Kind):
    """Refuse new connections, and reset those that are open, as if no one were there."""
