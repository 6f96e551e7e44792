"""Keeps the spans of a round on disk: bounded in memory and in number, and every span that is not kept is counted.

The runner says when a round begins and ends. Spans outside of a round (probes of readiness, what a component
does by itself) are counted, but not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from patternbench.traces.columns import schema
from patternbench.traces.receive.otlp import Sender, SpanBatch, SpanRow

ROWS_IN_MEMORY = 5_000
CLOCK_BACK_NS = 1_000_000_000
"""How much earlier than others that had come a process's spans end, so that its clock must have been set back.

A process sends spans in the order in which they end. We ask for every span within 200 ms, so processes that cannot be
told apart come out of order by less than this.
"""


@dataclass
class ReceivedTraces:
    """The requests and spans received in a round, and why some weren't kept.

    ``requests`` are those that were understood, ``refused`` counts the others by reason; ``spans`` are those of the
    former, ``left_out`` counts those of them that were not kept. ``set_back`` are those that a process made by a clock
    that had been set back since it sent others, kept or not.
    """

    requests: int = 0
    spans: int = 0
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    set_back: int = 0

    def as_json(self) -> dict[str, object]:
        """Return the counts as plain data."""
        return {**vars(self), "refused": dict(self.refused), "left_out": dict(self.left_out)}


class Spool:
    """The spans of the round that is under way, in one Parquet file of a folder; at most ``most`` of them."""

    def __init__(self, folder: Path, most: int) -> None:
        self.path = folder / "spans.parquet"
        self.received = ReceivedTraces()
        self._most = most
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[SpanRow] = []
        self._seen: set[tuple[str, str]] = set()
        self._since_ns = 0
        self._latest_ns: dict[Sender, int] = {}

    @property
    def open(self) -> bool:
        """Whether a round is under way."""
        return self._writer is not None

    def begin(self, since_ns: int = 0) -> None:
        """Begin a round: spans of an earlier one are dropped, and spans from before ``since_ns`` aren't part of it.

        Exporters hold spans back, so those of probes of readiness may come when a round has begun; and a service may go
        on with a probe whose answer has been read.
        """
        self.end()
        self.received, self._seen, self._since_ns = ReceivedTraces(), set(), since_ns
        self._latest_ns = {}
        self._writer = pq.ParquetWriter(self.path, schema(), compression="zstd")

    def end(self) -> None:
        """End the round, whose file is whole then."""
        if self._writer is not None:
            self._flush()
            self._writer.close()
            self._writer = None

    def refuse(self, why: str) -> None:
        """Take note of a request that could not be understood."""
        self.received.refused[why] += 1

    def take(self, batch: SpanBatch) -> Counter[str]:
        """Take the spans of a request; how many of them are not kept, by reason."""
        left_out, kept = Counter(batch.refused), dict[Sender, int]()
        for row, sender in zip(batch.rows, batch.senders, strict=True):
            set_back = row.end_ns + CLOCK_BACK_NS < self._latest_ns.get(sender, 0)
            why = self._why_not(row, set_back)
            self.received.set_back += set_back and why != "duplicate"
            if why:
                left_out[why] += 1
            else:
                self._keep(row)
                kept[sender] = max(row.start_ns, kept.get(sender, 0))
        # Only now, as within a request spans may have any order; of what is kept, whose number is bounded.
        self._latest_ns |= {sender: max(at, self._latest_ns.get(sender, 0)) for sender, at in kept.items()}
        self.received.requests += 1
        self.received.spans += len(batch.rows) + batch.refused.total()
        self.received.left_out += left_out
        return left_out

    def _why_not(self, row: SpanRow, set_back: bool) -> str:
        if not self.open:
            return "outside_a_round"
        if row.start_ns < self._since_ns:
            return "clock_set_back" if set_back else "before_the_round"
        if (row.trace_id, row.span_id) in self._seen:
            return "duplicate"
        return "too_many" if self.received.kept >= self._most else ""

    def _keep(self, row: SpanRow) -> None:
        self._seen.add((row.trace_id, row.span_id))
        self._rows.append(row)
        self.received.kept += 1
        if len(self._rows) >= ROWS_IN_MEMORY:
            self._flush()

    def _flush(self) -> None:
        assert self._writer is not None
        if self._rows:
            self._writer.write_table(table(self._rows))
            self._rows = []


def table(rows: Sequence[SpanRow]) -> pa.Table:
    """Spans as a table of our columns."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema())
    arrays = [pa.array(values, kind.type) for values, kind in zip(columns, schema(), strict=True)]
    return pa.table(arrays, schema=schema())
