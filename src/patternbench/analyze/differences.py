"""How far two configurations lie apart: the one estimator that comparisons, recommendations and reports share.

Rounds of one block ran close together, so what disturbed one disturbed its partner too: differences are taken within
blocks, and the interval and the p are those of one t statistic over blocks, so that the interval excludes zero exactly
when p falls below the doubt that its confidence leaves, at three blocks as at thirty. Without shared blocks (two runs)
the statistic is Welch's.

- Positive responses are compared by their ratio: the mean over blocks of log(y / x). Times and rates are skewed, and
  blocks act by factors. On the log scale both are symmetric, and the t interval has its nominal coverage.
- Shares, which are near zero, and responses that can be zero are compared by their difference, in the response's unit.
- Over several conditions: the mean over conditions, with the degrees of freedom of Welch and Satterthwaite. Source:
  Welch, The generalization of "Student's" problem, Biometrika 34 (1947).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from patternbench.analyze.models.formula import Floats
from patternbench.analyze.units import SHARES

#: One number, or an array of them.
Numbers = float | Floats
_FEWEST = 2
#: Relative to the values, a spread or a difference below this is the rounding of doubles.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A difference, its standard error and degrees of freedom: one, or an array of them.

    The error is NaN where there are too few rounds for one.
    """

    value: Numbers
    error: Numbers
    df: Numbers

    @property
    def p(self) -> Numbers:
        """The two-sided p against no difference; without any spread 1 for none and 0 for some."""
        return 2 * stats.t.sf(np.abs(self.in_errors), self.df)

    @property
    def in_errors(self) -> Numbers:
        """The difference in standard errors; infinite where rounds never vary and yet differ."""
        with np.errstate(all="ignore"):
            t = np.divide(self.value, self.error)
        return np.where((self.error == 0) & (self.value == 0), 0.0, t)[()]

    def ends(self, level: float) -> tuple[Numbers, Numbers]:
        """Return both ends of the interval at a confidence."""
        reach = stats.t.ppf((1 + level) / 2, self.df) * self.error
        return self.value - reach, self.value + reach


UNKNOWN = Estimate(np.nan, np.nan, 1.0)
"""The difference of what has no rounds to compare."""


def paired(x: Floats, y: Floats) -> Estimate:
    """Estimate y - x, where x[..., i] and y[..., i] ran in one block; blocks are along the last axis."""
    n = x.shape[-1]
    gaps = y - x
    scale = np.abs(x).max(axis=-1, initial=0) + np.abs(y).max(axis=-1, initial=0)
    return _estimate(gaps.mean(axis=-1), _error(gaps), n - 1.0, scale) if n >= _FEWEST else _unknown(gaps)


def apart(x: Floats, y: Floats) -> Estimate:
    """Estimate mean(y) - mean(x) of independent rounds (Welch); rounds are along the last axis."""
    n, m = x.shape[-1], y.shape[-1]
    if min(n, m) < _FEWEST:
        return _unknown(y.mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True))
    a, b = _error(x) ** 2, _error(y) ** 2
    with np.errstate(all="ignore"):
        df = np.where(a + b > 0, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)), n + m - 2.0)[()]
    scale = np.abs(x).max(axis=-1) + np.abs(y).max(axis=-1)
    return _estimate(y.mean(axis=-1) - x.mean(axis=-1), np.sqrt(a + b), df, scale)


def over(parts: Sequence[Estimate]) -> Estimate:
    """Average differences over conditions, each with its own spread."""
    variances = np.array([part.error for part in parts]) ** 2
    value = float(np.mean([part.value for part in parts]))
    error = float(np.sqrt(variances.sum()) / len(parts))
    if not error > 0:
        return Estimate(value, error, min(part.df for part in parts))
    weights = sum(v**2 / part.df for v, part in zip(variances, parts, strict=True))
    return Estimate(value, error, float(variances.sum() ** 2 / weights))


def is_relative(response: str, *sides: npt.ArrayLike) -> bool:
    """Whether a response is compared by its ratio: if its values are positive, and aren't shares."""
    return response not in SHARES and all(bool((np.asarray(side) > 0).all()) for side in sides)


def middle(values: Floats, in_percent: bool) -> float:
    """Return the middle of rounds: the geometric mean if differences are in percent, else the mean.

    NaN without rounds.
    """
    if not len(values):
        return np.nan
    return float(np.exp(np.log(values).mean()) if in_percent else values.mean())


def _estimate(value: Numbers, error: Numbers, df: Numbers, scale: Numbers) -> Estimate:
    tiny = _ROUNDING * scale
    return Estimate(np.where(np.abs(value) <= tiny, 0.0, value)[()], np.where(error <= tiny, 0.0, error)[()], df)


def _unknown(gaps: Floats) -> Estimate:
    value = gaps.mean(axis=-1) if gaps.shape[-1] else np.full(gaps.shape[:-1], np.nan)[()]
    return Estimate(value, np.full_like(value, np.nan)[()], 1.0)


def _error(values: Floats) -> Numbers:
    error: Numbers = values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return error
