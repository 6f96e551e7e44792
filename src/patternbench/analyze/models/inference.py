"""How sure estimates are: the coefficients that are to be read, their covariance and their degrees of freedom.

Everything is kept in the orthonormal basis q of the design (x = q r): a row d of the design becomes w = d r^-1, its
estimate d'b has the variance w' C w. In the units of the table a column near 1e9 would leave no digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from statsmodels.stats.contrast import ContrastResults

from patternbench.analyze.models.formula import DesignMatrix
from patternbench.terms.arrays import Bools, Floats

LEAST_SQUARES = "least squares"
_FEWEST_DF = 1.0
_ROUNDING = 1e-12


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
class VarianceParts:
    """The change of an estimate's variance with each variance parameter, and how sure those parameters are.

    ``gradients`` is k x p x p: the derivative of C by each parameter; ``covariance`` (k x k) that of the parameters.
    """

    gradients: Floats
    covariance: Floats


@dataclass(frozen=True)
class Inference:
    """Coefficients to read: ``beta`` (p), r^-1 as ``root`` (p x p), C as ``core`` (p x p), degrees of freedom ``df``.

    With ``parts`` the degrees of freedom of each estimate are Satterthwaite's and ``df`` is not used.
    """

    kind: str
    beta: Floats
    root: Floats
    core: Floats
    df: float
    parts: VarianceParts | None = field(default=None, compare=False)

    @property
    def covariance(self) -> Floats:
        """Covariance of the coefficients (p x p)."""
        covariance: Floats = self.root @ self.core @ self.root.T
        return covariance

    def at(self, row: Floats) -> tuple[float, float, float]:
        """Return the estimate at a row (or a difference of rows) of the design: value, standard error, df."""
        w = row @ self.root
        variance = max(float(w @ self.core @ w), 0.0)
        return float(row @ self.beta), float(np.sqrt(variance)), self.freedom(variance, self.gradient(w))

    def gradient(self, w: Floats) -> Floats:
        """Return how the variance at ``w`` changes with each variance parameter (k); empty without parameters."""
        if self.parts is None:
            return np.empty(0)
        gradient: Floats = np.einsum("i,kij,j->k", w, self.parts.gradients, w)
        return gradient

    def freedom(self, variance: float, gradient: Floats) -> float:
        """Return Satterthwaite's degrees of freedom, 2 V^2 / var(V): those of a chi-square as uncertain as V."""
        if self.parts is None or variance <= 0:
            return self.df
        uncertainty = float(gradient @ self.parts.covariance @ gradient)
        return self.df if uncertainty <= 0 else max(2 * variance**2 / uncertainty, _FEWEST_DF)

    def interval(self, row: Floats, level: float) -> tuple[float, float, float]:
        """Return the estimate at a row of the design and the ends of its interval."""
        value, error, df = self.at(row)
        reach = error * float(stats.t.ppf((1 + level) / 2, df))
        return value, value - reach, value + reach

    def coefficients(self, design: DesignMatrix, level: float, vif: Mapping[str, float]) -> tuple[Coefficient, ...]:
        """Lay out every coefficient with its t test against zero and its interval at confidence ``level``."""
        return self.laid_out(design.columns, level, vif)

    def laid_out(self, columns: Sequence[str], level: float, vif: Mapping[str, float]) -> tuple[Coefficient, ...]:
        """Lay out every coefficient by the names of the columns."""
        estimates = [self.at(row) for row in np.eye(len(self.beta))]
        estimate, error, df = (np.array(column) for column in zip(*estimates, strict=True))
        ratio = np.divide(estimate, error, out=np.full_like(estimate, np.inf), where=error > 0)
        tested = ContrastResults(effect=estimate, sd=error, t=ratio, df_denom=df)
        ends, p_values = tested.conf_int(1 - level).tolist(), np.atleast_1d(tested.pvalue).tolist()
        rows = zip(columns, estimate.tolist(), error.tolist(), ends, ratio.tolist(), p_values, strict=True)
        return tuple(
            Coefficient(name, b, se, low, high, t, p, vif.get(name)) for name, b, se, (low, high), t, p in rows
        )

    def _varies(self) -> Bools:
        """Which coefficients have a variance that is more than what rounding leaves of the terms it is a sum of."""
        size = np.abs(self.root)
        terms = np.einsum("ij,jk,ik->i", size, np.abs(self.core), size)
        return np.asarray(np.diag(self.covariance) > _ROUNDING * terms)

    def overall(self, design: DesignMatrix) -> tuple[float, int, float, float]:
        """Test all coefficients but the intercept together by Wald: F, its two degrees of freedom, p.

        The second are the fewest of the coefficients', which is on the safe side. Coefficients that never vary, but for
        the rounding of doubles, are left out; NaN where all are.
        """
        varies = self._varies()
        places = [i for i, name in enumerate(design.columns) if name != "Intercept" and varies[i]]
        if not places:
            return float("nan"), 0, self.df, float("nan")
        covariance = self.covariance[np.ix_(places, places)]
        scale = np.sqrt(np.diag(covariance))
        z = self.beta[places] / scale
        f = float(z @ np.linalg.lstsq(covariance / np.outer(scale, scale), z, rcond=None)[0]) / len(places)
        df = min(self.at(row)[2] for row in np.eye(len(self.beta))[places])
        return f, len(places), df, float(stats.f.sf(f, len(places), df))
