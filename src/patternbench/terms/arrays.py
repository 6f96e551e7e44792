"""Kinds of arrays of numbers, for signatures and those who check them; naming them doesn't load numpy.

To load it takes about a fifth of all that ``plan`` takes, which needs it for few studies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    AnyInts = npt.NDArray[np.integer[Any]]
    """Whole numbers of any width."""
    Bools = npt.NDArray[np.bool_]
    Numbers = float | Floats
    """One number, or an array of them."""
else:
    Floats = Ints = AnyInts = Bools = Numbers = object
