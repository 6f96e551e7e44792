"""Tests of a linear model's assumptions, and the numbers behind their figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.spatial.distance import pdist
from scipy.special import log_ndtr
from statsmodels.stats.diagnostic import normal_ad
from statsmodels.stats.stattools import jarque_bera
from statsmodels.tsa.stattools import acovf, q_stat

from patternbench.analyze.models.linear import regression
from patternbench.terms.arrays import Floats, Ints

ALPHA = 0.05
"""Significance level at which an assumption counts as violated."""
PAIRS_AT_MOST = 2000
"""The Henze-Zirkler test compares all pairs of rows; above this many it looks at a seeded sample of them."""
_MOST_LAGS = 10
_QQ_POINTS = 400
_TAIL_POINTS = 50
_FEWEST_BINS, _MOST_BINS = 5, 60
_ROUNDING = 1e-9
"""A share of the range of residuals below which their spread is what rounding left."""
_SMALLEST_SAMPLE = 8

Quantile = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Test:
    """One test of an assumption.

    ``assumption`` is normality, equal_variance, shape, independence or joint_normality; ``holds`` is whether p >=
    0.05; ``note`` says what was chosen (a lag, a sample) or why there is no result, in which case ``statistic``
    and ``p`` are None.
    """

    name: str
    assumption: str
    statistic: float | None
    p: float | None
    note: str

    @property
    def holds(self) -> bool | None:
        """Whether the data are compatible with the assumption; None when the test could not be made."""
        return None if self.p is None else self.p >= ALPHA


def residual_tests(residuals: Floats, basis: Floats) -> tuple[Test, ...]:
    """Test one response's residuals: normality and equal variance.

    ``basis`` (n x p) has orthonormal columns that span the design.
    """
    if len(residuals) < _SMALLEST_SAMPLE or np.ptp(residuals) == 0:
        why = "too few rows" if len(residuals) < _SMALLEST_SAMPLE else "the residuals do not vary"
        return tuple(Test(name, kind, None, None, f"Not tested: {why}.") for name, kind in _RESIDUAL_TESTS)
    return (
        jarque_bera_test(residuals),
        anderson_darling_test(residuals),
        breusch_pagan_test(residuals, basis),
    )


_RESIDUAL_TESTS = (
    ("Jarque-Bera", "normality"),
    ("Anderson-Darling", "normality"),
    ("Breusch-Pagan", "equal_variance"),
)


def jarque_bera_test(residuals: Floats) -> Test:
    """Test normality by skewness S and kurtosis K: n/6 (S^2 + (K - 3)^2 / 4) (Jarque & Bera 1987)."""
    statistic, p, skewness, kurtosis = (float(value) for value in jarque_bera(residuals))
    return Test(
        "Jarque-Bera",
        "normality",
        statistic,
        p,
        f"Skewness {skewness:.2f}, kurtosis {kurtosis:.2f} (3 is normal).",
    )


def anderson_darling_test(residuals: Floats) -> Test:
    """Test normality, tails weighted (Anderson & Darling 1954; p after Stephens 1986)."""
    statistic, p = normal_ad(residuals)
    return Test(
        "Anderson-Darling",
        "normality",
        float(statistic) if np.isfinite(statistic) else _anderson_darling(residuals),
        float(np.clip(p, 0, 1)),
        "Mean and variance estimated.",
    )


def _anderson_darling(residuals: Floats) -> float:
    """Compute A^2 from logarithms: beyond 8 standard deviations 1 - cdf is zero, and its logarithm infinite."""
    z = np.sort((residuals - residuals.mean()) / residuals.std(ddof=1))
    weights = 2 * np.arange(1, len(z) + 1) - 1
    return float(-len(z) - np.mean(weights * (log_ndtr(z) + log_ndtr(-z[::-1]))))


def default_lag(n: int) -> int:
    """Return the lag of the Ljung-Box test for ``n`` rows: the smaller of 10 and a fifth of the rows."""
    return max(1, min(_MOST_LAGS, n // 5))


def ljung_box_test(residuals: Floats, lag: int | None = None) -> Test:
    """Test independence of residuals in the order given: autocorrelations up to ``lag`` together (Ljung & Box 1978).

    Q = n (n + 2) sum_k r_k^2 / (n - k), against chi-square with ``lag`` degrees of freedom.
    """
    n, chosen = len(residuals), lag or default_lag(len(residuals))
    # acorr_ljungbox would correlate each row with every other.
    covariances = acovf(residuals, fft=False, nlag=chosen)
    statistics, p_values = q_stat(covariances[1:] / covariances[0], n)
    note = f"Lag {chosen}, in the order of the run."
    return Test("Ljung-Box", "independence", float(statistics[-1]), float(p_values[-1]), note)


def breusch_pagan_test(residuals: Floats, basis: Floats) -> Test:
    """Test whether the squared residuals depend on the design (Breusch & Pagan 1979, Koenker's form)."""
    found = regression(residuals**2, basis, intercept=True)
    if found.centered_tss == 0:
        return Test("Breusch-Pagan", "equal_variance", None, None, "Not tested: all residuals are of one size.")
    statistic = max(0.0, float(found.nobs * found.rsquared))
    df = max(basis.shape[1] - 1, 1)
    return Test(
        "Breusch-Pagan",
        "equal_variance",
        statistic,
        float(stats.chi2.sf(statistic, df)),
        "Studentized (Koenker).",
    )


def mahalanobis_squared(residuals: Floats) -> Floats:
    """Return the rows' squared Mahalanobis distances from their mean (n x q in, n out; covariance over n)."""
    centred = residuals - residuals.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    squared: Floats = np.einsum("ij,ji->i", centred, np.linalg.solve(covariance, centred.T))
    return squared


def henze_zirkler_test(residuals: Floats, rng: np.random.Generator) -> Test:
    """Test joint normality of several responses' residuals (n x q) by Henze & Zirkler (1990).

    The statistic compares the empirical characteristic function of the standardized rows with the normal
    one under a Gaussian weight; p comes from the log-normal limit of that paper. Its cost grows with the
    square of the rows, so above ``PAIRS_AT_MOST`` rows a sample of that size is drawn with ``rng``, and the
    note says so.
    """
    n = len(residuals)
    note = "All rows."
    if n > PAIRS_AT_MOST:
        residuals = residuals[np.sort(rng.choice(n, PAIRS_AT_MOST, replace=False))]
        note = f"On {PAIRS_AT_MOST:,} rows drawn at random of {n:,}."
    if n <= residuals.shape[1] + 1 or np.linalg.matrix_rank(np.cov(residuals.T)) < residuals.shape[1]:
        return Test(
            "Henze-Zirkler",
            "joint_normality",
            None,
            None,
            "Not tested: the residuals' covariance is singular.",
        )
    statistic, p = henze_zirkler(residuals)
    return Test("Henze-Zirkler", "joint_normality", statistic, p, note)


def henze_zirkler(rows: Floats) -> tuple[float, float]:
    """Return the Henze-Zirkler statistic of ``rows`` (n x q) and its p-value."""
    n, q = rows.shape
    beta = ((2 * q + 1) * n / 4) ** (1 / (q + 4)) / np.sqrt(2)
    centred = rows - rows.mean(axis=0)
    root = np.linalg.cholesky(np.linalg.inv(centred.T @ centred / n))
    white = centred @ root
    pairs = n + 2 * float(np.exp(-(beta**2) / 2 * pdist(white, "sqeuclidean")).sum())
    singles = float(np.exp(-(beta**2) / (2 * (1 + beta**2)) * (white**2).sum(axis=1)).sum())
    statistic = pairs / n - 2 * (1 + beta**2) ** (-q / 2) * singles + n * (1 + 2 * beta**2) ** (-q / 2)
    mean, variance = _henze_zirkler_moments(beta, q)
    scale = np.sqrt(np.log1p(variance / mean**2))
    location = np.log(mean) - scale**2 / 2
    return statistic, float(stats.norm.sf((np.log(max(statistic, 1e-300)) - location) / scale))


def _henze_zirkler_moments(beta: float, q: int) -> tuple[float, float]:
    """Mean and variance of the statistic under normality (Henze & Zirkler 1990, section 2)."""
    b2, b4, b8 = beta**2, beta**4, beta**8
    a = 1 + 2 * b2
    w = (1 + b2) * (1 + 3 * b2)
    mean = 1 - a ** (-q / 2) * (1 + q * b2 / a + q * (q + 2) * b4 / (2 * a**2))
    variance = (
        2 * (1 + 4 * b2) ** (-q / 2)
        + 2 * a ** (-q) * (1 + 2 * q * b4 / a**2 + 3 * q * (q + 2) * b8 / (4 * a**4))
        - 4 * w ** (-q / 2) * (1 + 3 * q * b4 / (2 * w) + q * (q + 2) * b8 / (2 * w**2))
    )
    return mean, variance


# --- numbers behind figures
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Histogram:
    """Counts of residuals between consecutive edges (one more edge than counts)."""

    edges: Floats
    counts: Ints


@dataclass(frozen=True)
class QuantilePoints:
    """Points of a quantile-quantile plot: expected, observed, and the rule that chose them."""

    expected: Floats
    observed: Floats
    rule: str


def histogram(residuals: Floats) -> Histogram:
    """Count residuals in bins of Freedman-Diaconis width, at most 60."""
    upper, lower = np.quantile(residuals, [0.75, 0.25])
    width = 2 * (upper - lower) / len(residuals) ** (1 / 3)
    reach = np.ptp(residuals)
    # Next to far ones most residuals may be alike but for rounding: that would ask for more bins than memory holds.
    wanted = min(_MOST_BINS, reach / width) if width > _ROUNDING * reach else 1
    counts, edges = np.histogram(residuals, bins=max(_FEWEST_BINS, math.ceil(wanted)))
    return Histogram(edges, counts)


def normal_quantiles(standardized: Floats) -> QuantilePoints:
    """Pair the ordered standardized residuals with normal quantiles at (i - 0.5) / n."""
    return _quantile_points(standardized, stats.norm.ppf)


def chi_square_quantiles(residuals: Floats) -> QuantilePoints:
    """Pair the squared distances of ``residuals`` (n x q) with chi-square quantiles (q degrees)."""
    q = residuals.shape[1]
    return _quantile_points(mahalanobis_squared(residuals), lambda share: stats.chi2.ppf(share, q))


def _quantile_points(values: Floats, quantile: Quantile) -> QuantilePoints:
    n = len(values)
    ordered, chosen = np.sort(values), shown_ranks(n)
    rule = (
        "Every row."
        if len(chosen) == n
        else f"{len(chosen)} of {n:,}: the {_TAIL_POINTS} at each end, the rest evenly by rank."
    )
    return QuantilePoints(quantile((chosen + 0.5) / n), ordered[chosen], rule)


def shown_ranks(n: int) -> Ints:
    """Choose which of ``n`` ordered values to draw: all when few; else both tails and an even middle."""
    if n <= _QQ_POINTS:
        return np.arange(n)
    middle = np.linspace(_TAIL_POINTS, n - _TAIL_POINTS - 1, _QQ_POINTS - 2 * _TAIL_POINTS).astype(np.int64)
    return np.unique(np.concatenate([np.arange(_TAIL_POINTS), middle, np.arange(n - _TAIL_POINTS, n)]))


def failed(tests: Sequence[Test], assumption: str) -> list[Test]:
    """Return the tests of ``assumption`` that speak against it."""
    return [test for test in tests if test.assumption == assumption and test.holds is False]
