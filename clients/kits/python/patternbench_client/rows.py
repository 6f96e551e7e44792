"""Rows on their way from the users to the stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from patternbench_client.outcomes import Outcome

MOST = 10_000
"""The most rows of one batch."""
COLUMNS = ("user", "call", "attempt", "start_us", "duration_us", "outcome")

Row = tuple[int, int, int, int, int, Outcome]


class Rows:
    """What has come in since the last batch; ``taken`` counts all that went out."""

    def __init__(self) -> None:
        self._waiting: list[Row] = []
        self.add = self._waiting.append
        self.taken = 0

    def take(self) -> list[Row]:
        """Return what has come in since the last time."""
        rows = self._waiting[:]
        self._waiting.clear()
        self.taken += len(rows)
        return rows


def lines(rows: list[Row]) -> Iterator[bytes]:
    """One line of the stream for at most ``MOST`` rows each; an empty batch where there are none."""
    for first in range(0, max(1, len(rows)), MOST):
        columns = zip(*rows[first : first + MOST], strict=True) if rows else ((),) * len(COLUMNS)
        batch = {"batch": dict(zip(COLUMNS, columns, strict=True))}
        yield json.dumps(batch, separators=(",", ":")).encode() + b"\n"
