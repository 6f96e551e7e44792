"""The file of samples that an observer keeps with a round, as Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from patternbench.observe.seam import ObservationError

FILE = "samples.parquet"


def write(folder: Path, samples: pd.DataFrame, schema: pa.Schema) -> None:
    """Keep the samples of a round in a folder that does not exist yet; raises OSError."""
    folder.mkdir(parents=True)
    # Not a number (0/0) is a value; only in a column that may lack values does it stand for none.
    columns = [pa.array(samples[field.name].to_numpy(), field.type, from_pandas=field.nullable) for field in schema]
    table = pa.Table.from_arrays(columns, schema=schema)
    pq.write_table(table, folder / FILE, compression="zstd")


def read(folder: Path, schema: pa.Schema) -> pd.DataFrame:
    """Return the samples in a folder, as ``schema`` says; raises ObservationError if a file lacks or is damaged."""
    try:
        table: pd.DataFrame = pq.read_table(folder / FILE).cast(schema).to_pandas()
        return table
    except (OSError, pa.ArrowInvalid, ValueError):
        raise ObservationError(f"{folder.name}/{FILE} cannot be read") from None
