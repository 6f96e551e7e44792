"""Estimates over the rounds of a scenario, each with its interval.

The round is the experimental unit: every function here takes one value a round. Requests are never pooled,
since those inside one round share its conditions and are not repetitions.

- A **median** gets the order-statistic (sign test) interval: distribution-free, without a seed. It is made of
  two observations, so its coverage comes in steps; the narrowest one that reaches the asked confidence is
  taken. Below six rounds none reaches 95 %: the whole range is given, with the coverage that it has (five
  rounds: 93.75 %). Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
- A **comparison** of a configuration with its baseline, over one or several matched conditions, is the mean
  over conditions of the difference of means (of logarithms for a ratio), with Welch's standard error summed
  over conditions and the Welch-Satterthwaite degrees of freedom. Several conditions with few rounds each lend
  each other degrees of freedom without being pooled. Source: Welch, The generalization of "Student's"
  problem, Biometrika 34 (1947).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95
_FEWEST_FOR_A_VARIANCE = 2


@dataclass(frozen=True)
class MedianInterval:
    """A median over rounds, its limits, how many rounds it rests on, and the confidence of the limits."""

    median: float
    low: float
    high: float
    rounds: int
    coverage: float


@dataclass(frozen=True)
class Comparison:
    """How a configuration differs from its baseline: a ratio (1 is no difference) or a difference (0 is
    none).

    `low` and `high` are NaN, and `p` with them, when there are too few rounds for a variance.
    """

    estimate: float
    low: float
    high: float
    p: float
    conditions: int


def median_interval(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> MedianInterval:
    """Estimate the median of one value a round, with its order-statistic interval.

    NaN values (undefined in that round) are left out and not counted. Without any value everything is NaN.

    >>> median_interval([1, 2, 3, 4, 5, 6])
    MedianInterval(median=3.5, low=1.0, high=6.0, rounds=6, coverage=0.96875)
    """
    found = np.sort(np.asarray(values, dtype=float))
    found = found[~np.isnan(found)]
    count = len(found)
    if not count:
        return MedianInterval(np.nan, np.nan, np.nan, 0, np.nan)
    cut, coverage = _order_statistics(count, confidence)
    return MedianInterval(float(np.median(found)), float(found[cut]), float(found[count - 1 - cut]), count, coverage)


def median_table(
    rounds: pd.DataFrame, by: Sequence[str], responses: Sequence[str], confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Estimate the median of each response for each group of rounds.

    One row a response and group: the columns of `by`, then `response`, `median`, `low`, `high`, `rounds`,
    `coverage`. Groups keep the order of their first round.
    """
    order, starts, keys = _groups(rounds, list(by))
    found = [
        (response, *_fields(median_interval(values, confidence)))
        for response in responses
        for values in np.split(rounds[response].to_numpy(float)[order], starts)[1:]
    ]
    measured = pd.DataFrame.from_records(found, columns=["response", "median", "low", "high", "rounds", "coverage"])
    return pd.concat([pd.concat([keys] * len(responses), ignore_index=True), measured], axis=1)


def ratio(pairs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], confidence: float = CONFIDENCE) -> Comparison:
    """Compare a configuration with its baseline as the ratio of their geometric means, over matched
    conditions.

    Each pair holds, for one condition, the rounds' values of the configuration and of the baseline; NaN
    values are left out. Raises ValueError when a value is not positive (use `difference` then).
    """
    logs = [(_logs(treated), _logs(base)) for treated, base in pairs]
    found = difference(logs, confidence)
    estimate, low, high = (float(np.exp(limit)) for limit in (found.estimate, found.low, found.high))
    return Comparison(estimate, low, high, found.p, found.conditions)


def difference(pairs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], confidence: float = CONFIDENCE) -> Comparison:
    """Compare a configuration with its baseline as the mean difference over matched conditions, in the
    response's own unit.

    Each pair holds, for one condition, the rounds' values of the configuration and of the baseline; NaN
    values are left out, and a condition in which one side has no value is not counted.
    """
    kept = [(a, b) for a, b in ((_known(x), _known(y)) for x, y in pairs) if len(a) and len(b)]
    if not kept:
        return Comparison(np.nan, np.nan, np.nan, np.nan, 0)
    estimate = float(np.mean([a.mean() - b.mean() for a, b in kept]))
    return _with_interval(estimate, kept, confidence)


def _with_interval(
    estimate: float, kept: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]], confidence: float
) -> Comparison:
    sides = [side for pair in kept for side in pair]
    if any(len(side) < _FEWEST_FOR_A_VARIANCE for side in sides):
        return Comparison(estimate, np.nan, np.nan, np.nan, len(kept))
    parts = np.array([side.var(ddof=1) / len(side) for side in sides])
    error = float(np.sqrt(parts.sum())) / len(kept)
    if error == 0:
        return Comparison(estimate, estimate, estimate, float(estimate == 0), len(kept))
    freedom = parts.sum() ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True))
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    p = float(2 * stats.t.sf(abs(estimate) / error, freedom))
    return Comparison(estimate, estimate - reach, estimate + reach, p, len(kept))


@lru_cache(maxsize=1024)
def _order_statistics(count: int, confidence: float) -> tuple[int, float]:
    """Choose how many observations to cut off at each end, and what coverage that leaves."""
    cut = max(int(stats.binom.ppf((1 - confidence) / 2, count, 0.5)) - 1, 0)
    while 1 - 2 * stats.binom.cdf(cut + 1, count, 0.5) >= confidence:
        cut += 1
    return cut, float(1 - 2 * stats.binom.cdf(cut, count, 0.5))


def _groups(rounds: pd.DataFrame, by: list[str]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], pd.DataFrame]:
    """Give an order of rows that brings groups together, where each starts in it, and the groups' keys."""
    number = rounds.groupby(by, sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return order, starts, rounds.iloc[order[starts]][by].reset_index(drop=True)


def _fields(found: MedianInterval) -> tuple[float, float, float, int, float]:
    return found.median, found.low, found.high, found.rounds, found.coverage


def _known(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    found = np.asarray(values, dtype=float)
    return np.asarray(found[~np.isnan(found)])


def _logs(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    found = _known(values)
    if (found <= 0).any():
        raise ValueError("a ratio needs values above 0")
    return np.asarray(np.log(found))
