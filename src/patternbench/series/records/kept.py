"""The files that are kept of the series of a round: the samples as Parquet, and what was asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pydantic import BaseModel, ValidationError

from patternbench.observe import samples
from patternbench.observe.seam import ObservationError

ASKED = "asked.json"


@cache
def schema() -> pa.Schema:
    """Return the columns: per value its series, its labels as JSON, when (seconds from the round's start), what."""
    return pa.schema(
        [
            pa.field("series", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            pa.field("labels", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            pa.field("second", pa.float64(), nullable=False),
            pa.field("value", pa.float64(), nullable=False),
        ]
    )


class RequestedSeries(BaseModel):
    """A query and its words; how many label sets it gave, and how many of these were left out."""

    query: str
    unit: str
    title: str
    better: str
    step_s: float
    label_sets: int
    left_out: int


class ScrapedTarget(BaseModel):
    """Something that Prometheus scraped: how often in the round, and how often in vain."""

    job: str
    instance: str
    scrapes: int
    failed: int


class RoundQueries(BaseModel):
    """The queries of a round to Prometheus. Times are seconds from the round's start."""

    prometheus: str
    measured_from_s: float
    length_s: float
    series: dict[str, RequestedSeries]
    targets: list[ScrapedTarget]


@dataclass(frozen=True)
class SeenSeries:
    """The series of a round: what was asked, and the samples (``schema``)."""

    requested: RoundQueries
    samples: pd.DataFrame


def write(folder: Path, seen: SeenSeries) -> None:
    """Keep the series of a round in a folder that does not exist yet; raises OSError."""
    samples.write(folder, seen.samples, schema())
    (folder / ASKED).write_text(seen.requested.model_dump_json(indent=1), encoding="utf-8")


def read(folder: Path) -> SeenSeries | None:
    """Return the series in a folder; None if none were asked for. Raises ObservationError for damaged files."""
    if not folder.is_dir():
        return None
    return SeenSeries(_requested(folder / ASKED), samples.read(folder, schema()).astype({"series": str, "labels": str}))


def _requested(file: Path) -> RoundQueries:
    try:
        return RoundQueries.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        raise ObservationError(f"{file.parent.name}/{file.name} cannot be read") from None
