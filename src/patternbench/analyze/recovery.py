"""The effect of a disturbance in the middle of a round on its operations, and when they had recovered.

An operation is as before when it was good and took at most three times what 95 of 100 good ones took before the
disturbance; a second of the round is as before when at least four fifths as many of the operations that began in it
were as usual before, or all but one. Single slow operations are therefore not a disturbance, nor are failures that were
there before: of rounds in which nothing happens at most 2 in 100 have a second that counts as disturbed (simulated in
tests for exponential and log-normal times, at 10 operations per second and more).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from patternbench.terms.arrays import Bools, Floats, Ints

_SLOWER = 3.0
_USUAL = 0.95
_FEWEST = 20
_AS_BEFORE = 0.8
_BY_CHANCE = 0.01


@dataclass(frozen=True)
class Recovery:
    """The effect of a disturbance.

    ``affected`` is the percentage of the operations that began during it and were not as before (NaN without any).
    ``seen_after`` is how many seconds after its begin the first disturbed second began, None without one.
    ``recovered_after`` is how many seconds after its end the last disturbed second was over: 0 when none came later,
    None when the round ended before.
    """

    affected: float
    seen_after: float | None
    recovered_after: float | None


def recovery(began: Floats, seconds: Floats, good: Bools, start: float, end: float) -> Recovery | None:
    """Judge the operations of one round, of which one entry each says when it began, how long it took, if it was good.

    Times are in seconds of the round; the disturbance lasts from ``start`` to ``end``. None when fewer than 20 good
    operations began before it, which say what is usual, or none began since, which would say how it went on.
    """
    usual, since = seconds[(began < start) & good], began >= start
    if len(usual) < _FEWEST or not since.any():
        return None
    as_before = good & (seconds <= _SLOWER * np.quantile(usual, _USUAL))
    during = (began >= start) & (began < end)
    affected = 100.0 * float(np.mean(~as_before[during])) if during.any() else np.nan
    before = float(as_before[began < start].mean())
    disturbed = _disturbed(began[since] - start, as_before[since], before)
    if not len(disturbed):
        return Recovery(affected, None, 0.0)
    over = start + float(disturbed[-1]) + 1.0
    last = int(began.max() - start)
    recovered = None if disturbed[-1] >= last else max(over - end, 0.0)
    return Recovery(affected, float(disturbed[0]), recovered)


def _disturbed(since: Floats, as_before: Bools, usual: float) -> Ints:
    """Return the seconds since the begin, by number, in which too few operations were as before.

    ``usual`` is the share of those that were so before the begin. By chance alone a second of a round in which nothing
    happens must have this few in at most ``_BY_CHANCE`` of the rounds, over all seconds together.
    """
    second = since.astype(np.int64)
    total = np.bincount(second)
    kept = np.bincount(second, weights=as_before)
    rare = stats.binom.cdf(kept, total, usual) <= _BY_CHANCE / len(total)
    return np.flatnonzero((usual * total - kept > 1) & (kept < _AS_BEFORE * usual * total) & rare)
