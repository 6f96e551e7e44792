"""A round's calls as recovery is judged by them: when each began, its time, whether it was good, its attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from patternbench.analyze.recovery import recovery
from patternbench.recovery.responses import AFFECTED, EARLY, LOAD, PEAK, PLATEAU, RECOVERED, SINCE, TIME
from patternbench.terms.arrays import Bools, Floats

US_PER_S = 1e6
COLUMNS = ("user", "group", "call", "attempt", "intended_us", "start_us", "end_us", "success")
_LAST_PART = 1 / 3
_EARLY_S = 1.0
"""How long after a fault's end its early signs are read."""
_NAN = float("nan")


@dataclass(frozen=True)
class Calls:
    """One entry per call, in seconds of the round; ``attempts`` is how many reached the wire, ``sent`` when each."""

    began: Floats
    seconds: Floats
    good: Bools
    attempts: Floats
    sent: Floats


def read(path: Path) -> Calls:
    """Return the calls of a file of attempts. Raises OSError or pyarrow's error for one that can't be read."""
    rows = pq.read_table(path, columns=list(COLUMNS)).to_pandas()
    calls = rows.sort_values("attempt").groupby(["user", "group", "call"], observed=True, sort=False)
    summed = calls.agg(
        began=("intended_us", "min"), ended=("end_us", "max"), good=("success", "last"), attempts=("attempt", "last")
    )
    began, ended, good, attempts = summed.to_numpy(float).T
    sent = rows.loc[rows.attempt > 0, "start_us"].to_numpy(float)
    return Calls(began / US_PER_S, (ended - began) / US_PER_S, good > 0, attempts, sent / US_PER_S)


def measured(calls: Calls, start: float, end: float) -> Mapping[str, float]:
    """Return the responses of a round in which faults acted from ``start`` to ``end``.

    NaN where too few good calls began before, which say what is usual, or none after.
    """
    names = (RECOVERED, TIME, LOAD, AFFECTED, PEAK, PLATEAU, SINCE, *EARLY)
    judged = recovery(calls.began, calls.seconds, calls.good, start, end)
    after = calls.began >= end
    if judged is None or not after.any():
        return {one.name: _NAN for one in names}
    left = float(calls.began.max()) - end
    took = left if judged.recovered_after is None else min(judged.recovered_after, left)
    recovered = 0.0 if judged.recovered_after is None else 100.0
    amplification = _peak(calls, start), _plateau(calls, end, left)
    load = _NAN if judged.recovered_after is None else _rate(calls, end + judged.recovered_after)
    values = (recovered, took, load, judged.affected, *amplification, _good_since(calls, start), *_early(calls, end))
    return {one.name: value for one, value in zip(names, values, strict=True)}


def _rate(calls: Calls, since: float) -> float:
    """Return the calls that began in a second."""
    return float(((calls.began >= since) & (calls.began < since + 1)).sum())


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


def _good_since(calls: Calls, start: float) -> float:
    """Return the good calls per second that began since the fault did."""
    since = calls.began >= start
    lasted = float(calls.began.max()) - start
    return float(calls.good[since].sum()) / lasted if lasted > 0 else _NAN


def _early(calls: Calls, end: float) -> tuple[float, float, float]:
    """Return what is known a second after the end: attempts per call, the p99 of calls that ended, those under way."""
    now = end + _EARLY_S
    ended = calls.began + calls.seconds
    begun = int(((calls.began >= end) & (calls.began < now)).sum())
    sent = int(((calls.sent >= end) & (calls.sent < now)).sum())
    over = (ended >= end) & (ended < now)
    p99 = float(np.quantile(calls.seconds[over], 0.99)) if over.any() else _NAN
    under_way = float(((calls.began < now) & (ended >= now)).sum())
    return sent / begun if begun else _NAN, p99, under_way
