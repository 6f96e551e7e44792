"""The attempts of many rounds as one table, read in blocks of rows: a run of any size takes little memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from patternbench.records.attempts import BLOCK

_OF_ROUND = {"round": pa.int64(), "block": pa.int64(), "scenario": pa.string(), "valid": pa.bool_()}
_FRONT = ("round", "block", "scenario")


@dataclass(frozen=True)
class RoundOfAttempts:
    """A file of attempts, with the cells that identify its round, which are the same in every row."""

    path: Path
    identity: Mapping[str, int | str | bool]


def schema_of(rounds: Sequence[RoundOfAttempts]) -> pa.Schema:
    """Return the columns of all rounds together, in front what identifies the round.

    Whole numbers of which some are missing are floats, as a reader of CSV takes them; names are plain texts.
    """
    kinds: dict[str, pa.DataType] = {}
    files, gaps = Counter[str](), set[str]()
    for one in rounds:
        with pq.ParquetFile(one.path) as file:
            for field in file.schema_arrow:
                kinds.setdefault(field.name, _plain(field.type))
                files[field.name] += 1
            gaps |= _lacking(file)
    gaps |= {name for name, count in files.items() if count < len(rounds)}
    own = {name: pa.float64() if name in gaps and pa.types.is_integer(kind) else kind for name, kind in kinds.items()}
    identity = {name: _OF_ROUND[name] for name in rounds[0].identity}
    front = {name: kind for name, kind in identity.items() if name in _FRONT}
    return pa.schema(list((front | own | identity).items()))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _lacking(file: pq.ParquetFile) -> set[str]:
    """Return the columns of which values are missing, or of which the file doesn't say."""
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    return {column.path_in_schema for column in columns if column.statistics is None or column.statistics.null_count}


def blocks_of(rounds: Sequence[RoundOfAttempts], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of all rounds in blocks, with the columns of ``schema_of``."""
    for one in rounds:
        with pq.ParquetFile(one.path) as file:
            for batch in file.iter_batches(BLOCK):
                yield pa.table([_column(batch, field, one.identity) for field in schema], schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field, identity: Mapping[str, int | str | bool]) -> pa.Array:
    if field.name in identity:
        return pa.repeat(pa.scalar(identity[field.name], field.type), batch.num_rows)
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    return batch.column(field.name).cast(field.type)
