"""The file that is kept of the speed probe in a round: its samples as Parquet."""

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
"""One row per sample: when (seconds from the round's start), on which CPU, and its CPU time in seconds."""


def of_load(noted: Samples, load: LoadTimes) -> pd.DataFrame:
    """The samples within the measured part of a round (``SCHEMA``)."""
    frame = pd.DataFrame(noted.rows, columns=["second", "cpu", "cpu_time"])
    within = frame["second"].between(load.measured_from, load.ended)
    return frame[within].assign(second=lambda rows: rows["second"] - load.began)


def write(folder: Path, rows: pd.DataFrame) -> None:
    """Keep the samples of a round in a folder that does not exist yet; raises OSError."""
    samples.write(folder, rows, SCHEMA)


def read(folder: Path) -> pd.DataFrame | None:
    """The samples in a folder; None if there was no probe. Raises ObservationError for a damaged file."""
    return samples.read(folder, SCHEMA) if folder.is_dir() else None
