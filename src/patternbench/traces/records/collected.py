"""The spans of a round as they are kept: ``spans.parquet``, and in ``received.json`` what came and was not kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench.observe.seam import ObservationError, RoundFiles
from patternbench.records import attempts
from patternbench.records.folder import Stamp, stamp
from patternbench.traces.analyze.calls import mean_calls, per_request
from patternbench.traces.analyze.trees import Forest, forest
from patternbench.traces.columns import schema

SPANS, COUNTS = "spans.parquet", "received.json"
OF_ATTEMPTS = ["start_us", "end_us", "outcome", "warm_up", "success"]
"""The columns of attempts that are needed along with spans."""


class SpanCounts(BaseModel):
    """What came during a round (``receive.spool.ReceivedTraces``), of which ``share`` of the requests was traced.

    ``measured_from_ns`` is the end of the warm-up (Unix time); 0 where spans have another clock, as in older runs.
    """

    model_config = ConfigDict(frozen=True)

    share: float
    requests: int
    spans: int
    kept: int
    refused: Mapping[str, int]
    left_out: Mapping[str, int]
    measured_from_ns: int = 0
    set_back: int = 0


@dataclass(frozen=True)
class SpanRecords:
    """The spans of a round or a counting pass (columns of ``traces.columns``), and what came of them."""

    spans: pd.DataFrame
    counts: SpanCounts

    @cached_property
    def forest(self) -> Forest:
        """Its requests, without those of the warm-up."""
        return forest(_measured(self.spans, self.counts.measured_from_ns))

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row per request (``analyze.calls``)."""
        return per_request(self.forest.requests)


@dataclass(frozen=True)
class TracedRound:
    """What is known of a round by traces.

    ``counting`` has the calls per request by type of its scenario's counting pass, if there is one. Of the attempts,
    ``answered_s`` is the mean time of those that were answered, in seconds, and ``succeeded`` how many were good, both
    without the warm-up.
    """

    own: SpanRecords
    counting: Mapping[str, float] | None
    answered_s: float
    succeeded: int

    @property
    def calls(self) -> Mapping[str, float]:
        """Calls per request by type, mean: of the counting pass, else of the round itself."""
        return mean_calls(self.own.requests) if self.counting is None else self.counting


@cache
def nothing() -> SpanRecords:
    """Return the records of a round without a traced request."""
    counts = SpanCounts(share=0, requests=0, spans=0, kept=0, refused={}, left_out={})
    return SpanRecords(schema().empty_table().to_pandas(), counts)


def read(kept: RoundFiles) -> TracedRound | None:
    """Return what was kept of a round, and of the counting pass of its scenario; None where nothing was traced.

    Raises ObservationError.
    """
    own, counting = kept_in(kept.folder), _calls_of_pass(kept.counting)
    if own is None and counting is None:
        return None
    counted = own or nothing()
    return TracedRound(counted, counting, *_of_attempts(kept.attempts, whole=not counted.counts.measured_from_ns))


def kept_in(folder: Path) -> SpanRecords | None:
    """Return the spans in a folder; None where none were to be kept. Raises ObservationError where they are damaged."""
    return records(folder) if is_kept(folder) else None


def is_kept(folder: Path) -> bool:
    """Whether spans were to be kept in a folder, be it none."""
    return (folder / COUNTS).is_file()


def _calls_of_pass(folder: Path | None) -> Mapping[str, float] | None:
    """Return the calls per request of a counting pass; every round of its scenario asks for them."""
    if folder is None or not is_kept(folder):
        return None
    return _calls_in(folder, tuple(stamp(file) for file in (folder / COUNTS, folder / SPANS) if file.is_file()))


@cache
def _calls_in(folder: Path, _stamped: tuple[Stamp, ...]) -> Mapping[str, float]:
    """Return the calls per request in a folder: counted once, as a pass may hold more spans than all its rounds."""
    return mean_calls(records(folder).requests)


def records(folder: Path) -> SpanRecords:
    """Return the spans in a folder; raises ObservationError where they are damaged."""
    try:
        counts = SpanCounts.model_validate_json((folder / COUNTS).read_bytes())
        table = pq.read_table(folder / SPANS)
    except (OSError, ValidationError, pa.ArrowException) as error:
        raise ObservationError(f"the spans in {folder.name} cannot be read: {str(error).splitlines()[0]}") from None
    if table.column_names != schema().names or table.num_rows != counts.kept:
        raise ObservationError(f"{SPANS} is not the table of the {counts.kept:,} spans that were kept")
    return SpanRecords(table.to_pandas(), counts)


def _measured(spans: pd.DataFrame, from_ns: int) -> pd.DataFrame:
    """Return the spans of the traces that began after the warm-up; a trace begins with its first span."""
    if not from_ns or spans.empty:
        return spans
    return spans[spans.groupby("trace_id")["start_ns"].transform("min") >= from_ns].reset_index(drop=True)


def _of_attempts(file: Path | None, whole: bool) -> tuple[float, int]:
    """Return the mean time of an answered attempt in seconds, and how many attempts were good.

    ``whole`` counts the good ones of the warm-up, too, where its spans cannot be told from the others.
    """
    if file is None or not file.is_file():
        return float("nan"), 0
    frame = attempts.read(file, OF_ATTEMPTS)
    measured = frame[~frame["warm_up"]]
    answered = measured[measured["outcome"] == "answered"]
    good = int((frame if whole else measured)["success"].sum())
    return float((answered["end_us"] - answered["start_us"]).mean()) / 1e6, good
