"""Tables of observations: reads a run folder, CSV or Parquet, and writes what a run came to."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from patternbench.records import empty_cells, unreadable
from patternbench.records.cells import typed
from patternbench.records.columns import ROUNDS as ROUND_COLUMNS
from patternbench.records.columns import STEPS as STEP_COLUMNS
from patternbench.records.columns import Column, arrow_schema
from patternbench.records.journal import Entry
from patternbench.study.text.files import problem_of, read_start

ROUNDS = "rounds.parquet"
"""The table of a run folder that analyses read."""
_FACTORS = b"patternbench.factors"
"""The key of the factors, as ``plan.json`` holds them, in the metadata of a table of rounds."""
_COLUMN_UNITS = b"patternbench.units"
"""The key of the units of columns for which none is defined."""
NO_UNITS: Mapping[str, str] = {}
_NAMED_AT_MOST = 3
BLOCK = 1 << 17
"""Rows that are in memory at a time, of a table that is read in blocks."""
MOST_COLUMNS = 2000
"""More are a table on its side; each takes milliseconds to look through."""
_OUR_NUMBERS = frozenset(column.name for column in (*ROUND_COLUMNS, *STEP_COLUMNS) if column.kind == "float64")
"""The columns that hold numbers however they are written: the responses and times of the records."""


TableError = unreadable.TableError
_UNREADABLE = (pa.ArrowException, OSError, KeyError, TypeError, ValueError, OverflowError)
"""Exceptions for a file that is damaged, or that holds what pandas has no form for."""
_MAGIC = b"PAR1"
_FACTOR_ROWS: TypeAdapter[list[dict[str, object]]] = TypeAdapter(list[dict[str, object]])
_UNITS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class ReadTable:
    """A table as it was read: its rows, how many rounds are left out as not valid, and notes on what isn't evident."""

    rows: pd.DataFrame
    left_out: int = 0
    notes: Sequence[str] = ()


def write_rounds(
    rounds: pd.DataFrame, factors: Sequence[Mapping[str, object]], path: Path, units: Mapping[str, str] = NO_UNITS
) -> None:
    """Write a table of rounds with what is known of its factors, as plain rows; raises OSError.

    ``units`` are those of columns for which none is defined: of responses that a study chooses.
    """
    noted = {_FACTORS: json.dumps(list(factors)).encode(), _COLUMN_UNITS: json.dumps(dict(units)).encode()}
    _write(rounds, ROUND_COLUMNS, path, noted)


def write_steps(steps: pd.DataFrame, path: Path) -> None:
    """Write a table of steps; raises OSError when the file cannot be written."""
    _write(steps, STEP_COLUMNS, path, {})


def _write(table: pd.DataFrame, columns: Iterable[Column], path: Path, noted: Mapping[bytes, bytes]) -> None:
    """Write a table whose ``columns`` have the types that they are defined with; others are as they come."""
    pq.write_table(_as_defined(table, columns, noted), path, write_page_checksum=True)


def _as_defined(table: pd.DataFrame, columns: Iterable[Column], noted: Mapping[bytes, bytes]) -> pa.Table:
    made = pa.Table.from_pandas(table, preserve_index=False)
    defined = {field.name: field.type for field in arrow_schema(columns)}
    fields = [field.with_type(defined.get(field.name, field.type)) for field in made.schema]
    metadata = {**(made.schema.metadata or {}), **noted}
    return made.cast(pa.schema(fields, metadata=metadata))


def counting(entries: Sequence[Entry], folder: Path) -> list[Entry]:
    """Return the rounds of a run that count. Raises ``TableError`` where none does."""
    _finished(pd.DataFrame([{"status": one.status, "valid": one.valid} for one in _some(entries, folder)]), folder)
    return [one for one in entries if one.counts]


def _some(entries: Sequence[Entry], folder: Path) -> Sequence[Entry]:
    if not entries:
        raise nothing_yet(folder)
    return entries


def nothing_yet(folder: Path) -> TableError:
    """Return the error that a run has no round that has ended."""
    return TableError(f"{folder}: no round of this run has ended yet. Type `patternbench resume {folder}` first.")


def finished(rounds: pd.DataFrame, folder: Path) -> ReadTable:
    """Return the finished, valid rounds among those that were measured in a run's folder, as ``read`` reads them.

    Raises ``TableError`` where none counts.
    """
    if rounds.empty:
        raise nothing_yet(folder)
    return _finished(as_stored(rounds), folder)


def as_stored(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return rounds that were measured, as a reader of ``rounds.parquet`` gets them."""
    table: pd.DataFrame = _as_defined(rounds, ROUND_COLUMNS, {}).to_pandas()
    return table


def factors_of(path: Path) -> list[dict[str, object]]:
    """Return the factors of a table of rounds, as plain rows; none if no run wrote the table."""
    return _parsed(_FACTOR_ROWS, path, _FACTORS, b"[]")


def units_of(path: Path) -> dict[str, str]:
    """Return the units that a table of rounds says of columns for which none is defined; none where no run wrote it."""
    return _parsed(_UNITS, path, _COLUMN_UNITS, b"{}")


Noted = TypeVar("Noted")


def _parsed(kind: TypeAdapter[Noted], path: Path, key: bytes, otherwise: bytes) -> Noted:
    """Return the metadata under a key. Raises TableError where it is damaged."""
    try:
        return kind.validate_json(_noted(path, key, otherwise))
    except ValidationError:
        name = key.decode()
        raise TableError(
            f"{path} has damaged metadata ({name}). Export it again, or write it without {name}."
        ) from None


def _noted(path: Path, key: bytes, otherwise: bytes) -> bytes:
    """Return the metadata of a table of rounds, or of that of a run's folder. Raises TableError."""
    file = path / ROUNDS if path.is_dir() else path
    if file.suffix.lower() not in {".parquet", ".pq"}:
        return otherwise
    try:
        noted: bytes = (pq.read_schema(file).metadata or {}).get(key, otherwise)
    except _UNREADABLE as cause:
        raise _damaged(file, cause) from None
    return noted


def read_table(path: Path) -> pd.DataFrame:
    """Read the rows of the table at ``path``, as ``read`` does."""
    return read(path).rows


def read(path: Path) -> ReadTable:
    """Read the table at ``path``: a run folder (its finished, valid rounds), a .csv or a .parquet file.

    Column names lose surrounding spaces. Raises ``TableError`` in plain words.
    """
    if not path.exists():
        raise TableError(f"{path} does not exist. Give a run folder, a .csv or a .parquet file.")
    wrong = None if path.is_dir() else problem_of(path)
    if wrong is not None:
        raise TableError(f"{path} {wrong.message}.")
    if path.is_dir():
        return _finished(_read_parquet(_rounds_of(path)), path)
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _read_file(_read_parquet(path), (), path)
    if path.suffix.lower() in {".csv", ".tsv", ".txt"}:
        return _read_file(*_read_csv(path), path)
    raise TableError(f"{path} is neither a run folder nor a .csv or .parquet file.")


def _read_file(rows: pd.DataFrame, notes: Sequence[str], path: Path) -> ReadTable:
    """Return the table of a file, noting its empty cells; one that a run wrote knows which factors apply where."""
    gaps = () if factors_of(path) else empty_cells.sentences(_checked(rows, path))
    return ReadTable(_checked(rows, path), notes=[*notes, *gaps])


@dataclass(frozen=True)
class StoredTable:
    """A Parquet file that is read in blocks of rows, each time they are asked for. Column names lose spaces around."""

    path: Path

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return [name.strip() for name in _schema(self.path).names]

    def blocks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield these columns in blocks of rows, in order. Raises ``TableError`` where the file is damaged."""
        stored = {name.strip(): name for name in _schema(self.path).names}
        try:
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(BLOCK, columns=[stored[name] for name in columns]):
                    rows = pa.Table.from_batches([batch]).replace_schema_metadata(None)
                    frame = _as_numbers(rows).to_pandas()
                    yield frame.rename(columns=str.strip)[list(columns)]
        except _UNREADABLE as cause:
            raise _damaged(self.path, cause) from None


def _schema(path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except _UNREADABLE as cause:
        raise _damaged(path, cause) from None


def read_in_blocks(path: Path) -> StoredTable | None:
    """Return the table of a .parquet file, read in blocks of rows; None for a path that is read as a whole."""
    if not path.is_file() or path.suffix.lower() not in {".parquet", ".pq"}:
        return None
    _check_columns(_schema(path).empty_table(), path)
    return StoredTable(path)


def _rounds_of(folder: Path) -> Path:
    if not (folder / ROUNDS).exists():
        raise TableError(f"{folder} is not a finished run: it has no {ROUNDS}. Finish the run, or rebuild its report.")
    return folder / ROUNDS


def _finished(rounds: pd.DataFrame, folder: Path) -> ReadTable:
    if "status" not in rounds:
        return ReadTable(_checked(rounds, folder))
    done = rounds[rounds["status"] == "done"]
    if done.empty:
        raise TableError(
            f"{folder} has no finished round: all {len(rounds)} failed. Look at their causes in the report."
        )
    valid = done[done["valid"].astype(bool)] if "valid" in done else done
    if valid.empty:
        raise TableError(f"{folder} has no valid round: its report says why, and what to do about it.")
    return ReadTable(_checked(valid.reset_index(drop=True), folder), left_out=len(done) - len(valid))


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
        _check_columns(table, path)
        # What pandas notes of a table adds nothing that we read, and may be damaged.
        made: pd.DataFrame = _as_numbers(table.replace_schema_metadata(None)).to_pandas()
    except _UNREADABLE as cause:
        raise _damaged(path, cause) from None
    pa.default_memory_pool().release_unused()  # what reading took besides, which may be as much as the table
    return made


def _as_numbers(table: pa.Table) -> pa.Table:
    """Return the table with decimals, half floats and empty columns as numbers that pandas can work with."""
    kinds = (pa.types.is_decimal, pa.types.is_null, pa.types.is_float16)
    numbers = [any(is_one(kind) for is_one in kinds) for kind in table.schema.types]
    fields = [field.with_type(pa.float64()) if odd else field for field, odd in zip(table.schema, numbers, strict=True)]
    return table.cast(pa.schema(fields))


def _check_columns(table: pa.Table, path: Path) -> None:
    """Raise ``TableError`` for columns of one name, and for those whose cells aren't single values."""
    problems = [f"{path}{problem}" for problem in _header_problems([name.strip() for name in table.column_names])]
    nested = [field for field in table.schema if pa.types.is_nested(field.type)]
    raw = [
        field.name for field in table.schema if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type)
    ]
    problems += [f"{path}: column {name} holds bytes. Store it as text in UTF-8." for name in raw]
    problems += [f"{path}: column {one.name} holds several values a cell ({one.type}). Leave it out." for one in nested]
    if problems:
        raise TableError("\n".join(problems))


def _damaged(path: Path, cause: BaseException) -> TableError:
    stated = next(iter(str(cause).splitlines()), type(cause).__name__)
    kind = "cannot be read" if read_start(path, len(_MAGIC)) == _MAGIC else "is not a Parquet file"
    return TableError(f"{path} {kind}: {stated}")


def _read_csv(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read a text table, with notes on it; its rows are as wide as its header, since one cell more would shift them."""
    sign = _separator(path)
    _of_one_width(path, sign)
    try:
        texts = pd.read_csv(
            path,
            sep=sign,
            encoding="utf-8-sig",
            skipinitialspace=True,
            index_col=False,
            header=0,
            dtype=str,  # every cell as it is written,
            keep_default_na=False,  # none guessed to be missing
            na_filter=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, ValueError) as cause:
        raise TableError(f"{path} is not a table: {str(cause).strip()}") from None
    return typed(texts, _OUR_NUMBERS)


def _separator(path: Path) -> str:
    """Return the sign between cells: a tab in a .tsv, else that of , ; and tab which the header line holds most."""
    header = _header(path)
    return "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=header.count)


def _header(path: Path) -> str:
    with _opened(path) as lines:
        return next((line for line in lines if line.strip()), "")


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield lines
    except UnicodeDecodeError as cause:
        raise TableError(f"{path} is not a text table in UTF-8: {cause.reason} at byte {cause.start:,}.") from None
    except csv.Error as cause:
        raise TableError(f"{path} is not a table: {cause}.") from None


def _of_one_width(path: Path, sign: str) -> None:
    """Raise ``TableError`` for header and rows that do not fit together, naming the lines."""
    with _opened(path) as lines:
        rows = csv.reader(lines, delimiter=sign, skipinitialspace=True)
        header = [name.strip() for name in next((row for row in rows if row), [])]
        wrong = [(rows.line_num, len(row)) for row in rows if row and len(row) != len(header)]
    problems = [*_header_problems(header), *_width_problems(wrong, len(header))]
    if problems:
        raise TableError("\n".join(f"{path}{problem}" for problem in problems))


def _header_problems(header: list[str]) -> Iterator[str]:
    if not header:
        yield " is empty."
    if len(header) > MOST_COLUMNS:
        yield f" has {len(header):,} columns; at most {MOST_COLUMNS:,} are read. Is it turned on its side?"
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    for name in twice:
        yield f" has several columns called {name}. Rename all but one."
    if "" in header:
        yield f" has a column without a name (column {header.index('') + 1}). Name it in the first line."


def _width_problems(wrong: list[tuple[int, int]], width: int) -> Iterator[str]:
    for line, cells in wrong[:_NAMED_AT_MOST]:
        yield f", line {line}: has {cells} cells, the header has {width}. Quote a cell that holds the separator."
    if len(wrong) > _NAMED_AT_MOST:
        yield f": {len(wrong) - _NAMED_AT_MOST:,} more lines are not as wide as the header."


def _checked(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    if table.empty:
        raise TableError(f"{path} holds no rows.")
    table.columns = [str(name).strip() for name in table.columns]
    twice = table.columns[table.columns.duplicated()].tolist()
    if twice:
        raise TableError(f"{path} has several columns called {twice[0]}. Rename all but one.")
    return table
