"""Arrays of measured numbers, and which of them no arithmetic of squares can hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataProblem

_LARGEST = 1e100
"""The largest number, and the inverse of the smallest one, that can be squared and added up safely."""


def out_of_scale(matrix: Floats, names: Sequence[str]) -> list[DataProblem]:
    """Say which columns (rows x columns) are too large or too small to be squared."""
    largest = np.abs(matrix).max(axis=0, initial=0)
    wrong = (largest > _LARGEST) | ((largest > 0) & (largest < 1 / _LARGEST))
    what = "{} reaches {:.0e}, whose square no number can hold."
    return [
        DataProblem(what.format(names[j], largest[j]), "", "Change its unit.") for j in np.flatnonzero(wrong).tolist()
    ]
