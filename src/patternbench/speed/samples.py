"""The file that is kept of the speed probe in a round: its samples as Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from patternbench.observe.seam import LoadTimes, ObservationError
from patternbench.speed.probe import Samples

FILE = "samples.parquet"
SCHEMA = pa.schema(
    [
        pa.field("second", pa.float64(), nullable=False),
        pa.field("cpu", pa.int32(), nullable=False),
        pa.field("cpu_time", pa.float64(), nullable=False),
    ]
)
"""One row per sample: when (seconds from the round's start), on which CPU, and its CPU time in seconds."""


def of_load(samples: Samples, load: LoadTimes) -> pd.DataFrame:
    """The samples within the measured part of a round (``SCHEMA``)."""
    frame = pd.DataFrame(samples.rows, columns=["second", "cpu", "cpu_time"])
    within = frame["second"].between(load.measured_from, load.ended)
    return frame[within].assign(second=lambda rows: rows["second"] - load.began)


def write(folder: Path, samples: pd.DataFrame) -> None:
    """Keep the samples of a round in a folder that does not exist yet; raises OSError."""
    folder.mkdir(parents=True)
    table = pa.Table.from_pandas(samples, schema=SCHEMA, preserve_index=False)
    pq.write_table(table, folder / FILE, compression="zstd")


def read(folder: Path) -> pd.DataFrame | None:
    """The samples in a folder; None if there was no probe. Raises ObservationError for a damaged file."""
    if not folder.is_dir():
        return None
    try:
        table: pd.DataFrame = pq.read_table(folder / FILE).cast(SCHEMA).to_pandas()
        return table
    except (OSError, pa.ArrowInvalid, ValueError):
        raise ObservationError(f"{folder.name}/{FILE} cannot be read") from None
