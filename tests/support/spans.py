"""Hand-made spans: times in ms from an arbitrary moment, ids in few letters."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from patternbench.traces.columns import schema
from patternbench.traces.records.collected import COUNTS, SPANS

BEGUN_NS = 1_700_000_000_000_000_000
NS_PER_MS = 1_000_000
EMPTY: dict[str, object] = {
    "error": False,
    "status": 0,
    "in_memory_calls": None,
    **dict.fromkeys(["method", "route", "path", "database", "schema", "statement", "messaging", "destination"], ""),
    **dict.fromkeys(["peer", "linked_trace", "linked_span", "parent_id"], ""),
}


def span(
    span_id: str, kind: str, service: str, times: tuple[float, float], parent: str = "", **more: object
) -> dict[str, object]:
    """A span of trace ``t``, from and to so many ms; ``more`` are further columns."""
    start, end = (BEGUN_NS + round(moment * NS_PER_MS) for moment in times)
    own = {"trace_id": "t", "span_id": span_id, "parent_id": parent, "service": service, "kind": kind, "name": span_id}
    return {**EMPTY, **own, "start_ns": start, "end_ns": end, **more}


def table(*spans: dict[str, object]) -> pd.DataFrame:
    """Spans as a table of the receiver's columns."""
    frame = pd.DataFrame(list(spans), columns=schema().names)
    return frame.astype({"in_memory_calls": float})


def keep(folder: Path, spans: pd.DataFrame) -> Path:
    """Keep spans as those of a round, all of whose requests were traced, in a new folder; returns it."""
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pandas(spans, schema(), preserve_index=False), folder / SPANS)
    counts = {"share": 1, "requests": 1, "spans": len(spans), "kept": len(spans), "refused": {}, "left_out": {}}
    (folder / COUNTS).write_text(json.dumps(counts))
    return folder
