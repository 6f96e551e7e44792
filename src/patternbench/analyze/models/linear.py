"""Ordinary least squares, for one response or several over the same design.

The numbers follow R's `lm` and `summary.lm`: t and F tests under equal variance, adjusted R2, and AIC and
BIC that count the residual variance as a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular

from patternbench.analyze.arrays import Floats
from patternbench.analyze.models.formula import DesignMatrix, centres
from patternbench.terms.data_problems import Note


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: estimate, interval, t test against zero, and variance inflation."""

    name: str
    estimate: float
    std_error: float
    ci_low: float
    ci_high: float
    t: float
    p: float
    vif: float | None


@dataclass(frozen=True)
class Summary:
    """How well one response is explained: shares, overall F test, information criteria, spread."""

    n: int
    df_model: int
    df_residual: int
    r2: float
    adj_r2: float
    f: float
    f_p: float
    aic: float
    bic: float
    log_likelihood: float
    sigma: float


@dataclass(frozen=True)
class Factorization:
    """The QR decomposition of a design, computed once and shared by all its responses.

    `q` is n x p orthonormal, `r_inverse` p x p, `leverage` the diagonal of the hat matrix (n).
    """

    q: Floats
    r_inverse: Floats
    leverage: Floats

    @property
    def bread(self) -> Floats:
        """Return the inverse of X'X (p x p)."""
        return self.r_inverse @ self.r_inverse.T


@dataclass(frozen=True)
class LinearFit:
    """One response fitted on one design."""

    design: DesignMatrix
    response: str
    y: Floats
    beta: Floats
    fitted: Floats
    residuals: Floats
    basis: Factorization
    summary: Summary
    coefficients: tuple[Coefficient, ...]
    level: float

    @property
    def leverage(self) -> Floats:
        """Diagonal of the hat matrix (n)."""
        return self.basis.leverage

    @property
    def bread(self) -> Floats:
        """Inverse of X'X (p x p)."""
        return self.basis.bread


def factorize(design: DesignMatrix) -> Factorization:
    """Decompose the design's full-rank matrix x (n x p).

    With an intercept the other columns are centred first: x = (x - 1 m') (I + e m'), e picking the intercept, so
    the inverse of R is (I - e m') times that of the centred columns. Uncentred, a column near 1e9 leaves no digits.
    """
    means = centres(design.x, design.columns)
    q, r = np.linalg.qr(design.x - means)
    r_inverse = solve_triangular(r, np.eye(r.shape[0]))
    if design.intercept:
        r_inverse[design.columns.index("Intercept")] -= means @ r_inverse
    return Factorization(q, r_inverse, np.einsum("ij,ij->i", q, q))


def fit_linear(design: DesignMatrix, factorization: Factorization, column: int, level: float = 0.95) -> LinearFit:
    """Fit response `column` of `design`; `level` is the confidence of the coefficients' intervals."""
    y = design.y[:, column]
    effects = factorization.q.T @ y
    beta = factorization.r_inverse @ effects
    fitted = factorization.q @ effects
    residuals = y - fitted
    summary = _summary(design, y, residuals)
    errors = summary.sigma * np.sqrt(np.diag(factorization.bread))
    coefficients = coefficient_table(design, beta, errors, summary.df_residual, level)
    return LinearFit(
        design=design,
        response=design.responses[column],
        y=y,
        beta=beta,
        fitted=fitted,
        residuals=residuals,
        basis=factorization,
        summary=summary,
        coefficients=coefficients,
        level=level,
    )


def coefficient_table(
    design: DesignMatrix, beta: Floats, errors: Floats, df: int, level: float
) -> tuple[Coefficient, ...]:
    """Lay out estimates and standard errors with their t tests and intervals at confidence `level`."""
    margin = float(stats.t.ppf(0.5 + level / 2, df)) * errors
    t = np.divide(beta, errors, out=np.full_like(beta, np.inf), where=errors > 0)
    p = 2 * stats.t.sf(np.abs(t), df)
    table = np.column_stack([beta, errors, beta - margin, beta + margin, t, p])
    return coefficients_of(design.columns, table, inflation(design))


def coefficients_of(names: Sequence[str], table: Floats, vif: Mapping[str, float]) -> tuple[Coefficient, ...]:
    """Name the rows of `table`: estimate, standard error, interval ends, t, p."""
    rows = zip(names, table.tolist(), strict=True)
    return tuple(_coefficient(name, row, vif.get(name)) for name, row in rows)


def _coefficient(name: str, row: Sequence[float], vif: float | None) -> Coefficient:
    estimate, error, low, high, t, p = row
    return Coefficient(name, estimate, error, low, high, t, p, vif)


def _summary(design: DesignMatrix, y: Floats, residuals: Floats) -> Summary:
    n, p = design.x.shape
    df_model, df_residual = p - int(design.intercept), n - p
    rss = float(residuals @ residuals)
    centred = y - y.mean() if design.intercept else y
    tss = float(centred @ centred)
    f = ((tss - rss) / df_model) / (rss / df_residual) if rss > 0 else np.inf
    loglik = -0.5 * n * (np.log(2 * np.pi) + np.log(max(rss, np.finfo(float).tiny) / n) + 1)
    return Summary(
        n=n,
        df_model=df_model,
        df_residual=df_residual,
        r2=1 - rss / tss,
        adj_r2=1 - (rss / df_residual) / (tss / (n - int(design.intercept))),
        f=float(f),
        f_p=float(stats.f.sf(f, df_model, df_residual)),
        aic=float(-2 * loglik + 2 * (p + 1)),
        bic=float(-2 * loglik + np.log(n) * (p + 1)),
        log_likelihood=float(loglik),
        sigma=float(np.sqrt(rss / df_residual)),
    )


def inflation(design: DesignMatrix) -> dict[str, float]:
    """Return the variance inflation factor of every column but the intercept (1 = explained by no other).

    It is the diagonal of the inverse of the columns' correlation matrix (Fox & Monette 1992, equation 2).
    """
    names = [name for name in design.columns if name != "Intercept"]
    if not names or not design.intercept:
        return {}
    return dict(zip(names, (float(v) for v in np.diag(np.linalg.inv(_correlation(design)))), strict=True))


def generalized_inflation(design: DesignMatrix) -> dict[str, float]:
    """Return, for every term, GVIF^(1/(2 df)): comparable between terms of one column and of several.

    GVIF = det(R_term) det(R_others) / det(R), R the correlation of the columns (Fox & Monette 1992). Values
    above 2.2 (a VIF of 5) say that other terms carry much of the same information.
    """
    if not design.intercept:
        return {}
    whole = _correlation(design)
    shift = design.columns.index("Intercept")
    result = {}
    for block in design.blocks:
        inside = [c - (c > shift) for c in block.columns if c != shift]
        if inside:
            result[block.name] = _gvif(whole, inside) ** (1 / (2 * len(inside)))
    return result


def factor_inflation(design: DesignMatrix) -> dict[str, float]:
    """Return GVIF^(1/(2 df)) of every factor: all columns of terms that read it or what it interacts with, in one.

    A factor and its own square or interaction are always correlated where they are not centred, which says nothing
    about other factors (Fox & Weisberg, car's vif by predictor).
    """
    if not design.intercept:
        return {}
    whole = _correlation(design)
    shift = design.columns.index("Intercept")
    result = {}
    for name in design.parsed.right:
        partners = {other for block in design.blocks if name in block.reads for other in block.reads}
        inside = [c - (c > shift) for block in design.blocks if partners & set(block.reads) for c in block.columns]
        if inside:
            result[name] = _gvif(whole, inside) ** (1 / (2 * len(inside)))
    return result


def _correlation(design: DesignMatrix) -> Floats:
    columns = [i for i, name in enumerate(design.columns) if name != "Intercept"]
    return np.atleast_2d(np.corrcoef(design.x[:, columns], rowvar=False))


def _gvif(whole: Floats, inside: list[int]) -> float:
    outside = [i for i in range(len(whole)) if i not in inside]
    _, part = np.linalg.slogdet(whole[np.ix_(inside, inside)])
    _, rest = np.linalg.slogdet(whole[np.ix_(outside, outside)]) if outside else (1.0, 0.0)
    return float(np.exp(part + rest - np.linalg.slogdet(whole)[1]))


def exact_fit_note(fit: LinearFit) -> list[Note]:
    """Say so when the model reproduces the response exactly, because every test is then meaningless."""
    spread = float(np.abs(fit.y).max())
    if fit.summary.sigma > np.finfo(float).eps * spread * len(fit.y):
        return []
    text = f"The model reproduces {fit.response} exactly: check that a term is not the response in other words."
    return [Note("exact_fit", text)]
