"""The empty cells of a table of rounds, in words: the same for every command that reads it."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from patternbench.terms.responses import BY_NAME

_NAMED_AT_MOST = 3


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """How many rows lack what, and what happens to them.

    A level that is missing wherever another column has certain levels (the attempts of a baseline) isn't a gap.
    """
    for name in (str(name) for name in table.columns):
        empty = table[name].isna()
        if not empty.any() or empty.all() or _follows(table, name, empty):
            continue
        rows = ", ".join(str(int(number) + 1) for number in empty.to_numpy().nonzero()[0][:_NAMED_AT_MOST])
        dots = ", ..." if empty.sum() > _NAMED_AT_MOST else ""
        yield f"{_many(int(empty.sum()), len(table))} no {name} (row {rows}{dots}); {_fate(name)}"


def _fate(name: str) -> str:
    if name in BY_NAME:
        return "such a row counts for its other responses alone"
    return (
        "where it is a factor, they are scenarios of their own, without its level, and a model leaves them out; "
        "where it is a response, they are left out"
    )


def _follows(table: pd.DataFrame, name: str, empty: pd.Series) -> bool:
    """Whether the levels of another column decide where this one is empty."""
    others = (other for other in table.columns if other != name)
    return any(_decides(table[other], empty) for other in others)


def _decides(other: pd.Series, empty: pd.Series) -> bool:
    levels = other.nunique(dropna=False)
    if not 1 < levels <= len(other) // 2:
        return False
    return bool((empty.groupby(other.astype(str)).nunique() == 1).all())


def _many(count: int, of: int) -> str:
    return f"{count:,} of {of:,} rows {'has' if count == 1 else 'have'}"
