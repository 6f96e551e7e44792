"""The spans of a round as they are kept: ``spans.parquet``, and in ``received.json`` what came and was not kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench.observe.seam import Kept, ObservationError
from patternbench.records import attempts
from patternbench.traces.analyze.calls import per_request
from patternbench.traces.analyze.trees import Forest, forest
from patternbench.traces.columns import SCHEMA

SPANS, COUNTS = "spans.parquet", "received.json"


class SpanCounts(BaseModel):
    """What came during a round (``receive.spool.Received``), of which ``share`` of the requests was traced."""

    model_config = ConfigDict(frozen=True)

    share: float
    requests: int
    spans: int
    kept: int
    refused: Mapping[str, int]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class SpanRecords:
    """The spans of a round or a counting pass (columns of ``traces.columns``), and what came of them."""

    spans: pd.DataFrame
    counts: SpanCounts

    @cached_property
    def forest(self) -> Forest:
        """Its requests."""
        return forest(self.spans)

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row per request (``analyze.calls``)."""
        return per_request(self.forest.requests)


@dataclass(frozen=True)
class TracedRound:
    """What is known of a round by traces.

    ``counting`` is the counting pass of its scenario, if there is one. Of the attempts, ``answered_s`` is the mean
    time of those that were answered, in seconds and without the warm-up, and ``succeeded`` how many of all were good.
    """

    own: SpanRecords
    counting: SpanRecords | None
    answered_s: float
    succeeded: int

    @property
    def counted(self) -> SpanRecords:
        """Where calls are counted: in the counting pass, else in the round itself."""
        return self.counting or self.own


NOTHING = SpanRecords(
    SCHEMA.empty_table().to_pandas(), SpanCounts(share=0, requests=0, spans=0, kept=0, refused={}, left_out={})
)
"""What is known of a round of which no request is traced."""


def read(kept: Kept) -> TracedRound | None:
    """What was kept of a round, and of the counting pass of its scenario; None where nothing was traced.

    Raises ObservationError.
    """
    own, counting = _where_kept(kept.folder), _where_kept(kept.counting)
    if own is None and counting is None:
        return None
    return TracedRound(own or NOTHING, counting, *_of_attempts(kept.attempts))


def _where_kept(folder: Path | None) -> SpanRecords | None:
    return records(folder) if folder and (folder / COUNTS).is_file() else None


def records(folder: Path) -> SpanRecords:
    """The spans in a folder; raises ObservationError where they are damaged."""
    try:
        counts = SpanCounts.model_validate_json((folder / COUNTS).read_bytes())
        table = pq.read_table(folder / SPANS)
    except (OSError, ValidationError, pa.ArrowException) as error:
        raise ObservationError(f"the spans in {folder.name} cannot be read: {str(error).splitlines()[0]}") from None
    if table.column_names != SCHEMA.names or table.num_rows != counts.kept:
        raise ObservationError(f"{SPANS} is not the table of the {counts.kept:,} spans that were kept")
    return SpanRecords(table.to_pandas(), counts)


def _of_attempts(file: Path | None) -> tuple[float, int]:
    """The mean time of an answered attempt in seconds, and how many attempts were good."""
    if file is None or not file.is_file():
        return float("nan"), 0
    frame = attempts.read(file)
    answered = frame[(frame["outcome"] == "answered") & ~frame["warm_up"]]
    return float((answered["end_us"] - answered["start_us"]).mean()) / 1e6, int(frame["success"].sum())
