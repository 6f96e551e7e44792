"""How far a new observation scatters around the mean: equally everywhere, by the factors, or by groups.

Where the spread is unequal, its logarithm is regressed on the factors (Harvey 1976) or on the logarithm of the mean
(the power of the mean, Carroll & Ruppert 1988, section 2.2), whichever has the smaller AIC.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm

from patternbench.analyze.models.linear import LinearFit
from patternbench.analyze.models.mixed import MixedFit
from patternbench.analyze.models.robust import Remedy
from patternbench.terms.arrays import Floats

_LEAST_SHARE = 1e-6
_TERMS = (2, 3)
"""A power of the mean has two terms; a third lets the power change with the mean."""


@dataclass(frozen=True)
class Spread:
    """The variance of one new observation around its mean, as plain data.

    ``kind`` is constant (``coefficients``: the variance), factors (log-variance by the orthonormal columns of the
    design), power (log-variance as a polynomial of the log of the mean, within the fitted means, ``ends``) or mixed
    (``random``, ``between``, ``within``).
    """

    kind: str
    coefficients: Floats
    ends: tuple[float, float] = (0.0, 0.0)
    random: Floats | None = None
    between: Floats | None = None
    within: float = 0.0

    def over(self, rows: Floats, root: Floats, means: Floats) -> Floats:
        """Return the variances (n) at rows of the design (n x p) whose means are ``means``; ``root`` is its r^-1."""
        if self.kind == "factors":
            return np.asarray(np.exp(rows @ root @ self.coefficients), dtype=np.float64)
        if self.kind == "power":
            logs = np.log(np.clip(means, *self.ends))
            return np.asarray(np.exp(np.polynomial.polynomial.polyval(logs, self.coefficients)), dtype=np.float64)
        if self.random is not None and self.between is not None:
            z = rows @ self.random
            return np.asarray(((z @ self.between) * z).sum(axis=1) + self.within, dtype=np.float64)
        return np.full(len(rows), float(self.coefficients[0]))

    def at(self, row: Floats, root: Floats, mean: float) -> float:
        """Return the variance at one row of the design whose mean is ``mean``."""
        return float(self.over(row[None, :], root, np.array([mean]))[0])

    def gradient(self, row: Floats) -> Floats:
        """Return the derivatives of a mixed model's variance by its parameters, in the order of its inference."""
        if self.random is None:
            return np.empty(0)
        z = row @ self.random
        pairs = [(a, b) for a in range(len(z)) for b in range(a, len(z))]
        return np.array([*((1 if a == b else 2) * z[a] * z[b] for a, b in pairs), 1.0])

    def as_json(self) -> dict[str, object]:
        """Lay it out as plain data, which a prediction needs."""
        return {
            "kind": self.kind,
            "coefficients": self.coefficients.tolist(),
            "ends": list(self.ends),
            "random": None if self.random is None else self.random.tolist(),
            "between": None if self.between is None else self.between.tolist(),
            "within": self.within,
        }


def spread_of(fit: LinearFit, remedy: Remedy | None) -> Spread:
    """Return how observations scatter around ``fit``, by the remedy that replaces its standard errors."""
    if remedy is not None and remedy.mixed is not None:
        return _mixed(remedy.mixed)
    if remedy is not None and "Breusch-Pagan" in remedy.because:
        return _unequal(fit)
    return _constant(fit)


def _constant(fit: LinearFit) -> Spread:
    return Spread("constant", np.array([fit.summary.sigma**2]))


def _mixed(mixed: MixedFit) -> Spread:
    return Spread("mixed", np.empty(0), (0.0, 0.0), mixed.random, mixed.between, mixed.within)


def _unequal(fit: LinearFit) -> Spread:
    squared = fit.residuals**2 / np.clip(1 - fit.leverage, 1e-12, None)
    squared = np.maximum(squared, _LEAST_SHARE * float(squared.mean()))
    candidates = [("factors", fit.basis.q)]
    if (fit.fitted > 0).all():
        candidates += [("power", np.vander(np.log(fit.fitted), terms, increasing=True)) for terms in _TERMS]
    fitted = [(kind, *found) for kind, columns in candidates if (found := _log_variance(squared, columns))]
    if not fitted:
        return _constant(fit)
    kind, coefficients, _ = min(fitted, key=lambda one: one[2])
    return Spread(kind, coefficients, (float(fit.fitted.min()), float(fit.fitted.max())))


def _log_variance(squared: Floats, columns: Floats) -> tuple[Floats, float] | None:
    """Regress the log-variance on ``columns`` (normal residuals: a gamma model); returns coefficients and AIC.

    None where the iterations end nowhere: a few rounds far off, among others that repeat nearly exactly, can push a
    fitted variance beyond all numbers.
    """
    family = sm.families.Gamma(link=sm.families.links.Log())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the result shows whether a step overflowed
            fitted = sm.GLM(squared, columns, family=family).fit()
    except (ValueError, np.linalg.LinAlgError):
        return None
    variance, coefficients = np.asarray(fitted.fittedvalues, dtype=float), np.asarray(fitted.params, dtype=float)
    if not (np.isfinite(coefficients).all() and (variance > 0).all() and np.isfinite(variance).all()):
        return None
    aic = float((np.log(variance) + squared / variance).sum()) + 2 * columns.shape[1]
    return coefficients, aic
