"""Tables as CSV files that a spreadsheet shows, and never runs."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

QUANTITY = re.compile(r"[+-]?\d[\d.,]*(e[+-]?\d+)? ?(%|us|ms|s|m|h|/s)?$")
"""A number with its unit, with any sign."""
STARTS = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet takes for a formula (OWASP, CSV injection)."""


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table; a text cell that a spreadsheet would run gets an apostrophe in front, numbers stay as they are."""
    texts = [column for column, kind in enumerate(table.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    shown = table.copy()
    for column in texts:
        shown.isetitem(column, [_inert(cell) for cell in table.iloc[:, column]])
    shown.columns = pd.Index([_inert(name) for name in table.columns])
    shown.to_csv(path, index=False)


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(STARTS) and not QUANTITY.match(cell) else cell
