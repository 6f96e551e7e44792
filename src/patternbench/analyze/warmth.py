"""Whether a round's first part is slower than the rest, as that of a service that is not warm yet.

The service times of good attempts, in the order in which they were sent and against the median of their own step, are
cut into 16 batches of equal number. The medians of the first four are held against those of the last eight by a t-test
of their logarithms, one-sided at 0.001, and the first must be slower by a tenth at least. Batch medians of a queue are
correlated: with at least 500 attempts at most 2 in 100 steady rounds count as drifting, up to 90 % utilisation of
an M/M/1 queue (simulated in ``tests/unit/analyze/test_warmth.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from patternbench.terms.arrays import Floats

BATCHES, FIRST, LAST = 16, 4, 8
FEWEST = 500
LEAST = 1.1
"""How much slower the first part must be to matter."""
COLUMNS = ["group", "step", "attempt", "start_us", "end_us", "success", "warm_up"]
"""The columns of attempts that are used."""
_ALPHA = 0.001
_MICRO = 1e-6


@dataclass(frozen=True)
class Drift:
    """How many times as long attempts of the first part took, and what was still slow: its seconds and its attempts."""

    ratio: float
    seconds: float
    attempts: int


def drift_of(attempts: pd.DataFrame) -> Drift | None:
    """Give the drift of a round's first part; None where none can be shown, or there are too few attempts to tell.

    ``attempts`` has the columns of ``contracts/records``; the warm-up is left out.
    """
    good = attempts["success"].to_numpy(bool) & ~attempts["warm_up"].to_numpy(bool)
    rows = attempts[good & (attempts["attempt"].to_numpy() > 0)].sort_values("start_us", kind="stable")
    if len(rows) < FEWEST:
        return None
    medians = np.array([np.median(part) for part in np.array_split(_logarithms(rows), BATCHES)])
    ratio = float(np.exp(medians[:FIRST].mean() - medians[-LAST:].mean()))
    if ratio < LEAST or not _is_slower(medians):
        return None
    return _until_settled(rows, medians, ratio)


def _logarithms(rows: pd.DataFrame) -> Floats:
    """Return the logarithm of each service time over the median of its group's step."""
    times = pd.Series(np.log(np.maximum((rows["end_us"] - rows["start_us"]).to_numpy(float), 1.0)), index=rows.index)
    medians = times.groupby([rows["group"].astype(str), rows["step"].astype(str)]).transform("median")
    return (times - medians).to_numpy(float)


def _is_slower(medians: Floats) -> bool:
    last = medians[-LAST:]
    error = float(last.std(ddof=1)) * np.sqrt(1 / FIRST + 1 / LAST)
    difference = float(medians[:FIRST].mean() - last.mean())
    return bool(difference > error * float(special.stdtrit(LAST - 1, 1 - _ALPHA)))


def _until_settled(rows: pd.DataFrame, medians: Floats, ratio: float) -> Drift:
    """Return the drift up to the end of the last batch of the first half that is still slower by a tenth."""
    slow = np.flatnonzero(medians[:-LAST] - medians[-LAST:].mean() > np.log(LEAST))
    batches = int(slow[-1]) + 1 if len(slow) else FIRST
    count = sum(len(part) for part in np.array_split(np.arange(len(rows)), BATCHES)[:batches])
    start = rows["start_us"].to_numpy(np.int64)
    return Drift(ratio, float(start[count - 1] - start[0]) * _MICRO, count)
