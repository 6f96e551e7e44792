"""Which rows pull a model: leverage, studentized residuals, Cook's distance, the fit without them.

Everything about "without row i" is exact and comes from one fit (Cook & Weisberg 1982, chapter 2): no model
is refitted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from patternbench.analyze.models.linear import ALONE, LinearFit
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import Note

NAMED = 10
"""At most this many rows are named; how many were flagged is always said."""
_OUTLIER_LEVEL = 0.05
_HIGH_LEVERAGE = 3.0
_IDENTITY = 4
_TELLING_FIRST = ("scenario", "block", "round")
_NEVER_TELLING = ("status", "cause", "warnings", "valid")
_RARE = 0.2
_MOST_DIGITS = 10
_SHOWN_REPEATS = 3
_CANCELLED = 1e-6
"""A difference that is less than this share of what it is taken from has lost too many digits."""
_Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Influence:
    """Per row (n): internally and externally studentized residual, leverage, Cook's distance.

    Each is computed when it is asked for, because tables may be large and models many.
    """

    fit: LinearFit

    @property
    def leverage(self) -> Floats:
        """The diagonal of the hat matrix."""
        return self.fit.leverage

    @property
    def standardized(self) -> Floats:
        """The residuals by their own spread; 0 where a row alone determines a coefficient, and has none to judge."""
        # statsmodels' OLSInfluence computes the leverages again for this one.
        free = np.where(self.leverage < ALONE, 1 - self.leverage, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.fit.residuals / (self.fit.summary.sigma * np.sqrt(free))
        return np.where(np.isfinite(found), found, 0.0)

    @property
    def studentized(self) -> Floats:
        """The residuals by the spread of the other rows."""
        # statsmodels fits a model without each row for this one, and adds a p-value of each row to Cook's distance.
        found, df = self.standardized, self.fit.summary.df_residual
        return found * np.sqrt(max(df - 1, 0) / np.clip(df - found**2, 1e-12, None))

    @property
    def cooks(self) -> Floats:
        """Cook's distances."""
        free = np.where(self.leverage < ALONE, 1 - self.leverage, 1.0)
        distances: Floats = self.standardized**2 * self.leverage / free / len(self.fit.design.columns)
        return distances


@dataclass(frozen=True)
class Thresholds:
    """The limits above which a row is flagged: studentized residual, Cook's distance, leverage."""

    studentized: float
    cooks: float
    leverage: float


@dataclass(frozen=True)
class SuspiciousRow:
    """A row that stands out: its number, its values, the reason, and the fit without it.

    ``row`` counts from 1 in the table as given. ``identity`` holds the columns of the table that tell the row
    apart from all others, as few as it takes. ``moves`` maps each coefficient that changes by more than its
    standard error to its (with, without) values; ``adj_r2_without`` and ``sigma_without`` describe the model
    without the row.
    """

    row: int
    values: dict[str, object]
    identity: dict[str, object]
    fitted: float
    why: tuple[str, ...]
    studentized: float
    leverage: float
    cooks: float
    moves: dict[str, tuple[float, float]]
    adj_r2_without: float | None
    sigma_without: float


def thresholds(fit: LinearFit) -> Thresholds:
    """Return the limits above which a row is flagged.

    studentized: Bonferroni-corrected two-sided t limit at 5 % over all rows; cooks: 4 / residual degrees of
    freedom; leverage: 3 p / n.
    """
    n, p = len(fit.design.rows), len(fit.design.columns)
    df = max(fit.summary.df_residual - 1, 1)
    return Thresholds(
        studentized=float(stats.t.isf(_OUTLIER_LEVEL / (2 * n), df)),
        cooks=4 / fit.summary.df_residual,
        leverage=_HIGH_LEVERAGE * p / n,
    )


@dataclass(frozen=True)
class RowNames:
    """The columns of a table that may name its rows; each is looked through once, for all models of the table."""

    table: pd.DataFrame
    _codes: dict[str, _Codes] = field(default_factory=dict)

    @cached_property
    def telling(self) -> Sequence[str]:
        """The names of columns: texts, then whole numbers with the fewest values first."""
        counts = {str(name): self.table[name].nunique() for name in self.table if str(name) not in _NEVER_TELLING}
        others = [name for name, count in counts.items() if count > 1 and _names_things(self.table[name])]
        texts = [name for name in others if not pd.api.types.is_numeric_dtype(self.table[name])]
        numbers = sorted((name for name in others if name not in texts), key=counts.__getitem__)
        return sorted([*texts, *numbers], key=lambda name: name not in _TELLING_FIRST)

    def codes(self, name: str) -> _Codes:
        """Return the number of each row's value; -1 for a missing one."""
        if name not in self._codes:
            self._codes[name] = np.asarray(pd.factorize(self.table[name])[0], dtype=np.int32)
        return self._codes[name]

    def identity(self, row: int, but: Sequence[str]) -> dict[str, object]:
        """Return values of a row, column by column until no other row holds them all; never of the columns ``but``."""
        identity: dict[str, object] = {}
        alike = np.arange(len(self.table))
        for name in (one for one in self.telling if one not in but):
            codes = self.codes(name)
            same = alike[codes[alike] == codes[row]]
            if codes[row] >= 0 and len(same) < len(alike):
                identity[name], alike = self.table[name].iloc[row], same
            if len(alike) == 1 or len(identity) == _IDENTITY:
                break
        return identity


def _names_things(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_integer_dtype(column)


def suspicious_rows(fit: LinearFit, influence: Influence, names: RowNames) -> tuple[tuple[SuspiciousRow, ...], int]:
    """Return the rows to look at, most influential first (at most ``NAMED``), and how many were flagged in all.

    A row is flagged as an outlier (studentized residual) or as influential (Cook's distance); high leverage
    by itself isn't a fault, and is only mentioned together with one of these. ``names`` are those of the fitted table.
    """
    judged, limits = _JudgedFit.of(fit, influence), thresholds(fit)
    outlier = np.abs(judged.studentized) > limits.studentized
    flagged = outlier | (judged.cooks > limits.cooks)
    order = np.flatnonzero(flagged)
    order = order[np.lexsort((-judged.cooks[order], ~outlier[order]))][:NAMED]
    values = fit.design.frame.iloc[order].to_dict("records")
    named = zip(order.tolist(), values, strict=True)
    rows = tuple(_describe(judged, limits, names, i, held) for i, held in named)
    return rows, int(flagged.sum())


@dataclass(frozen=True)
class _JudgedFit:
    """A fit with what is asked of single rows (n each), and ``total``, the sum of squares of y around its ``mean``."""

    fit: LinearFit
    residuals: Floats
    leverage: Floats
    studentized: Floats
    cooks: Floats
    mean: float
    total: float

    @classmethod
    def of(cls, fit: LinearFit, influence: Influence) -> _JudgedFit:
        """Compute each for all rows, once."""
        mean = float(fit.y.mean()) if fit.design.intercept else 0.0
        total = float(((fit.y - mean) ** 2).sum())
        return cls(fit, fit.residuals, fit.leverage, influence.studentized, influence.cooks, mean, total)

    def total_without(self, i: int) -> float:
        """Return the sum of squares of y without a row, around the mean of the others."""
        n, own = len(self.fit.y), float(self.fit.y[i] - self.mean) ** 2
        rest = self.total - own * (n / (n - 1) if self.fit.design.intercept else 1.0)
        if rest > _CANCELLED * self.total:
            return rest
        others = np.delete(self.fit.y, i)
        return float(((others - others.mean() * self.fit.design.intercept) ** 2).sum())


def repeats(fit: LinearFit) -> list[Note]:
    """Note rows whose response is the same to the last digit, if chance doesn't explain that many repeats."""
    ordered = np.sort(fit.y)
    if not (ordered[1:] == ordered[:-1]).any():
        return []
    expected = _chance_repeats(fit.y)
    if expected is None or expected > _RARE:
        return []
    values = pd.Series(fit.y)
    shared = values[values.duplicated(keep=False)]
    groups = [", ".join(str(fit.design.rows[i] + 1) for i in equal.index) for _, equal in shared.groupby(shared)]
    more = f" and {len(groups) - _SHOWN_REPEATS:,} more" if len(groups) > _SHOWN_REPEATS else ""
    rows = " and in rows ".join(groups[:_SHOWN_REPEATS])
    text = (
        f"{fit.response} is the same to the last digit in rows {rows}{more}, where chance alone gives {expected:.2g} "
        "such pairs: copied by mistake?"
    )
    return [Note("repeated", text)]


def _chance_repeats(y: Floats) -> float | None:
    """Return how many pairs of equal values chance gives: pairs times 0.8^2 times the last digit over q90 - q10.

    Between those quantiles lie 0.8 of the values, taken as evenly spread. None where they hold no spread.
    """
    low, high = np.quantile(y, [0.1, 0.9])
    step = next((10.0**-d for d in range(_MOST_DIGITS) if np.allclose(y, np.round(y, d), rtol=0, atol=1e-12)), 0.0)
    return None if high <= low else float(len(y) * (len(y) - 1) / 2 * 0.64 * step / (high - low))


def _describe(
    judged: _JudgedFit, limits: Thresholds, names: RowNames, i: int, values: dict[Hashable, object]
) -> SuspiciousRow:
    fit, row = judged.fit, int(judged.fit.design.rows[i])
    adj_r2, sigma = _quality_without(judged, i)
    return SuspiciousRow(
        row=row + 1,
        values=_applying(fit, values),
        identity=names.identity(row, fit.design.parsed.left),
        fitted=float(fit.fitted[i]),
        why=_reasons(judged, limits, i),
        studentized=float(judged.studentized[i]),
        leverage=float(judged.leverage[i]),
        cooks=float(judged.cooks[i]),
        moves=_moves(fit, _beta_without(judged, i)),
        adj_r2_without=adj_r2,
        sigma_without=sigma,
    )


def _applying(fit: LinearFit, values: dict[Hashable, object]) -> dict[str, object]:
    """Return what the row holds, without factors that do not apply to it."""
    away = {nest.column for nest in fit.design.nests if values[nest.by] not in nest.applies}
    return {str(name): value for name, value in values.items() if name not in away}


def _reasons(judged: _JudgedFit, limits: Thresholds, i: int) -> tuple[str, ...]:
    side = "above" if judged.residuals[i] > 0 else "below"
    errors, cooks, leverage = abs(judged.studentized[i]), judged.cooks[i], judged.leverage[i]
    reasons = []
    if errors > limits.studentized:
        reasons.append(f"{errors:.1f} standard errors {side} the model (limit {limits.studentized:.1f})")
    if cooks > limits.cooks:
        reasons.append(f"Cook's distance {cooks:.3g} (limit {limits.cooks:.3g})")
    if leverage > limits.leverage:
        reasons.append(f"unusual factor values: leverage {leverage:.3g} (limit {limits.leverage:.3g})")
    return tuple(reasons)


def _beta_without(judged: _JudgedFit, i: int) -> Floats:
    fit, free = judged.fit, max(1 - judged.leverage[i], 1e-12)
    without: Floats = fit.beta - fit.basis.r_inverse @ fit.basis.q[i] * (judged.residuals[i] / free)
    return without


def _moves(fit: LinearFit, without: Floats) -> dict[str, tuple[float, float]]:
    pairs = zip(fit.coefficients, without, strict=True)
    return {c.name: (c.estimate, float(new)) for c, new in pairs if abs(new - c.estimate) > c.std_error}


def _quality_without(judged: _JudgedFit, i: int) -> tuple[float | None, float]:
    fit, n, df = judged.fit, judged.fit.summary.n, judged.fit.summary.df_residual
    if df < 2:  # noqa: PLR2004 - one row less leaves no degree of freedom
        return fit.summary.adj_r2, fit.summary.sigma
    rss = fit.summary.sigma**2 * df - judged.residuals[i] ** 2 / max(1 - judged.leverage[i], 1e-12)
    spread, tss = max(rss, 0.0) / (df - 1), judged.total_without(i)
    if tss <= 0:
        return None, float(np.sqrt(spread))
    return 1 - spread / (tss / (n - 1 - int(fit.design.intercept))), float(np.sqrt(spread))
