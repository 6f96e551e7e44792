"""The file that is kept of the speed probe in a round: its samples in the pauses around the load, as Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa

from patternbench.observe import samples
from patternbench.observe.seam import LoadTimes
from patternbench.speed.probe import Samples

SCHEMA = pa.schema(
    [
        pa.field("second", pa.float64(), nullable=False),
        pa.field("cpu", pa.int32(), nullable=False),
        pa.field("cpu_time", pa.float64(), nullable=False),
    ]
)
"""One row per sample: when (seconds from the round's start, negative before it), on which CPU, and its CPU time."""


def of_pauses(before: Samples, after: Samples, load: LoadTimes) -> pd.DataFrame:
    """Return the samples before and after the load (``SCHEMA``); none if the load did not come to its end."""
    rows = [row for row in before.rows if row[0] < load.began] + [row for row in after.rows if row[0] > load.ended]
    frame = pd.DataFrame(rows, columns=["second", "cpu", "cpu_time"])
    return frame.assign(second=lambda rows: rows["second"] - load.began)


def in_pauses(rows: pd.DataFrame) -> bool:
    """Whether samples were taken in the pauses: those of earlier versions, during the load, never come before it."""
    return bool((rows["second"] < 0).any())


def write(folder: Path, rows: pd.DataFrame) -> None:
    """Keep the samples of a round in a folder that does not exist yet; raises OSError."""
    samples.write(folder, rows, SCHEMA)


def read(folder: Path) -> pd.DataFrame | None:
    """Return the samples in a folder; None if there was no probe. Raises ObservationError for a damaged file."""
    return samples.read(folder, SCHEMA) if folder.is_dir() else None
