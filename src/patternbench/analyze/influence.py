"""Which rows pull a model: leverage, studentized residuals, Cook's distance, the fit without them.

Everything about "without row i" is exact and comes from one fit (Cook & Weisberg 1982, chapter 2): no model
is refitted.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .formula import Floats
from .linear import LinearFit

#: At most this many rows are named; how many were flagged is always said.
NAMED = 10
_OUTLIER_LEVEL = 0.05
_HIGH_LEVERAGE = 3.0


@dataclass(frozen=True)
class Influence:
    """Per row (n): internally and externally studentized residual, leverage, Cook's distance."""

    standardized: Floats
    studentized: Floats
    leverage: Floats
    cooks: Floats


@dataclass(frozen=True)
class SuspiciousRow:
    """A row worth a look: where it is, what it holds, why it stands out, and the fit without it.

    `row` counts from 1 in the table as given. `moves` maps each coefficient that changes by more than its
    standard error to its (with, without) values; `adj_r2_without` and `sigma_without` describe the model
    without the row.
    """

    row: int
    values: dict[str, object]
    fitted: float
    why: tuple[str, ...]
    studentized: float
    leverage: float
    cooks: float
    moves: dict[str, tuple[float, float]]
    adj_r2_without: float | None
    sigma_without: float


def influence(fit: LinearFit) -> Influence:
    """Compute the influence of every row on `fit`.

    A row that alone determines a coefficient (leverage 1) has no residual to judge: its values are 0.
    """
    free = np.clip(1 - fit.leverage, 1e-12, None)
    df, sigma = fit.summary.df_residual, max(fit.summary.sigma, np.finfo(float).tiny)
    standardized = np.where(fit.leverage < 1 - 1e-10, fit.residuals / (sigma * np.sqrt(free)), 0.0)
    rest = np.clip(df - standardized**2, 1e-12, None)
    studentized = standardized * np.sqrt(max(df - 1, 0) / rest)
    cooks = standardized**2 * fit.leverage / free / fit.design.x.shape[1]
    return Influence(standardized, studentized, fit.leverage, cooks)


def thresholds(fit: LinearFit) -> dict[str, float]:
    """Return the limits above which a row is flagged.

    studentized: Bonferroni-corrected two-sided t limit at 5 % over all rows; cooks: 4 / residual degrees of
    freedom; leverage: 3 p / n.
    """
    n, p = fit.design.x.shape
    df = max(fit.summary.df_residual - 1, 1)
    return {
        "studentized": float(stats.t.isf(_OUTLIER_LEVEL / (2 * n), df)),
        "cooks": 4 / fit.summary.df_residual,
        "leverage": _HIGH_LEVERAGE * p / n,
    }


def suspicious_rows(fit: LinearFit, found: Influence) -> tuple[tuple[SuspiciousRow, ...], int]:
    """Return the rows to look at, most influential first (at most `NAMED`), and how many were flagged in all.

    A row is flagged as an outlier (studentized residual) or as influential (Cook's distance); high leverage
    alone is no fault, and is mentioned only beside one of these.
    """
    limits = thresholds(fit)
    outlier = np.abs(found.studentized) > limits["studentized"]
    flagged = outlier | (found.cooks > limits["cooks"])
    order = np.flatnonzero(flagged)
    order = order[np.lexsort((-found.cooks[order], ~outlier[order]))]
    values = fit.design.frame.iloc[order[:NAMED]].to_dict("records")
    named = zip(order[:NAMED].tolist(), values, strict=True)
    rows = tuple(_describe(fit, found, limits, i, held) for i, held in named)
    return rows, int(flagged.sum())


def _describe(
    fit: LinearFit, found: Influence, limits: dict[str, float], i: int, values: dict[Hashable, object]
) -> SuspiciousRow:
    without = _beta_without(fit, i)
    adj_r2, sigma = _quality_without(fit, i)
    return SuspiciousRow(
        row=int(fit.design.rows[i]) + 1,
        values=_applying(fit, values),
        fitted=float(fit.fitted[i]),
        why=_reasons(fit, found, limits, i),
        studentized=float(found.studentized[i]),
        leverage=float(found.leverage[i]),
        cooks=float(found.cooks[i]),
        moves=_moves(fit, without),
        adj_r2_without=adj_r2,
        sigma_without=sigma,
    )


def _applying(fit: LinearFit, values: dict[Hashable, object]) -> dict[str, object]:
    """Return what the row holds, without factors that do not apply to it."""
    away = {nest.column for nest in fit.design.nests if values[nest.by] not in nest.applies}
    return {str(name): value for name, value in values.items() if name not in away}


def _reasons(fit: LinearFit, found: Influence, limits: dict[str, float], i: int) -> tuple[str, ...]:
    side = "above" if fit.residuals[i] > 0 else "below"
    reasons = []
    if abs(found.studentized[i]) > limits["studentized"]:
        reasons.append(
            f"{abs(found.studentized[i]):.1f} standard errors {side} the model (limit {limits['studentized']:.1f})"
        )
    if found.cooks[i] > limits["cooks"]:
        reasons.append(f"Cook's distance {found.cooks[i]:.3g} (limit {limits['cooks']:.3g})")
    if found.leverage[i] > limits["leverage"]:
        reasons.append(f"unusual factor values: leverage {found.leverage[i]:.3g} (limit {limits['leverage']:.3g})")
    return tuple(reasons)


def _beta_without(fit: LinearFit, i: int) -> Floats:
    free = max(1 - fit.leverage[i], 1e-12)
    without: Floats = fit.beta - fit.bread @ fit.design.x[i] * (fit.residuals[i] / free)
    return without


def _moves(fit: LinearFit, without: Floats) -> dict[str, tuple[float, float]]:
    pairs = zip(fit.coefficients, without, strict=True)
    return {c.name: (c.estimate, float(new)) for c, new in pairs if abs(new - c.estimate) > c.std_error}


def _quality_without(fit: LinearFit, i: int) -> tuple[float | None, float]:
    n, df = fit.summary.n, fit.summary.df_residual
    if df < 2:  # noqa: PLR2004 - one row less leaves no degree of freedom
        return fit.summary.adj_r2, fit.summary.sigma
    rss = fit.summary.sigma**2 * df - fit.residuals[i] ** 2 / max(1 - fit.leverage[i], 1e-12)
    rest = np.delete(fit.y, i)
    tss = float(((rest - rest.mean()) ** 2).sum() if fit.design.intercept else (rest**2).sum())
    spread = max(rss, 0.0) / (df - 1)
    if tss <= 0:
        return None, float(np.sqrt(spread))
    return 1 - spread / (tss / (n - 1 - int(fit.design.intercept))), float(np.sqrt(spread))
