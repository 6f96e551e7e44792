"""A round's calls as recovery is judged by them: when each began, its time, whether it was good, its attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from patternbench.analyze.recovery import recovery
from patternbench.recovery.responses import AFFECTED, PEAK, PLATEAU, RECOVERED, TIME

US_PER_S = 1e6
COLUMNS = ("user", "group", "call", "attempt", "intended_us", "end_us", "success")
_LAST_PART = 1 / 3

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Calls:
    """One entry per call, in seconds of the round; ``attempts`` is how many reached the wire."""

    began: Floats
    seconds: Floats
    good: npt.NDArray[np.bool_]
    attempts: Floats


def read(path: Path) -> Calls:
    """Return the calls of a file of attempts. Raises OSError or pyarrow's error for one that can't be read."""
    rows = pq.read_table(path, columns=list(COLUMNS)).to_pandas()
    calls = rows.sort_values("attempt").groupby(["user", "group", "call"], observed=True, sort=False)
    summed = calls.agg(
        began=("intended_us", "min"), ended=("end_us", "max"), good=("success", "last"), attempts=("attempt", "last")
    )
    began, ended, good, attempts = summed.to_numpy(float).T
    return Calls(began / US_PER_S, (ended - began) / US_PER_S, good > 0, attempts)


def measured(calls: Calls, start: float, end: float) -> Mapping[str, float]:
    """Return the responses of a round in which faults acted from ``start`` to ``end``.

    NaN where too few good calls began before, which say what is usual, or none after.
    """
    names = (RECOVERED, TIME, AFFECTED, PEAK, PLATEAU)
    judged = recovery(calls.began, calls.seconds, calls.good, start, end)
    after = calls.began >= end
    if judged is None or not after.any():
        return {one.name: float("nan") for one in names}
    left = float(calls.began.max()) - end
    took = left if judged.recovered_after is None else min(judged.recovered_after, left)
    recovered = 0.0 if judged.recovered_after is None else 100.0
    values = (recovered, took, judged.affected, _peak(calls, start), _plateau(calls, end, left))
    return {one.name: value for one, value in zip(names, values, strict=True)}


def _peak(calls: Calls, start: float) -> float:
    """Return the attempts per call of the worst second since the begin."""
    since = calls.began >= start
    second = (calls.began[since] - start).astype(np.int64)
    count = np.bincount(second)
    attempts = np.bincount(second, weights=calls.attempts[since])
    return float((attempts[count > 0] / count[count > 0]).max())


def _plateau(calls: Calls, end: float, left: float) -> float:
    """Return the attempts per call in the last third of what was left."""
    last = calls.began >= end + left * (1 - _LAST_PART)
    return float(calls.attempts[last].mean())
