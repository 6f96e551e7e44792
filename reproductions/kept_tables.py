"""The tables that are kept next to a page, and their hashes (``kept.sha256``, as sha256sum writes them)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from patternbench.records.folder import digest
from patternbench.terms.problems import InputError, Problem

HASHES = "kept.sha256"


def read(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a folder by their names without ``.parquet``. Raises InputError where one was changed."""
    problems = list(changed(folder))
    if problems:
        raise InputError(problems)
    return {file.stem: pd.read_parquet(file) for file in _files(folder)}


def keep(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write tables into a folder, and the hashes of all that it holds.

    A table that is there already stays as it is: its file may say more of its columns than a table does.
    """
    for name, table in tables.items():
        file = folder / f"{name}.parquet"
        kept = pd.read_parquet(file) if file.is_file() else None
        if kept is None or kept.attrs != table.attrs or not kept.equals(table):
            table.to_parquet(file, index=False, compression="zstd")
    lines = [f"{digest(file)}  {file.name}\n" for file in _files(folder)]
    (folder / HASHES).write_text("".join(lines), encoding="utf-8")


def changed(folder: Path) -> Iterator[Problem]:
    """Yield each table of a folder that isn't the one whose hash was noted, is missing, or was never noted."""
    lines = (folder / HASHES).read_text(encoding="utf-8").splitlines() if (folder / HASHES).is_file() else []
    noted = {name.strip(): sha256 for sha256, _, name in (line.partition(" ") for line in lines)}
    there = {file.name: digest(file) for file in _files(folder)}
    hint = f"type `git checkout {folder}`, or remake the page from its runs: `python -m reproductions RUN...`"
    for name in sorted(noted.keys() | there.keys()):
        if noted.get(name) != there.get(name):
            lacks = "is missing" if name not in there else f"has no hash in {HASHES}" if name not in noted else ""
            yield Problem(lacks or "isn't the table that was kept", file=str(folder / name), hint=hint)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))
