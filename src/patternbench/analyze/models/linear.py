"""Least squares, for one response or several over the same design: statsmodels' results in the words of R's ``lm``.

A design is decomposed once (x = q r), and statsmodels is given q, with the solution: in the units of the table a column
near 1e9 would leave no digits, and its own ``fit`` decomposes x again for each response, by a slower method. AIC and
BIC count the residual variance as a parameter, as R's do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from statsmodels.regression.linear_model import OLS, OLSResults

from patternbench.analyze.models.decomposition import decomposed
from patternbench.analyze.models.formula import DesignMatrix
from patternbench.analyze.models.inference import LEAST_SQUARES, Coefficient, Inference
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import Note

ALONE = 1 - 1e-10
"""From this leverage on, a row determines a coefficient alone, so that it has no residual to judge."""


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

    ``remade`` makes the orthonormal columns again, ``r_inverse`` is p x p, ``leverage`` the diagonal of the hat matrix
    (n).
    """

    remade: Callable[[], Floats]
    r_inverse: Floats
    leverage: Floats

    @cached_property
    def q(self) -> Floats:
        """The orthonormal columns (n x p)."""
        return self.remade()

    def forget(self) -> None:
        """Give up ``q``, which is as large as the design, until it is asked for again."""
        self.__dict__.pop("q", None)

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
    basis: Factorization
    summary: Summary
    coefficients: tuple[Coefficient, ...]
    level: float

    @property
    def residuals(self) -> Floats:
        """What is left of the response (n); computed again each time, because tables may be large."""
        return self.y - self.fitted

    @property
    def leverage(self) -> Floats:
        """Diagonal of the hat matrix (n)."""
        return self.basis.leverage

    @property
    def bread(self) -> Floats:
        """Inverse of X'X (p x p)."""
        return self.basis.bread

    @property
    def results(self) -> OLSResults:
        """Statsmodels' results, which compute what they are asked for."""
        return regression(self.y, self.basis.q, self.design.intercept)


def factorize(design: DesignMatrix) -> Factorization:
    """Decompose the design's full-rank matrix x (n x p).

    With an intercept the other columns are centred first: x = (x - 1 m') (I + e m'), e picking the intercept, so
    the inverse of R is (I - e m') times that of the centred columns. Uncentred, a column near 1e9 leaves no digits.
    """
    means = design.centre
    q, r = decomposed(design.x, means)
    r_inverse = solve_triangular(r, np.eye(r.shape[0]))
    if design.intercept:
        r_inverse[design.columns.index("Intercept")] -= means @ r_inverse
    made = Factorization(lambda: decomposed(design.x, means)[0], r_inverse, np.einsum("ij,ij->i", q, q))
    made.__dict__["q"] = q
    return made


def regression(y: Floats, q: Floats, intercept: bool) -> OLSResults:
    """Return statsmodels' results for y (n) on orthonormal columns q (n x p), of which q'y is the solution."""
    model = OLS(y, q, hasconst=False)  # said below: it would look for the constant among the columns
    model.k_constant, model.pinv_wexog = int(intercept), q.T
    model.df_model, model.df_resid = float(q.shape[1] - int(intercept)), float(len(y) - q.shape[1])
    return OLSResults(model, q.T @ y, normalized_cov_params=np.eye(q.shape[1]))


def fit_linear(design: DesignMatrix, factorization: Factorization, column: int, level: float = 0.95) -> LinearFit:
    """Fit response ``column`` of ``design``; ``level`` is the confidence of the coefficients' intervals."""
    y, root = design.y[:, column], factorization.r_inverse
    found = regression(y, factorization.q, design.intercept)
    summary, beta = _summary(design, found), root @ found.params
    return LinearFit(
        design=design,
        response=design.responses[column],
        y=y,
        beta=beta,
        fitted=found.fittedvalues,
        basis=factorization,
        summary=summary,
        coefficients=_plain(beta, root, summary).coefficients(design, level, inflation(design)),
        level=level,
    )


def plain_inference(fit: LinearFit) -> Inference:
    """Return the coefficients of least squares, for independent rows with equal spread."""
    return _plain(fit.beta, fit.basis.r_inverse, fit.summary)


def _plain(beta: Floats, root: Floats, summary: Summary) -> Inference:
    return Inference(LEAST_SQUARES, beta, root, np.eye(len(beta)) * summary.sigma**2, summary.df_residual)


def _summary(design: DesignMatrix, found: OLSResults) -> Summary:
    n, p = len(design.rows), len(design.columns)
    with np.errstate(divide="ignore"):  # where nothing is left to vary, F and the likelihood are infinite
        return Summary(
            n=n,
            df_model=p - int(design.intercept),
            df_residual=n - p,
            r2=float(found.rsquared),
            adj_r2=float(found.rsquared_adj),
            f=float(found.fvalue),
            f_p=float(found.f_pvalue),
            aic=float(found.info_criteria("aic", dk_params=1)),
            bic=float(found.info_criteria("bic", dk_params=1)),
            log_likelihood=float(found.llf),
            sigma=float(np.sqrt(found.scale)),
        )


def inflation(design: DesignMatrix) -> dict[str, float]:
    """Return the variance inflation factor of every column but the intercept (1 = explained by no other).

    It is the diagonal of the inverse of the columns' correlation matrix (Fox & Monette 1992, equation 2).
    """
    names = [name for name in design.columns if name != "Intercept"]
    if not names or not design.intercept:
        return {}
    return dict(zip(names, (float(v) for v in np.diag(np.linalg.inv(design.correlation))), strict=True))


def generalized_inflation(design: DesignMatrix) -> dict[str, float]:
    """Return, for every term, GVIF^(1/(2 df)): comparable between terms of one column and of several.

    GVIF = det(R_term) det(R_others) / det(R), R the correlation of the columns (Fox & Monette 1992). Values
    above 2.2 (a VIF of 5) say that other terms carry much of the same information.
    """
    if not design.intercept:
        return {}
    whole = design.correlation
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
    whole = design.correlation
    shift = design.columns.index("Intercept")
    result = {}
    for name in design.parsed.right:
        partners = {other for block in design.blocks if name in block.reads for other in block.reads}
        inside = [c - (c > shift) for block in design.blocks if partners & set(block.reads) for c in block.columns]
        if inside:
            result[name] = _gvif(whole, inside) ** (1 / (2 * len(inside)))
    return result


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
