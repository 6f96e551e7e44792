"""Where a series of runs changed: every split of it into earlier and later runs, held to one t statistic.

Each run gives one value, such as the effect of a pattern against its reference. A change is shown where two stretches
of at least ten runs each differ surely. The split with the smallest p is taken, its p counts once for every split that
was tried (Bonferroni), and both parts are searched again (binary segmentation). The p is the larger one of Welch's t
with Hall's transformation (``estimate.Estimate.firm_p``) and of the ranks (Mann and Whitney): single runs far off and
scatter to one side make no change.

A history is looked at after every run, and each look is another chance to be wrong. Looks that follow each other see
almost the same runs, so their p counts ``LOOKS`` times instead of once per look. That is simulated: of 100 histories in
which nothing changes, and which are looked at after every run, at most 5 ever show a change
(``tests/unit/analyze/error_rates/test_change_points.py``).

The last nine runs alone show no change. Where they lie apart from the others they are to be *watched*: that isn't a
verdict, and is wrong at 5 of 100 looks at most.

Source: the scan is that of Hinkley, Inference about the change-point in a sequence of random variables, Biometrika 57
(1970); the segmentation that of Scott and Knott, Biometrics 30 (1974).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy import special, stats

from patternbench.analyze.intervals import CONFIDENCE
from patternbench.analyze.statements.estimate import Estimate, paired
from patternbench.analyze.statements.verdict import Verdict
from patternbench.terms.arrays import Floats, Ints

FEWEST_SIDE = 10
"""Runs on each side of a change."""
FEWEST_WATCHED = 3
"""Later runs that are to be watched: with fewer, a single one far off would be."""
LOOKS = 5.0
"""How many times the p of a look counts, for all looks of a history together."""
ALPHA = 0.05
_FEW = 20
"""Runs on the smaller side up to which the p of ranks is exact, as the approximation is far too large at its end."""
_ROUNDING = 1e-12
"""Relative to the values, a spread below this is the rounding of doubles."""


@dataclass(frozen=True)
class Stretch:
    """Runs between two changes, from one to before another, and their mean with its interval (NaN where unknown)."""

    begin: int
    end: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Course:
    """How a series went: its stretches, what became of it at the last change, and whether its last runs lie apart."""

    stretches: tuple[Stretch, ...]
    verdict: Verdict
    watched: Verdict | None = None

    @property
    def changes(self) -> tuple[int, ...]:
        """The first runs after a change."""
        return tuple(one.begin for one in self.stretches[1:])


def course(values: Floats, lines: int = 1) -> Course:
    """Return how a series went, one value a run in their order, on a scale on which changes add up.

    ``lines`` is how many series are judged together: of all of them, at most 5 of 100 histories show a false change.
    """
    begins = [0, *changes(values, lines), len(values)]
    stretches = tuple(_stretch(values, *ends) for ends in pairwise(begins))
    return Course(stretches, _verdict(len(values), stretches), _watched(values[begins[-2] :], ALPHA / max(lines, 1)))


def changes(values: Floats, lines: int = 1) -> list[int]:
    """Return the first runs after each change of a series that is judged together with others."""
    return _changes(values, ALPHA / max(lines, 1), 0)


def _verdict(runs: int, stretches: tuple[Stretch, ...]) -> Verdict:
    if len(stretches) > 1:
        return _direction(stretches[-1].mean - stretches[-2].mean)
    return Verdict.TOO_FEW_RUNS if runs < 2 * FEWEST_SIDE else Verdict.INCONCLUSIVE


def _direction(change: float) -> Verdict:
    return Verdict.HIGHER if change > 0 else Verdict.LOWER


def _stretch(values: Floats, begin: int, end: int) -> Stretch:
    mine = values[begin:end]
    mean = paired(np.zeros_like(mine), mine)
    low, high = mean.ends(CONFIDENCE)
    return Stretch(begin, end, float(mean.value), float(low), float(high))


def _changes(values: Floats, level: float, begin: int) -> list[int]:
    """Return the first runs after each change of a part of a series that begins at a run."""
    split = _shown_split(values, FEWEST_SIDE, FEWEST_SIDE, level / LOOKS)
    if split is None:
        return []
    before, after = _changes(values[:split], level, begin), _changes(values[split:], level, begin + split)
    return [*before, begin + split, *after]


def _watched(values: Floats, level: float) -> Verdict | None:
    """Return on which side of the runs before them the last few lie; None where that isn't sure."""
    first = max(FEWEST_SIDE, len(values) - FEWEST_SIDE + 1)
    split = _shown_split(values, first, FEWEST_WATCHED, level)
    return None if split is None else _direction(float(values[split:].mean() - values[:split].mean()))


def _shown_split(values: Floats, fewest_before: int, fewest_after: int, level: float) -> int | None:
    """Return the first run after the best split, if it is surely one; None without such a split.

    Its p counts once for each split that is tried.
    """
    sizes = np.arange(fewest_before, len(values) - fewest_after + 1)
    if not len(sizes):
        return None
    found = splits(values, sizes)
    errors = np.abs(np.atleast_1d(found.in_errors))
    if 2 * special.ndtr(-errors.max()) * len(sizes) > level:  # whatever its freedom is, no t has a smaller p
        return None
    even, firm = np.atleast_1d(found.p), np.atleast_1d(found.firm_p)
    place = int(np.lexsort((-errors, even, ~np.isinf(errors)))[0])  # sides that never vary split there alone
    split = int(sizes[place])
    p = max(float(firm[place]), _p_of_ranks(values[:split], values[split:])) * len(sizes)
    return split if p <= level else None


def _p_of_ranks(before: Floats, after: Floats) -> float:
    """Return the p of Mann and Whitney, which holds however runs scatter; exact for few runs that all differ."""
    every = np.concatenate([before, after])
    few = min(len(before), len(after)) <= _FEW and len(every) <= _FEW**2
    method: Literal["exact", "asymptotic"] = "exact" if few and len(np.unique(every)) == len(every) else "asymptotic"
    return float(stats.mannwhitneyu(before, after, method=method).pvalue)


@dataclass(frozen=True)
class _Side:
    """The mean of the runs on one side of each split, the square of its error, its third cumulant, their number."""

    mean: Floats
    square: Floats
    third: Floats
    count: Floats

    @classmethod
    def of(cls, sums: Floats, count: Floats, largest: float) -> _Side:
        """Return it from the sums of the values, of their squares and of their cubes."""
        mean = sums[0] / count
        squares = sums[1] - count * mean**2
        squares = np.where(squares <= _ROUNDING * count * largest**2, 0.0, squares)
        cubes = sums[2] - 3 * mean * sums[1] + 2 * count * mean**3
        third = np.where(squares > 0, cubes / ((count - 1) * (count - 2) * count), 0.0)
        return cls(mean, squares / (count - 1) / count, third, count)


def splits(values: Floats, sizes: Ints) -> Estimate:
    """Return how far later runs lie above earlier ones, for each number of earlier ones (at least three a side).

    It is what ``estimate.apart`` gives for each split by itself, from the sums of powers of all of them at once.
    """
    shifted = values - values.mean()
    sums = np.cumsum([shifted, shifted**2, shifted**3], axis=1)
    largest, counts = float(np.abs(shifted).max()), sizes.astype(float)
    a = _Side.of(sums[:, sizes - 1], counts, largest)
    b = _Side.of(sums[:, -1:] - sums[:, sizes - 1], len(values) - counts, largest)
    square = a.square + b.square
    error = np.sqrt(square)
    with np.errstate(all="ignore"):
        df = square**2 / (a.square**2 / (a.count - 1) + b.square**2 / (b.count - 1))
        skew = (b.third - a.third) / error**3
    moves = square > 0
    least = 2 / special.binom(len(values), counts)
    value = np.where(np.abs(b.mean - a.mean) <= _ROUNDING * largest, 0.0, b.mean - a.mean)
    return Estimate(value, error, np.where(moves, df, len(values) - 2.0), least, np.where(moves, skew, 0.0))
