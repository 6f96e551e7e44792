"""Multivariate analysis of variance: whether a term moves several responses together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats
from statsmodels.multivariate.multivariate_ols import multivariate_stats

from patternbench.analyze.models.formula import Block, DesignMatrix
from patternbench.analyze.models.linear import Factorization
from patternbench.terms.arrays import Floats

_NAMES = {
    "Pillai's trace": "pillai",
    "Wilks' lambda": "wilks",
    "Hotelling-Lawley trace": "hotelling_lawley",
    "Roy's greatest root": "roy",
}
"""Names of the four statistics as statsmodels prints them, and ours."""


@dataclass(frozen=True)
class Statistic:
    """One multivariate statistic with its F approximation."""

    value: float
    f: float
    df_numerator: float
    df_denominator: float
    p: float


@dataclass(frozen=True)
class TermTest:
    """The four statistics of one term over all responses: pillai, wilks, hotelling_lawley, roy.

    ``kind`` is ``marginal`` (the term given all others) or ``sequential`` (given the terms before it, which is
    what R's ``summary(manova(...))`` prints). The two agree when the terms are orthogonal. Of the four,
    Pillai's trace is most robust against violated assumptions (Olson 1974), so it is the one to read when residuals
    are not normal.
    """

    term: str
    kind: str
    df: int
    statistics: dict[str, Statistic]


def manova(design: DesignMatrix, factorization: Factorization) -> tuple[TermTest, ...]:
    """Test every term of ``design`` (but the intercept) against all responses together.

    Returns marginal tests of all terms, then sequential ones. Needs at least two responses that are not
    linear combinations of each other; otherwise returns none.
    """
    effects = factorization.q.T @ design.y
    residual = design.y.T @ design.y - effects.T @ effects
    if np.linalg.matrix_rank(residual, hermitian=True) < design.y.shape[1]:
        return ()
    df = len(design.rows) - len(design.columns)
    blocks = [block for block in design.blocks if block.name != "Intercept"]
    marginal = [
        _test(block, "marginal", _marginal(factorization, effects, block.columns), residual, df) for block in blocks
    ]
    sequential = [_test(block, "sequential", _sequential(effects, block.columns), residual, df) for block in blocks]
    return tuple(marginal + sequential)


def _sequential(effects: Floats, columns: tuple[int, ...]) -> Floats:
    part = effects[list(columns)]
    return part.T @ part


def _marginal(factorization: Factorization, effects: Floats, columns: tuple[int, ...]) -> Floats:
    """(LB)' [L (X'X)^-1 L']^-1 (LB), where L picks the columns of the term."""
    rows = factorization.r_inverse[list(columns)]
    estimate = rows @ effects
    return estimate.T @ np.linalg.solve(rows @ rows.T, estimate)


def _test(block: Block, kind: str, hypothesis: Floats, residual: Floats, df_residual: int) -> TermTest:
    ratio = linalg.eigh(hypothesis, hypothesis + residual, eigvals_only=True)
    shares = np.clip(np.sort(ratio)[::-1], 0, 1 - 1e-15)
    responses, df = len(residual), len(block.columns)
    # Its Hotelling-Lawley divides by zero at responses + 3 residual degrees of freedom; ours replaces that one anyway.
    with np.errstate(all="ignore"):
        table = multivariate_stats(shares, responses, df, np.float64(df_residual))
    statistics = {_NAMES[str(label)]: Statistic(*(float(v) for v in row)) for label, row in _rows(table)}
    statistics["hotelling_lawley"] = hotelling_lawley(float((shares / (1 - shares)).sum()), responses, df, df_residual)
    return TermTest(block.name, kind, df, statistics)


def hotelling_lawley(trace: float, responses: int, df: int, df_residual: int) -> Statistic:
    """Return the Hotelling-Lawley trace with the F approximation that R's ``summary.manova`` prints.

    With s = min(p, q), m = (|p - q| - 1) / 2 and n = (v - p - 1) / 2 it is F = 2 (s n + 1) T / (s^2 (2 m + s + 1)) on
    s (2 m + s + 1) and 2 (s n + 1) degrees of freedom (Pillai 1960; SAS and statsmodels use McKeon's 1974 instead).
    """
    s, m, n = min(responses, df), (abs(responses - df) - 1) / 2, (df_residual - responses - 1) / 2
    top, bottom = s * (2 * m + s + 1), 2 * (s * n + 1)
    if bottom <= 0:
        return Statistic(trace, float("nan"), top, bottom, float("nan"))
    f = bottom * trace / (s * top)
    return Statistic(trace, f, top, bottom, float(stats.f.sf(f, top, bottom)))


def _rows(table: object) -> list[tuple[object, list[float]]]:
    columns = ["Value", "F Value", "Num DF", "Den DF", "Pr > F"]
    return [(label, [row[c] for c in columns]) for label, row in table.iterrows()]  # type: ignore[attr-defined]
