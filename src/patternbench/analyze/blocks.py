"""Tables in blocks of rows: one of any size is read in little memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

ROWS = 1 << 17
"""Rows of a block at most; the load engine writes as many at once."""


class Blocks(Protocol):
    """A table that is read in blocks of rows."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    def blocks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Return these columns in blocks of rows. Rows and their order are the same each time."""


@dataclass(frozen=True)
class InMemory:
    """A table that is in memory already."""

    frame: pd.DataFrame
    rows: int = ROWS

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    def blocks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield these columns in blocks of rows."""
        chosen = self.frame[list(columns)]
        for part in slices(len(chosen), self.rows):
            yield chosen.iloc[part]


def in_blocks(table: pd.DataFrame | Blocks) -> Blocks:
    """Return a table in blocks, be it in memory or not."""
    return InMemory(table) if isinstance(table, pd.DataFrame) else table


def slices(count: int, rows: int = ROWS) -> Iterator[slice]:
    """Yield the rows of a table in blocks."""
    return (slice(start, min(start + rows, count)) for start in range(0, count, rows))


class NameCodes:
    """Names as small numbers, in the order in which they are first seen: that of the categories if a column has any."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self._ordered = True

    def codes(self, column: pd.Series) -> npt.NDArray[np.int16]:
        """Return the number of each row's name; -1 for a missing one."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            own, codes = column.cat.categories, column.cat.codes.to_numpy()
        else:
            self._ordered = False
            codes, own = pd.factorize(column)
        numbers = [self.known.setdefault(str(name), len(self.known)) for name in own]
        return np.array([*numbers, -1], dtype=np.int16)[codes]

    def number(self, name: str) -> int:
        """Return the number of a name, whether it was seen or not."""
        return self.known.setdefault(name, len(self.known))

    def in_order(self) -> list[str]:
        """Return the names as a table of them is sorted: in the order of their categories, or by the alphabet."""
        return list(self.known) if self._ordered else sorted(self.known)
