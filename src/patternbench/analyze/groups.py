"""Rows of a table in groups of equal keys, without a table for each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

Places = npt.NDArray[np.intp]
"""Places of rows in a table, from 0."""


def rows_of_groups(table: pd.DataFrame, keys: Sequence[str]) -> list[Places]:
    """Return the places of the rows of each group, in order of their first rows; what is missing is a key too."""
    if table.empty:
        return []
    group = table.groupby(list(keys), sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
