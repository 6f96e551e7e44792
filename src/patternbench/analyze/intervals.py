"""Estimates over the rounds of a scenario, each with its interval.

The round is the experimental unit: every function here takes one value a round. Requests are never pooled,
since those inside one round share its conditions and are not repetitions.

- A **median** gets the order-statistic (sign test) interval: distribution-free, without a seed. It is made of
  two observations, so its coverage comes in steps; the narrowest one that reaches the asked confidence is
  taken. Below six rounds none reaches 95 %: the whole range is given, with the coverage that it has (five
  rounds: 93.75 %). Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from patternbench.analyze.blocks import slices
from patternbench.analyze.groups import rows_of_groups
from patternbench.terms.arrays import Floats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class MedianInterval:
    """A median over rounds, its limits, how many rounds it rests on, and the confidence of the limits."""

    median: float
    low: float
    high: float
    rounds: int
    coverage: float


def median_interval(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> MedianInterval:
    """Estimate the median of one value a round, with its order-statistic interval.

    NaN values (undefined in that round) are left out and not counted. Without any value everything is NaN.

    >>> median_interval([1, 2, 3, 4, 5, 6])
    MedianInterval(median=3.5, low=1.0, high=6.0, rounds=6, coverage=0.96875)
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    ordered = ordered[~np.isnan(ordered)]
    count = len(ordered)
    if not count:
        return MedianInterval(np.nan, np.nan, np.nan, 0, np.nan)
    cut, coverage = _order_statistics(count, confidence)
    return MedianInterval(
        float(np.median(ordered)), float(ordered[cut]), float(ordered[count - 1 - cut]), count, coverage
    )


def median_table(
    rounds: pd.DataFrame, by: Sequence[str], responses: Sequence[str], confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Estimate the median of each response for each group of rounds.

    One row a response and group: the columns of ``by``, then ``response``, ``median``, ``low``, ``high``, ``rounds``,
    ``coverage``. Groups keep the order of their first round.
    """
    return GroupedRounds(rounds, by).medians(responses, confidence)


class GroupedRounds:
    """Rounds in groups of equal values in the columns ``by``, so that many tables need no grouping of their own."""

    def __init__(self, rounds: pd.DataFrame, by: Sequence[str]) -> None:
        self._rounds, self._groups = rounds, rows_of_groups(rounds, by)
        self._keys = rounds.iloc[[rows[0] for rows in self._groups]][list(by)].reset_index(drop=True)

    def medians(self, responses: Sequence[str], confidence: float = CONFIDENCE) -> pd.DataFrame:
        """Return what ``median_table`` does."""
        rows = [
            (response, *_fields(median_interval(values, confidence)))
            for response in responses
            for values in self._of_each_group(response)
        ]
        measured = pd.DataFrame.from_records(rows, columns=["response", "median", "low", "high", "rounds", "coverage"])
        repeated = pd.concat([self._keys] * len(responses), ignore_index=True) if responses else self._keys[:0]
        return pd.concat([repeated, measured], axis=1)

    def of_one(self, response: str) -> pd.DataFrame:
        """Return the medians of one response; those of all are made together, as most tables are of one each."""
        known = self._of_numbers.get(response)
        return self.medians([response]) if known is None else known

    @cached_property
    def _of_numbers(self) -> dict[str, pd.DataFrame]:
        names = [str(name) for name in self._rounds.select_dtypes("number").columns]
        every, count = self.medians(names), len(self._groups)
        parts = slices(len(every), count) if count else ()
        return {name: every.iloc[rows].reset_index(drop=True) for name, rows in zip(names, parts, strict=bool(count))}

    def _of_each_group(self, response: str) -> Iterator[Floats]:
        values = self._rounds[response].to_numpy(float)
        return (values[rows] for rows in self._groups)


@lru_cache(maxsize=1024)
def _order_statistics(count: int, confidence: float) -> tuple[int, float]:
    """Choose how many observations to cut off at each end, and what coverage that leaves."""
    cut = max(int(stats.binom.ppf((1 - confidence) / 2, count, 0.5)) - 1, 0)
    while 1 - 2 * stats.binom.cdf(cut + 1, count, 0.5) >= confidence:
        cut += 1
    return cut, float(1 - 2 * stats.binom.cdf(cut, count, 0.5))


def _fields(interval: MedianInterval) -> tuple[float, float, float, int, float]:
    return interval.median, interval.low, interval.high, interval.rounds, interval.coverage
