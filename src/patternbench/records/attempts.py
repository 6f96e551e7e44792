"""Attempts as Parquet: one file a round, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from patternbench.records.batches import OUTCOMES, Batch
from patternbench.records.columns import ATTEMPTS, arrow_schema
from patternbench.records.folder import digest, replace_durably

SCHEMA = arrow_schema(ATTEMPTS)
FIRST_SUCCESS, LAST_SUCCESS = 200, 399
BLOCK = 1 << 17
"""Rows that are in memory at a time, of a round that is read in blocks; the load engine writes as many at once."""


def from_batches(batches: list[Batch], warm_up: bool) -> pa.Table:
    """One table of the records' columns from a client's batches of attempts."""
    return pa.concat_tables([_table(batch, warm_up) for batch in batches]) if batches else SCHEMA.empty_table()


def _table(batch: Batch, warm_up: bool) -> pa.Table:
    rows = len(batch)
    start = np.asarray(batch.start_us, dtype=np.int64)
    status = np.asarray(batch.status, dtype=np.int64)
    answered = status > 0
    columns = {
        "user": np.asarray(batch.user),
        "group": _constant("all", rows),
        "step": _constant("request", rows),
        "call": np.asarray(batch.call),
        "attempt": np.asarray(batch.attempt),
        "intended_us": start,
        "start_us": start,
        "first_byte_us": pa.nulls(rows, pa.int64()),
        "end_us": start + np.asarray(batch.duration_us, dtype=np.int64),
        "outcome": pa.DictionaryArray.from_arrays(pa.array(batch.outcome, pa.int32()), pa.array(OUTCOMES)),
        "status": pa.array(status, pa.uint16(), mask=~answered),
        "success": (status >= FIRST_SUCCESS) & (status <= LAST_SUCCESS),
        "bytes": pa.nulls(rows, pa.uint32()),
        "warm_up": np.full(rows, warm_up),
    }
    return pa.table({name: _as(columns[name], SCHEMA.field(name).type) for name in SCHEMA.names}, schema=SCHEMA)


def _as(column: object, kind: pa.DataType) -> pa.Array:
    return column.cast(kind) if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, kind)


def _constant(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([text]))


def write(path: Path, table: pa.Table) -> None:
    """Write a round's attempts durably; raises OSError, leaving nothing, when the disk does not take them."""
    draft = path.with_name(path.name + ".tmp")
    try:
        with draft.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        replace_durably(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def damage(path: Path, rows: int, sha256: str | None) -> str:
    """Return the problem of a round's file, if there is one. The journal has its rows and, in newer runs, its hash.

    Empty when nothing is.
    """
    if path.exists() and not path.is_file():
        return "isn't a regular file"
    try:
        if sha256 is not None:
            return "" if digest(path) == sha256 else "is not the file that the round wrote"
        return "" if _readable(path) == rows else f"does not hold the round's {rows} attempts"
    except FileNotFoundError:
        return "is missing"
    except (OSError, pa.ArrowException) as error:
        return f"cannot be read ({str(error).splitlines()[0]})"


def _readable(path: Path) -> int:
    """How many whole rows a file holds, read in blocks; -1 where it lacks a column."""
    with pq.ParquetFile(path) as file:
        if not set(SCHEMA.names) <= set(file.schema_arrow.names):
            return -1
        rows = 0
        for batch in file.iter_batches(BLOCK, columns=SCHEMA.names):
            batch.validate(full=True)
            rows += int(batch.num_rows)
    return rows


def read(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Return a round's attempts as a data frame, with these columns or with all."""
    frame: pd.DataFrame = pq.read_table(path, columns=columns).to_pandas()
    return frame


@dataclass(frozen=True)
class StoredAttempts:
    """A round's attempts, read from its file in blocks of rows each time they are asked for."""

    path: Path

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        names: list[str] = pq.read_schema(self.path).names
        return names

    def blocks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield these columns in blocks of rows, in the order of the file."""
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(BLOCK, columns=list(columns)):
                yield batch.to_pandas()


def of_round(path: Path) -> pd.DataFrame | StoredAttempts:
    """Return a round's attempts.

    In memory where they are few, else in blocks, so that a round of any size can be read.
    """
    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows > BLOCK:
            return StoredAttempts(path)
        frame: pd.DataFrame = file.read().to_pandas()
        return frame
