"""Tables as CSV files that a spreadsheet shows, and never runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

QUANTITY = re.compile(r"[+-]?\d[\d.,]*(e[+-]?\d+)? ?(%|us|ms|s|m|h|/s)?$")
"""A number with its unit, with any sign."""
STARTS = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet takes for a formula (OWASP, CSV injection)."""
_ARCHIVES = {".zip", ".tar"}


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table; a text cell that a spreadsheet would run gets an apostrophe in front, numbers stay as they are."""
    write_blocks([table], path)


def write_blocks(blocks: Iterable[pd.DataFrame], path: Path) -> None:
    """Write a table that comes in blocks of rows, with the names of its columns once.

    It is compressed as the end of the path's name says. An archive can't be continued, so it is written at once.
    """
    whole = _ARCHIVES & set(path.suffixes)
    for number, block in enumerate([pd.concat(blocks, ignore_index=True)] if whole else blocks):
        _shown(block).to_csv(path, index=False, header=number == 0, mode="a" if number else "w")


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    texts = [column for column, kind in enumerate(table.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    shown = table.copy()
    for column in texts:
        shown.isetitem(column, [_inert(cell) for cell in table.iloc[:, column]])
    shown.columns = pd.Index([_inert(name) for name in table.columns])
    return shown


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(STARTS) and not QUANTITY.match(cell) else cell
