"""Mixed models: every level of a group has its own intercept, and where asked its own slopes.

The variances are statsmodels' (REML); the degrees of freedom of each estimate are Satterthwaite's, with the expected
information of the variances, which in balanced data gives the classical ones: groups minus what is estimated between
them, and rows minus groups minus what is estimated within. Normal quantiles would cover 82 % instead of 95 % at four
groups. Sources: Laird & Ware 1982; Giesbrecht & Burns 1985; Kenward & Roger 1997, equations 3 to 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.regression.mixed_linear_model import MixedLM

from patternbench.analyze.models.formula import DesignMatrix
from patternbench.analyze.models.inference import Inference, VarianceParts
from patternbench.analyze.models.linear import Factorization, LinearFit
from patternbench.terms.arrays import Floats, Ints

MIXED = "mixed model"


@dataclass(frozen=True)
class MixedFit:
    """A fitted mixed model.

    ``random`` (p x k) makes the random columns of a row of the design: intercept, then slopes (centred, scaled);
    ``between`` (k x k) is their covariance over the groups, ``within`` the variance of a row in its group.
    """

    inference: Inference
    random: Floats
    slopes: tuple[str, ...]
    between: Floats
    within: float
    groups: int
    log_likelihood: float
    explained: float

    @property
    def share(self) -> float:
        """Intraclass correlation at the mean of the factors, 0 to 1."""
        return float(self.between[0, 0] / (self.between[0, 0] + self.within))


def fit_mixed(fit: LinearFit, basis: Factorization, groups: pd.Series, slopes: Sequence[str] = ()) -> MixedFit:
    """Fit the design of ``fit`` with a random intercept per level of ``groups``, and random slopes of the factors
    ``slopes``.

    The design needs an intercept; ``basis`` is its decomposition. The response is scaled by its residual spread before
    statsmodels sees it.
    """
    scale = max(fit.summary.sigma, np.finfo(float).tiny)
    random = random_columns(fit.design, slopes)
    z: Floats = fit.design.x @ random
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a variance of zero is an answer here, not a failure
        fitted = MixedLM(fit.y / scale, basis.q, groups.to_numpy(), exog_re=z).fit(reml=True)
    between = np.atleast_2d(np.asarray(fitted.cov_re, dtype=float)) * scale**2
    within, gamma = float(fitted.scale) * scale**2, np.asarray(fitted.fe_params, dtype=float) * scale
    core, parts = _information(basis.q, z, _rows_of(groups), (between, within))
    beta, df = basis.r_inverse @ gamma, float(fit.summary.df_residual)
    return MixedFit(
        inference=Inference(MIXED, beta, basis.r_inverse, core, df, parts),
        random=random,
        slopes=tuple(slopes),
        between=between,
        within=within,
        groups=int(groups.nunique()),
        log_likelihood=float(fitted.llf) - len(z) * float(np.log(scale)),
        explained=_explained(basis.q @ gamma, z, between, within),
    )


def random_columns(design: DesignMatrix, slopes: Sequence[str]) -> Floats:
    """Return the matrix (p x k) that turns a row of the design into an intercept and the centred, scaled slopes."""
    places = [i for block in design.blocks if block.reads in [(name,) for name in slopes] for i in block.columns]
    random = np.zeros((len(design.columns), 1 + len(places)))
    constant = design.columns.index("Intercept")
    random[constant, 0] = 1.0
    for k, column in enumerate(places, start=1):
        spread = float(design.x[:, column].std())
        random[column, k], random[constant, k] = 1 / spread, -float(design.x[:, column].mean()) / spread
    return random


def _rows_of(groups: pd.Series) -> list[Ints]:
    codes, names = pd.factorize(groups.to_numpy())
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])


def _explained(fixed: Floats, z: Floats, between: Floats, within: float) -> float:
    """Return the share of the variance that the factors explain: the marginal R2 of Nakagawa & Schielzeth 2013."""
    systematic = float(fixed.var())
    groups = float(np.einsum("ij,jk,ik->i", z, between, z).mean())
    return systematic / (systematic + groups + within)


# --- how sure the variances are
# ----------------------------------------------------------------------------------------------------


@dataclass
class _Sums:
    """Sums over the groups, with V = Z G Z' + s^2 I: X'V^-1X, P_k = X'V^-1 V_k V^-1 X, and the traces of KR's eq. 5."""

    normal: Floats
    p: Floats
    q: Floats
    traces: Floats


def _information(
    x: Floats, z: Floats, rows: list[Ints], variances: tuple[Floats, float]
) -> tuple[Floats, VarianceParts]:
    """Return the covariance of the coefficients, its derivatives by the variances, and the variances' covariance."""
    directions = _directions(z.shape[1])
    k, p = len(directions) + 1, x.shape[1]
    sums = _Sums(np.zeros((p, p)), np.zeros((k, p, p)), np.zeros((k, k, p, p)), np.zeros((k, k)))
    for own in rows:
        _add_group(sums, x[own], z[own], variances, directions)
    phi = np.asarray(np.linalg.inv(sums.normal), dtype=np.float64)
    ratio = np.array([phi @ one for one in sums.p])
    twice = np.einsum("ij,klji->kl", phi, sums.q)
    information = 0.5 * (sums.traces - 2 * twice + np.einsum("kij,lji->kl", ratio, ratio))
    gradients = np.array([one @ phi for one in ratio])
    return phi, VarianceParts(gradients, np.linalg.pinv(information, hermitian=True))


def _directions(k: int) -> list[Floats]:
    """Return the derivative of G by each of its own entries: symmetric k x k matrices."""
    directions = []
    for a in range(k):
        for b in range(a, k):
            one = np.zeros((k, k))
            one[a, b] = one[b, a] = 1.0
            directions.append(one)
    return directions


def _add_group(sums: _Sums, x: Floats, z: Floats, variances: tuple[Floats, float], directions: list[Floats]) -> None:
    """Add one group; V^-1 = (I - Z M Z') / s^2 with M = G (s^2 I + Z'Z G)^-1, so only small matrices are needed."""
    (g, s2), a, b, c = variances, z.T @ z, z.T @ x, x.T @ x
    m = g @ np.linalg.inv(s2 * np.eye(len(g)) + a @ g)
    ma, mb = m @ a, m @ b
    u, h = (b - a @ mb) / s2, (a - a @ ma) / s2
    z2x = (b - 2 * a @ mb + a @ ma @ mb) / s2**2
    z2z = (a - 2 * a @ ma + a @ ma @ ma) / s2**2
    sums.normal += (c - b.T @ mb) / s2
    last = len(directions)
    sums.p[last] += (c - 2 * b.T @ mb + b.T @ ma @ mb) / s2**2
    sums.q[last, last] += (c - 3 * b.T @ mb + 3 * b.T @ ma @ mb - b.T @ ma @ ma @ mb) / s2**3
    sums.traces[last, last] += (len(x) - 2 * np.trace(ma) + np.trace(ma @ ma)) / s2**2
    for j, one in enumerate(directions):
        sums.p[j] += u.T @ one @ u
        cross = u.T @ one @ z2x
        sums.q[j, last] += cross
        sums.q[last, j] += cross.T
        sums.traces[[j, last], [last, j]] += np.trace(one @ z2z)
        for k, other in enumerate(directions):
            sums.q[j, k] += u.T @ one @ h @ other @ u
            sums.traces[j, k] += np.trace(one @ h @ other @ h)
