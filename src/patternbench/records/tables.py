"""Reads a table of observations: a run folder, CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

#: The table of a run folder that analyses read.
ROUNDS = "rounds.parquet"


class TableError(ValueError):
    """The path holds no table that can be read; the message says why and what to do."""


def read_table(path: Path) -> pd.DataFrame:
    """Read the table at `path`: a run folder (its finished, valid rounds), a .csv or a .parquet file.

    Its `attrs` say how many rounds of a run were left out because they are `not_valid`. Column names lose
    surrounding spaces. Raises `TableError` in plain words.
    """
    if not path.exists():
        raise TableError(f"{path} does not exist. Give a run folder, a .csv or a .parquet file.")
    if path.is_dir():
        return _finished(_read_parquet(_rounds_of(path)), path)
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _checked(_read_parquet(path), path)
    if path.suffix.lower() in {".csv", ".tsv", ".txt"}:
        return _checked(_read_csv(path), path)
    raise TableError(f"{path} is neither a run folder nor a .csv or .parquet file.")


def _rounds_of(folder: Path) -> Path:
    if not (folder / ROUNDS).exists():
        raise TableError(f"{folder} is not a finished run: it has no {ROUNDS}. Finish the run, or rebuild its report.")
    return folder / ROUNDS


def _finished(rounds: pd.DataFrame, folder: Path) -> pd.DataFrame:
    if "status" not in rounds:
        return _checked(rounds, folder)
    done = rounds[rounds["status"] == "done"]
    if done.empty:
        raise TableError(
            f"{folder} has no finished round: all {len(rounds)} failed. Look at their causes in the report."
        )
    valid = done[done["valid"].astype(bool)] if "valid" in done else done
    if valid.empty:
        raise TableError(f"{folder} has no valid round: its report says why, and what to do about it.")
    valid = valid.reset_index(drop=True)
    valid.attrs["not_valid"] = len(done) - len(valid)
    return _checked(valid, folder)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table: pd.DataFrame = pq.read_table(path).to_pandas()
    except (pa.ArrowInvalid, OSError) as cause:
        raise TableError(f"{path} is not a Parquet file: {str(cause).splitlines()[0]}") from None
    return table


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path, sep="\t" if path.suffix.lower() == ".tsv" else ",", skipinitialspace=True, comment="#")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as cause:
        raise TableError(f"{path} is not a table: {str(cause).strip()}") from None


def _checked(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    if table.empty:
        raise TableError(f"{path} holds no rows.")
    table.columns = [str(name).strip() for name in table.columns]
    twice = table.columns[table.columns.duplicated()].tolist()
    if twice:
        raise TableError(f"{path} has several columns called {twice[0]}. Rename all but one.")
    return table
