"""Rounds that a page is made of: read from a run, and kept next to the page with the columns that it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pages
import pandas as pd

from patternbench.records.folder import RunFolder
from patternbench.records.tables import read_table
from patternbench.study.load import load

QUICK = "-quick"
"""What the name of a study's quick form ends with."""


def of_run(run: Path, columns: Sequence[str]) -> pd.DataFrame:
    """The rounds of a run that count, with those of the columns that it has; raises TableError where there are none."""
    rounds = read_table(run)
    return rounds[[name for name in columns if name in rounds]]


def study_of(run: Path) -> str:
    """The name of the study that a run is of; raises InputError where that cannot be read."""
    return load(RunFolder(run).study).name


def read(file: Path) -> pd.DataFrame | None:
    """The rounds that are kept in a file; None where there is none yet."""
    return pd.read_parquet(file) if file.is_file() else None


def write(rounds: pd.DataFrame, file: Path) -> None:
    """Keep rounds in a file."""
    rounds.to_parquet(file, index=False, compression="zstd")


def no_figures(_: pd.DataFrame) -> dict[str, str]:
    """Nothing is drawn."""
    return {}


def remake(
    page: Path,
    stored: Path,
    columns: Sequence[str],
    printed: Callable[[pd.DataFrame | None], Mapping[str, str]],
    drawn: Callable[[pd.DataFrame], Mapping[str, str]] = no_figures,
) -> None:
    """Print the parts of a page on one study, or put them into it with `--write`; a run that is named is taken in.

    The study, or its quick form, has the name of the folder of `stored`. What is `drawn`, SVG by the names of files,
    is written into that folder.
    """
    run = pages.named_file()
    rounds = _taken_in(run, stored.parent.name, columns) if run else read(stored)
    parts = printed(rounds)
    if "--write" not in sys.argv:
        print("\n\n".join(parts.values()))
        return
    if rounds is not None:
        _write_all(rounds, stored, drawn(rounds))
    pages.write(page, parts)


def _taken_in(run: Path, study: str, columns: Sequence[str]) -> pd.DataFrame:
    """The rounds of a run; ends the program where it is of another study."""
    name = study_of(run)
    if name.removesuffix(QUICK) != study:
        sys.exit(f"{run} is a run of {name}; this page is made of {study} or {study}{QUICK}")
    return of_run(run, columns)


def _write_all(rounds: pd.DataFrame, stored: Path, figures: Mapping[str, str]) -> None:
    write(rounds, stored)
    for name, figure in figures.items():
        (stored.parent / name).write_text(figure, encoding="utf-8")
