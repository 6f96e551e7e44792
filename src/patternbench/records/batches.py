"""Attempts of a client as it hands them over, in batches: apart from the files that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from patternbench.terms.arrays import Ints

if TYPE_CHECKING:
    import numpy.typing as npt

OUTCOMES = ("answered", "timeout", "connection_error", "rejected")
"""The outcomes in the order of a batch's codes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Attempts of a client as columns of equal length; times in microseconds from the round's start.

    ``outcome`` holds codes into ``OUTCOMES``; ``status`` the status of the answer, 0 where there was none.
    """

    user: Ints
    call: Ints
    attempt: Ints
    start_us: Ints
    duration_us: Ints
    outcome: npt.NDArray[np.int8]
    status: npt.NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.user)
