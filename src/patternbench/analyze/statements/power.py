"""How many rounds it takes to show a change: the power of the paired t test, by the noncentral t (Cohen 1988)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import optimize, stats

from patternbench.analyze.students_t import quantile, upper_quantile

POWER = 0.8
"""How often rounds should find a change that is there."""
FEWEST, MOST = 3, 10_000


@lru_cache(maxsize=4096)
def errors_to_find(df: float, level: float) -> float:
    """How many standard errors a difference must be to be found with 80 % power at a confidence."""
    critical = float(quantile((1 + level) / 2, df))
    return float(optimize.brentq(lambda shift: stats.nct.sf(critical, df, shift) - POWER, 0.0, 40 * critical + 40))


@lru_cache(maxsize=4096)
def errors_shown(df: float, alpha: float) -> float:
    """How many standard errors a difference must be measured as to be shown at a one-sided p of ``alpha``."""
    return float(upper_quantile(alpha, df))


@lru_cache(maxsize=4096)
def errors_to_agree(df: float, level: float) -> float:
    """How many standard errors a margin must be for a difference of zero to be shown to lie in it with 80 % power.

    Both ends of the interval must lie within: the chance that |t| <= margin / error - t of the interval.
    """
    critical = float(quantile((1 + level) / 2, df))
    return critical + float(quantile((1 + POWER) / 2, df))


def smallest_shown(spread: float, rounds: int, level: float, margin: bool = False) -> float:
    """Return the smallest change (or with ``margin``, margin) that this many rounds show, in the unit of ``spread``.

    ``spread`` is the standard deviation of one round by itself; a change is taken within blocks, from one round to
    another.
    """
    errors = errors_to_agree if margin else errors_to_find
    return errors(rounds - 1.0, round(level, 9)) * spread * float(np.sqrt(2 / rounds))


def rounds_to_show(size: float, spread: float, level: float, margin: bool = False) -> int | None:
    """Return the fewest rounds that show a change of a size, or agreement within a margin of it; None above 10,000."""
    if not size > 0 or smallest_shown(spread, MOST, level, margin) > size:
        return None
    low, high = FEWEST, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if smallest_shown(spread, middle, level, margin) <= size else (middle + 1, high)
    return low
