"""How far two configurations lie apart: the one estimator that comparisons, recommendations and reports share.

Rounds of one block ran close together, so what disturbed one disturbed its partner too: differences are taken within
blocks, and the interval and the p are those of one t statistic over blocks, so that the interval excludes zero exactly
when p falls below 1 less its confidence, at three blocks as at thirty. Without shared blocks (two runs)
the statistic is Welch's.

- Positive responses are compared by their ratio: the mean over blocks of log(y / x). Times and rates are skewed, and
  blocks act by factors. On the log scale both are symmetric, and the t interval has its nominal coverage.
- Shares, which are near zero, and responses that can be zero are compared by their difference, in the response's unit.
- Rounds that all show the same difference have no spread, and t would be infinite. Their p is the least that a
  sign-flip test of as many rounds can reach, 2^(1-n) (of two sides without blocks, that of a permutation test), for
  a few rounds often agree by chance where a response has few values. Source: Fisher, The Design of Experiments (1935).
- Shares of calls are no surer than the calls allow: their p is at least that of Fisher's exact test on all calls, that
  of a difference of changes at least that of the intervals of its shares (``of_weighted_calls``). Their interval is the
  wider of two, that of the rounds and that of all calls (``CountedShares``), and holds zero exactly where p says so.
- t takes rounds to scatter evenly to both sides. Where only one side of a comparison has bad rounds far off, it is
  wrong in 9 to 10 of 100 cases at 3 to 10 rounds, and rounds that don't show their tail look even. ``firm_p`` asks
  Hall's transformation for skewness as well, at a third of the level: with both, at most 5 of 100 are wrong. ``shown``
  is the rule of every word that follows from them. Source: Hall, On the removal of skewness by transformation, Journal
  of the Royal Statistical Society B 54 (1992).
- Over several conditions: the mean over conditions within each block first, then t over blocks, since a block may act
  on a configuration under all conditions alike. Without blocks conditions are independent, with the degrees of freedom
  of Welch and Satterthwaite. Source: Welch, The generalization of "Student's" problem, Biometrika 34 (1947).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from patternbench.analyze.students_t import chance_above, quantile, upper_quantile
from patternbench.terms.arrays import Bools, Floats, Numbers
from patternbench.terms.quantities import SHARES

TRIM = 0.2
"""The share of rounds that typical ones leave out at each end."""
TYPICAL_FROM = 8
"""From this many rounds on the outer fifths can be left out: of fewer, too little is left to know the spread."""
_FEWER = 0.5
_FEWEST = 2
_LEAST_P = 1e-100
_LEAST_OF_INTERVALS = 1e-60
"""At 1e-100 the quantiles of the beta distribution are no longer found, at 1e-60 they are."""
_HALLS = 3
"""How many times Hall's p counts in ``firm_p``: at 3 rounds, 2 leaves 5.6 % wrong and 3 leaves 5.2 % (20,000 draws)."""
_EVEN = 1e-6
"""A skewness below this changes no digit of Hall's transformation that counts."""
_ROUNDING = 1e-12
"""Relative to the values, a spread or a difference below this is the rounding of doubles."""


@dataclass(frozen=True)
class CountedShares:
    """A weighted sum of shares as all calls together show it: how sure they alone make a difference of shares.

    ``table`` has the hits and misses of each share (shares, 2), ``weights`` how much each share counts, and ``p`` is
    that of a sum of zero.
    """

    weights: Floats
    table: Floats
    p: float

    @property
    def reversed(self) -> CountedShares:
        """The same sum seen from the other side."""
        return replace(self, weights=-self.weights)

    @property
    def error(self) -> float:
        """The standard error in points, with one hit and one miss more: no hit in 1,200 calls isn't known exactly."""
        hits, misses = (self.table + 1).T
        return float(100 * np.sqrt((self.weights**2 * hits * misses / (hits + misses) ** 3).sum()))

    def reach(self, level: float) -> tuple[float, float]:
        """How far the interval of Zou and Donner reaches below and above the sum, in points (``of_weighted_calls``)."""
        below, above = (100 * _reach(self.table, side * self.weights, 1 - level) for side in (1.0, -1.0))
        return below, above


@dataclass(frozen=True)
class Estimate:
    """A difference, its standard error and degrees of freedom: one, or an array of them.

    The error is NaN where there are too few rounds for one, and 0 where rounds never vary; ``least_p`` is the p that as
    many rounds can reach at best, which is theirs if they never vary and yet differ. ``skew`` is the skewness of the
    difference as an estimate (that of its rounds divided by the root of their number), 0 where it isn't known.
    ``calls`` are those of a difference of shares, if they were counted.
    """

    value: Numbers
    error: Numbers
    df: Numbers
    least_p: Numbers = 0.0
    skew: Numbers = 0.0
    calls: CountedShares | None = None

    @property
    def p(self) -> Numbers:
        """The two-sided p against no difference; without any spread 1 for none, and ``least_p`` for some.

        It is at least that of the calls, and exactly that of shares that never vary from round to round.
        """
        by_t = 2 * chance_above(np.abs(self.in_errors), self.df)
        if self.calls is not None:
            return np.maximum(np.where(self._is_constant, 0.0, by_t), self.calls.p)[()]
        return np.where(self._is_constant, self.least_p, by_t)[()]

    @property
    def firm_p(self) -> Numbers:
        """The p that also holds where rounds scatter unevenly: at least three times that of Hall's transformed t."""
        t = np.where(self._is_constant, 0.0, self.in_errors)
        even = t + self.skew * t**2 / 3 + np.square(self.skew) * t**3 / 27 + self.skew / 6
        by_hall, p = np.minimum(_HALLS * 2 * chance_above(np.abs(even), self.df), 1.0), self.p
        return np.where(self._is_constant | (np.asarray(self.skew) == 0), p, np.maximum(p, by_hall))[()]

    def shifted(self, by: float) -> Estimate:
        """Return the same difference less a known one, so that its p are those against that one."""
        return replace(self, value=self.value - by)

    def firm_ends(self, level: float) -> tuple[Numbers, Numbers]:
        """Both ends of the interval that leaves out exactly what firm_p does: it is at least as wide as ``ends``."""
        low, high = self._ends_of_rounds(level)
        reach = quantile(1 - (1 - level) / 2 / _HALLS, self.df)
        known = ~self._is_constant & (np.asarray(self.skew) != 0)
        skew = np.where(known, self.skew, 1.0)
        hall = [self.value - self.error * _back(end, skew) for end in (reach, -reach)]
        ends = np.where(known, np.fmin(low, hall[0]), low)[()], np.where(known, np.fmax(high, hall[1]), high)[()]
        return self._no_surer(ends, level, self.firm_p)

    @property
    def reversed(self) -> Estimate:
        """The same difference seen from the other side."""
        return replace(self, value=-self.value, skew=-self.skew, calls=self.calls and self.calls.reversed)

    @property
    def in_errors(self) -> Numbers:
        """The difference in standard errors; infinite where rounds never vary and yet differ."""
        with np.errstate(all="ignore"):
            t = np.divide(self.value, self.error)
        return np.where((self.error == 0) & (self.value == 0), 0.0, t)[()]

    @property
    def whole_error(self) -> Numbers:
        """The standard error; of shares at least that of their calls."""
        return self.error if self.calls is None else np.maximum(self.error, self.calls.error)

    def ends(self, level: float) -> tuple[Numbers, Numbers]:
        """Both ends of the interval at a confidence; NaN where rounds that never vary are too few for it."""
        return self._no_surer(self._ends_of_rounds(level), level, self.p)

    def _ends_of_rounds(self, level: float) -> tuple[Numbers, Numbers]:
        reach = quantile((1 + level) / 2, self.df) * self.error
        if self.calls is None:
            reach = np.where(self._is_constant & (np.asarray(self.least_p) > 1 - level), np.nan, reach)[()]
        return self.value - reach, self.value + reach

    def _no_surer(self, ends: tuple[Numbers, Numbers], level: float, p: Numbers) -> tuple[Numbers, Numbers]:
        """Return the ends of a difference of shares, no nearer than its calls allow; its p says if zero is between."""
        if self.calls is None:
            return ends
        below, above = self.calls.reach(level)
        low, high = np.fmin(ends[0], self.value - below), np.fmax(ends[1], self.value + above)
        if p > 1 - level:
            return np.fmin(low, 0.0), np.fmax(high, 0.0)
        if not low <= 0 <= high:
            return low, high
        # The intervals of both shares are less sure than the exact test, whose p the nearer end follows.
        errors = quantile((1 + level) / 2, self.df) / upper_quantile(np.maximum(p, _LEAST_P) / 2, self.df)
        nearer = self.value * (1 - errors)
        return (nearer, high) if self.value > 0 else (low, nearer)

    @property
    def _is_constant(self) -> Bools:
        return np.asarray((self.error == 0) & (self.value != 0))


UNKNOWN = Estimate(np.nan, np.nan, 1.0)
"""The difference of what has no rounds to compare."""


def paired(x: Floats, y: Floats) -> Estimate:
    """Estimate y - x, where x[..., i] and y[..., i] ran in one block; blocks are along the last axis."""
    n = x.shape[-1]
    gaps = y - x
    scale = np.abs(x).max(axis=-1, initial=0) + np.abs(y).max(axis=-1, initial=0)
    least = 2.0 ** (1 - n)
    if n < _FEWEST:
        return _unknown(gaps)
    error = _error(gaps)
    return replace(_estimate(gaps.mean(axis=-1), error, n - 1.0, scale, least), skew=_skew(_third(gaps), error))


def paired_counts(x: Floats, y: Floats) -> Estimate:
    """Estimate y - x of what is counted exactly: where it never varies from round to round, it is known."""
    return replace(paired(x, y), least_p=0.0)


def apart(x: Floats, y: Floats) -> Estimate:
    """Estimate mean(y) - mean(x) of independent rounds (Welch); rounds are along the last axis."""
    n, m = x.shape[-1], y.shape[-1]
    if min(n, m) < _FEWEST:
        return _unknown(y.mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True))
    a, b = _error(x) ** 2, _error(y) ** 2
    with np.errstate(all="ignore"):
        df = np.where(a + b > 0, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)), n + m - 2.0)[()]
    scale = np.abs(x).max(axis=-1) + np.abs(y).max(axis=-1)
    least = float(2 / special.comb(n + m, n))
    error = np.sqrt(a + b)
    found = _estimate(y.mean(axis=-1) - x.mean(axis=-1), error, df, scale, least)
    return replace(found, skew=_skew(_third(y) - _third(x), error))


def typical_paired(x: Floats, y: Floats) -> Estimate:
    """Estimate the typical y - x, paired by block: the mean of differences without the outer fifths (Yuen and Dixon).

    Its spread is that of differences whose outer fifths are moved to the rest. With Yuen's degrees of freedom, 5.8 of
    100 simulated runs of 10 to 15 equal rounds are wrong; with half a degree less, 5.2. Source: Yuen and Dixon, The
    approximate behaviour and performance of the two-sample trimmed t, Biometrika 60 (1973).
    """
    gaps = y - x
    value, variance, kept = _trimmed(gaps)
    scale = np.abs(x).max(axis=-1) + np.abs(y).max(axis=-1)
    found = _estimate(value, np.sqrt(variance), kept - 1 - _FEWER, scale, 2.0 ** (1 - gaps.shape[-1]))
    return _scattered(found, paired(x, y))


def typical_apart(x: Floats, y: Floats) -> Estimate:
    """Estimate how far the typical rounds of two independent sides lie apart (Yuen, Biometrika 61, 1974)."""
    (a, u, n), (b, v, m) = _trimmed(x), _trimmed(y)
    with np.errstate(all="ignore"):
        df = np.where(u + v > 0, (u + v) ** 2 / (u**2 / (n - 1) + v**2 / (m - 1)), n + m - 2.0)[()]
    scale = np.abs(x).max(axis=-1) + np.abs(y).max(axis=-1)
    least = float(2 / special.comb(x.shape[-1] + y.shape[-1], x.shape[-1]))
    return _scattered(_estimate(b - a, np.sqrt(u + v), df, scale, least), apart(x, y))


def _scattered(typical: Estimate, whole: Estimate) -> Estimate:
    """Return typical difference with the error of all rounds where typical ones are all alike, as by a coarse clock."""
    return replace(typical, error=np.where(np.asarray(typical.error) == 0, whole.error, typical.error)[()])


def _trimmed(values: Floats) -> tuple[Numbers, Numbers, int]:
    """Return the mean without the outer fifths along the last axis, its variance, and how many values it is of."""
    n = values.shape[-1]
    cut = int(TRIM * n)
    ordered = np.sort(values, axis=-1)
    inner = ordered[..., cut : n - cut]
    moved = np.clip(ordered, inner[..., :1], inner[..., -1:])
    kept = n - 2 * cut
    return inner.mean(axis=-1), (n - 1) * moved.var(axis=-1, ddof=1) / (kept * (kept - 1)), kept


def over(parts: Sequence[Estimate]) -> Estimate:
    """Average independent differences over conditions, each with its own spread."""
    variances = np.array([part.error for part in parts]) ** 2
    value = float(np.mean([part.value for part in parts]))
    error = float(np.sqrt(variances.sum()) / len(parts))
    least = max(part.least_p for part in parts)
    if not error > 0:
        return Estimate(value, error, min(part.df for part in parts), least)
    weights = sum(v**2 / part.df for v, part in zip(variances, parts, strict=True))
    third = sum(part.skew * part.error**3 for part in parts) / len(parts) ** 3
    return Estimate(value, error, float(variances.sum() ** 2 / weights), least, float(third / error**3))


def over_blocks(gaps: Floats) -> Estimate:
    """Average differences over conditions (rows), taken within blocks (columns); NaN where a block lacks one.

    The mean of the conditions' means. A block's part of it is what its rounds add, so its error counts what a block
    does to several conditions alike: the sum over blocks of squares of the blocks' parts, with blocks - 1 degrees of
    freedom. Where no value is missing, it is the paired t statistic of the blocks' means. Source: Liang and Zeger,
    Longitudinal data analysis using generalized linear models, Biometrika 73 (1986).

    Where values are missing, blocks count unequally, as fewer equal ones would: 1 / (sum of squares of their weights).
    A condition of a single block shows no scatter. It is taken to scatter as the others do, and a block to move all
    such conditions alike. Half of the rounds missing, 5 % of simulated equal ones are told apart (formerly 18 %).
    """
    gaps = _with_values(gaps)
    parts, blocks = block_parts(gaps), gaps.shape[1]
    if blocks < _FEWEST:
        return Estimate(float(parts[0]), np.nan, 1.0) if blocks else UNKNOWN
    of_single = _variance_of_single_blocks(gaps)
    error = np.sqrt(((parts - parts.mean()) ** 2).sum() / blocks / (blocks - 1) + of_single)
    if np.isnan(error):
        return Estimate(float(parts.mean()), np.nan, 1.0)
    scale = 2 * float(np.nanmax(np.abs(gaps)))
    found = _estimate(parts.mean(), error, _equal_blocks(gaps) - 1, scale, 2.0 ** (1 - blocks))
    return replace(found, skew=_skew(_third(parts), found.error))


def block_parts(gaps: Floats) -> Floats:
    """Return the change of each block over all conditions (rows), so that their mean is that of conditions.

    Where a block lacks a condition, that one adds nothing to how far the block lies from the mean. A round lies nearer
    to the mean of few rounds than to the true one, which is made up for.
    """
    gaps = _with_values(gaps)
    if not gaps.size:
        return np.empty(0)
    count, blocks = np.isfinite(gaps).sum(axis=1), gaps.shape[1]
    means = np.nansum(gaps, axis=1) / count
    nearer = np.sqrt(count / np.maximum(count - 1, 1) * (blocks - 1) / blocks)
    parts = np.nansum((gaps - means[:, None]) * (nearer / count)[:, None], axis=0) / len(gaps)
    moved: Floats = means.mean() + blocks * parts
    return moved


def _with_values(gaps: Floats) -> Floats:
    """Return the conditions and blocks that have any value."""
    known = np.isfinite(gaps)
    return gaps[known.any(axis=1)][:, known.any(axis=0)]


def _equal_blocks(gaps: Floats) -> float:
    """Return how many blocks of equal weight are as good as these (Kish); their number where no value is missing."""
    known = np.isfinite(gaps)
    weights = (known / known.sum(axis=1)[:, None]).sum(axis=0) / len(gaps)
    return float(np.maximum(1 / np.square(weights).sum(), 1 + _FEWER).round(9))


def _variance_of_single_blocks(gaps: Floats) -> float:
    """Return what conditions of one block add to the variance of the mean; NaN if no condition shows its scatter."""
    known = np.isfinite(gaps)
    count = known.sum(axis=1)
    single = known[count == 1].sum(axis=0)
    if not single.any():
        return 0.0
    free = (count - 1).sum()
    squares = np.nansum((gaps - np.nanmean(gaps, axis=1, keepdims=True)) ** 2)
    return float(np.square(single / len(gaps)).sum() * squares / free) if free else np.nan


def by_calls(estimate: Estimate, calls: CountedShares) -> Estimate:
    """Return the estimate of a difference of shares, no surer than its calls; too few rounds stay too few."""
    return estimate if np.isnan(estimate.error) else replace(estimate, calls=calls)


def counted(weights: Floats, percents: Sequence[Floats], calls: Sequence[Floats], p: float) -> CountedShares:
    """Return a weighted sum of shares by their calls; ``percents`` and ``calls`` are as in ``of_weighted_calls``."""
    return CountedShares(np.asarray(weights, dtype=float), _hits_and_misses(percents, calls), p)


def counted_apart(percents: tuple[Floats, Floats], calls: tuple[Floats, Floats]) -> CountedShares:
    """Return the second of two shares less the first by their calls, whose p is ``of_all_calls``."""
    return counted(np.array([-1.0, 1.0]), percents, calls, of_all_calls(percents, calls))


def with_run_spread(estimate: Estimate, spread: float) -> Estimate:
    """Return the estimate between two runs whose means scatter by a known standard deviation of its own, each run's."""
    between = 2 * spread**2
    within = np.asarray(estimate.error, dtype=float) ** 2
    with np.errstate(all="ignore"):
        df = np.where(within > 0, (within + between) ** 2 / (within**2 / estimate.df), np.inf)[()]
    return replace(_with_error(estimate, np.sqrt(within + between)[()]), df=df)


def of_all_calls(percents: tuple[Floats, Floats], calls: tuple[Floats, Floats]) -> float:
    """Return the p of Fisher's exact test of two shares, of the calls of all rounds together.

    ``percents`` has one share a round, ``calls`` how many calls it is of; rounds without a known number don't count.
    """
    (a, b), (c, d) = _hits_and_misses(percents, calls).astype(int).tolist()
    return _of_table(a, b, c, d)


@lru_cache(maxsize=4096)
def _of_table(a: int, b: int, c: int, d: int) -> float:
    """Return the p of Fisher's exact test; one report asks for that of the same table again and again."""
    return float(stats.fisher_exact(np.array([[a, b], [c, d]])).pvalue)


def _hits_and_misses(percents: Sequence[Floats], calls: Sequence[Floats]) -> Floats:
    """Return the hits and misses of all rounds of each share (shares, 2), in whole calls."""
    return np.array([_whole(*side) for side in zip(percents, calls, strict=True)], dtype=float).reshape(-1, 2)


def _whole(percents: Floats, calls: Floats) -> tuple[int, int]:
    known = np.isfinite(calls) & np.isfinite(percents)
    hits, total = round(float((percents[known] * calls[known]).sum() / 100)), round(float(calls[known].sum()))
    return hits, max(total - hits, 0)


def of_weighted_calls(weights: Floats, percents: Sequence[Floats], calls: Sequence[Floats]) -> float:
    """Return the p of a weighted sum of shares against zero, of the calls of all rounds together.

    ``percents`` and ``calls`` are as in ``of_all_calls``, an array for each weight. No exact test is known of such a
    sum. The p is one less the confidence at which the interval of Zou and Donner ends at zero: its reach is the root of
    the sum of squares of how far each weighted share lies from the end of its own interval that is nearer to zero. With
    the intervals of Clopper and Pearson, which cover at least what they say, it errs on the safe side: of 100 equal
    changes at most 5 are called different at 5 %, in 200,000 draws each of 30 to 2,000 calls and shares of 0 to 99 %.
    Sources: Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27 (2008);
    Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).
    """
    table = _hits_and_misses(percents, calls)
    if not table.sum(axis=1).all():
        return 1.0
    value = float((weights * table[:, 0] / table.sum(axis=1)).sum())
    sides = np.sign(value) * weights

    def beyond(log_p: float) -> float:
        return abs(value) - _reach(table, sides, float(np.exp(log_p)))

    least = float(np.log(_LEAST_OF_INTERVALS))
    if beyond(0.0) <= 0 or beyond(least) >= 0:
        return 1.0 if beyond(0.0) <= 0 else _LEAST_OF_INTERVALS
    return float(np.exp(optimize.brentq(beyond, least, 0.0)))


def _reach(table: Floats, sides: Floats, p: float) -> float:
    """How far the interval of a weighted sum of shares (hits and misses) reaches towards zero, of a positive sum."""
    hits, misses = table.T
    with np.errstate(all="ignore"):
        low = np.where(hits > 0, special.betaincinv(hits, misses + 1, p / 2), 0.0)
        high = np.where(misses > 0, special.betainccinv(hits + 1, misses, p / 2), 1.0)
    ends, total = np.where(sides > 0, low, high), hits + misses
    # Without a call a share may be anything.
    gaps = np.where(total > 0, np.abs(hits / np.maximum(total, 1.0) - ends), 1.0)
    return float(np.sqrt(((sides * gaps) ** 2).sum()))


def is_relative(response: str, *sides: npt.ArrayLike) -> bool:
    """Whether a response is compared by its ratio: if its values are positive, and aren't shares."""
    return response not in SHARES and all(bool((np.asarray(side) > 0).all()) for side in sides)


def percent(log_ratio: Numbers) -> float:
    """Return the change in percent of a difference on the log scale."""
    return float(100 * np.expm1(log_ratio))


def in_unit(value: Numbers, relative: bool) -> float:
    """Return a difference, or an end of its interval, as it is printed: in percent if on the log scale."""
    return percent(value) if relative else float(value)


def middle(values: Floats, in_percent: bool, typical: bool = False) -> float:
    """Return the middle of rounds: the geometric mean if differences are in percent, else the mean.

    That of typical rounds is without the outer fifths, if there are enough of them. NaN without rounds.
    """
    if not len(values):
        return np.nan
    logs = np.log(values) if in_percent else values
    mean = float(means_of(logs, typical))
    return float(np.exp(mean)) if in_percent else mean


def means_of(rounds: Floats, typical: bool) -> Numbers:
    """Return the means along the last axis; of typical rounds if asked for, and if there are enough."""
    mean: Numbers = _trimmed(rounds)[0] if typical and rounds.shape[-1] >= TYPICAL_FROM else rounds.mean(axis=-1)
    return mean


def _estimate(value: Numbers, error: Numbers, df: Numbers, scale: Numbers, least_p: float) -> Estimate:
    tiny = _ROUNDING * scale
    value, error = np.where(np.abs(value) <= tiny, 0.0, value)[()], np.where(error <= tiny, 0.0, error)[()]
    return Estimate(value, error, df, least_p)


def _unknown(gaps: Floats) -> Estimate:
    value = gaps.mean(axis=-1) if gaps.shape[-1] else np.full(gaps.shape[:-1], np.nan)[()]
    return Estimate(value, np.full_like(value, np.nan)[()], 1.0)


def _with_error(estimate: Estimate, error: Numbers) -> Estimate:
    """Return the estimate with a larger error, of which its rounds' skewness is a smaller part."""
    with np.errstate(all="ignore"):
        part = np.where(np.asarray(error) > 0, np.divide(estimate.error, error), 0.0)
    return replace(estimate, error=error, skew=(estimate.skew * part**3)[()])


def _back(end: Numbers, skew: Floats) -> Floats:
    """Return the t whose transformation by Hall is ``end``.

    ((1 + skew t / 3)^3 - 1) / skew + skew / 6 = end, solved for t.
    """
    tiny = np.abs(skew) < _EVEN
    safe = np.where(tiny, 1.0, skew)
    t: Floats = np.where(tiny, end, 3 / safe * (np.cbrt(1 + safe * (end - safe / 6)) - 1))
    return t


def _third(values: Floats) -> Numbers:
    """Return the third cumulant of the mean of rounds; 0 for two, which are always even."""
    n = values.shape[-1]
    cubes = ((values - values.mean(axis=-1, keepdims=True)) ** 3).sum(axis=-1)
    third: Numbers = cubes / ((n - 1) * (n - 2) * n) if n > _FEWEST else 0.0 * cubes
    return third


def _skew(third: Numbers, error: Numbers) -> Numbers:
    with np.errstate(all="ignore"):
        skew: Numbers = np.where(np.asarray(error) > 0, third / np.power(error, 3), 0.0)[()]
    return skew


def _error(values: Floats) -> Numbers:
    error: Numbers = values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return error
