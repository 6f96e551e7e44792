"""Corrections for how many claims are made together: each of the three once.

- **False discoveries** (Benjamini and Hochberg, Journal of the Royal Statistical Society B 57, 1995): of all claims
  that are made, at most a share is expected to be false; if none is true, a whole table makes one that often.
- **Any error** (Holm, Scandinavian Journal of Statistics 6, 1979): the chance of any false claim is at most the level.
- **Intervals that hold together** (Bonferroni): all at once, as often as the level says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from patternbench.terms.arrays import Floats


def false_discoveries(p: Floats) -> Floats:
    """Correct p-values so that those below a level hold at most that share of false ones; NaN stays out and NaN."""
    tested = ~np.isnan(p)
    corrected = np.full(len(p), np.nan)
    if tested.any():
        from scipy import stats  # noqa: PLC0415 - slow to import, and plan needs none of it

        corrected[tested] = stats.false_discovery_control(p[tested])
    return corrected


def bar(p_values: Sequence[float], level: float) -> float:
    """Return the p up to which claims count, so that at most a share of ``level`` of those that count is wrong.

    Benjamini and Hochberg: the greatest k / m * level that k of the m claims keep; level / m if none does.
    """
    ordered = np.sort(p_values)
    bars = level * np.arange(1, len(ordered) + 1) / len(ordered)
    kept = np.flatnonzero(ordered <= bars)
    return float(bars[kept[-1]] if len(kept) else bars[0])


def any_error(p: Floats) -> Floats:
    """Correct p-values so that the chance of any false rejection among them is at most the level (Holm)."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    return corrected


def together(level: float, count: float) -> float:
    """Return the confidence that each of ``count`` intervals needs so that all of them hold together (Bonferroni)."""
    return 1 - (1 - level) / max(1, count)
