"""Which rows pull a model: leverage, studentized residuals, Cook's distance, the fit without them.

Everything about "without row i" is exact and comes from one fit (Cook & Weisberg 1982, chapter 2): no model
is refitted.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.stats.outliers_influence import OLSInfluence

from patternbench.analyze.arrays import Floats
from patternbench.analyze.models.linear import ALONE, LinearFit
from patternbench.terms.data_problems import Note

#: At most this many rows are named; how many were flagged is always said.
NAMED = 10
_OUTLIER_LEVEL = 0.05
_HIGH_LEVERAGE = 3.0
_IDENTITY = 4
_TELLING_FIRST = ("scenario", "block", "round")
_NEVER_TELLING = ("status", "cause", "warnings", "valid")
_RARE = 0.2
_MOST_DIGITS = 10
_SHOWN_REPEATS = 3


@dataclass(frozen=True)
class Influence:
    """Per row (n): internally and externally studentized residual, leverage, Cook's distance.

    Of a model with ``width`` coefficients and ``df`` residual degrees of freedom. The other two follow from
    ``standardized``, and are computed when they are asked for: tables may be large.
    """

    standardized: Floats
    leverage: Floats
    df: int
    width: int

    @property
    def studentized(self) -> Floats:
        """The residuals by the spread of the other rows."""
        # statsmodels fits a model without each row for this one, and adds a p-value of each row to Cook's distance.
        return self.standardized * np.sqrt(max(self.df - 1, 0) / np.clip(self.df - self.standardized**2, 1e-12, None))

    @property
    def cooks(self) -> Floats:
        """Cook's distances."""
        free = np.where(self.leverage < ALONE, 1 - self.leverage, 1.0)
        distances: Floats = self.standardized**2 * self.leverage / free / self.width
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


def influence(fit: LinearFit) -> Influence:
    """Compute the influence of every row on ``fit``.

    A row that alone determines a coefficient (leverage 1) has no residual to judge: its values are 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        standardized = OLSInfluence(fit.results).resid_studentized_internal
    judged = (fit.leverage < ALONE) & np.isfinite(standardized)
    return Influence(np.where(judged, standardized, 0.0), fit.leverage, fit.summary.df_residual, fit.design.x.shape[1])


def thresholds(fit: LinearFit) -> Thresholds:
    """Return the limits above which a row is flagged.

    studentized: Bonferroni-corrected two-sided t limit at 5 % over all rows; cooks: 4 / residual degrees of
    freedom; leverage: 3 p / n.
    """
    n, p = fit.design.x.shape
    df = max(fit.summary.df_residual - 1, 1)
    return Thresholds(
        studentized=float(stats.t.isf(_OUTLIER_LEVEL / (2 * n), df)),
        cooks=4 / fit.summary.df_residual,
        leverage=_HIGH_LEVERAGE * p / n,
    )


def suspicious_rows(
    fit: LinearFit, row_influence: Influence, table: pd.DataFrame
) -> tuple[tuple[SuspiciousRow, ...], int]:
    """Return the rows to look at, most influential first (at most ``NAMED``), and how many were flagged in all.

    A row is flagged as an outlier (studentized residual) or as influential (Cook's distance); high leverage
    by itself isn't a fault, and is only mentioned together with one of these. ``table`` is the fitted one.
    """
    limits = thresholds(fit)
    outlier = np.abs(row_influence.studentized) > limits.studentized
    flagged = outlier | (row_influence.cooks > limits.cooks)
    order = np.flatnonzero(flagged)
    order = order[np.lexsort((-row_influence.cooks[order], ~outlier[order]))]
    values = fit.design.frame.iloc[order[:NAMED]].to_dict("records")
    named = zip(order[:NAMED].tolist(), values, strict=True)
    rows = tuple(_describe(fit, row_influence, limits, i, held) for i, held in named)
    telling = _telling(fit, table)
    codes = {str(name): np.asarray(pd.factorize(telling[name])[0], dtype=np.int64) for name in telling} if rows else {}
    identified = (replace(row, identity=_identity(telling, codes, row.row - 1)) for row in rows)
    return tuple(identified), int(flagged.sum())


def _telling(fit: LinearFit, table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that may name a row: texts, then whole numbers with the fewest values first."""
    named = {*fit.design.parsed.left, *_NEVER_TELLING}
    others = [name for name in table.columns if name not in named and _names_things(table[name])]
    texts = [name for name in others if not pd.api.types.is_numeric_dtype(table[name])]
    numbers = sorted((name for name in others if name not in texts), key=lambda name: table[name].nunique())
    return table[sorted([*texts, *numbers], key=lambda name: name not in _TELLING_FIRST)]


def _names_things(column: pd.Series) -> bool:
    numeric = pd.api.types.is_numeric_dtype(column)
    return bool(column.nunique() > 1 and (not numeric or pd.api.types.is_integer_dtype(column)))


def _identity(telling: pd.DataFrame, codes: Mapping[str, npt.NDArray[np.int64]], row: int) -> dict[str, object]:
    """Return values of the row, column by column until no other row holds them all; ``codes`` number the values."""
    identity: dict[str, object] = {}
    alike = np.ones(len(telling), dtype=bool)
    for name, numbers in codes.items():
        same = alike & (numbers == numbers[row])
        if numbers[row] >= 0 and same.sum() < alike.sum():
            identity[name], alike = telling[name].iloc[row], same
        if alike.sum() == 1 or len(identity) == _IDENTITY:
            break
    return identity


def repeats(fit: LinearFit) -> list[Note]:
    """Note rows whose response is the same to the last digit, if chance doesn't explain that many repeats."""
    values = pd.Series(fit.y)
    shared = values[values.duplicated(keep=False)]
    expected = _chance_repeats(fit.y)
    if shared.empty or expected is None or expected > _RARE:
        return []
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
    fit: LinearFit, row_influence: Influence, limits: Thresholds, i: int, values: dict[Hashable, object]
) -> SuspiciousRow:
    without = _beta_without(fit, i)
    adj_r2, sigma = _quality_without(fit, i)
    return SuspiciousRow(
        row=int(fit.design.rows[i]) + 1,
        values=_applying(fit, values),
        identity={},
        fitted=float(fit.fitted[i]),
        why=_reasons(fit, row_influence, limits, i),
        studentized=float(row_influence.studentized[i]),
        leverage=float(row_influence.leverage[i]),
        cooks=float(row_influence.cooks[i]),
        moves=_moves(fit, without),
        adj_r2_without=adj_r2,
        sigma_without=sigma,
    )


def _applying(fit: LinearFit, values: dict[Hashable, object]) -> dict[str, object]:
    """Return what the row holds, without factors that do not apply to it."""
    away = {nest.column for nest in fit.design.nests if values[nest.by] not in nest.applies}
    return {str(name): value for name, value in values.items() if name not in away}


def _reasons(fit: LinearFit, row_influence: Influence, limits: Thresholds, i: int) -> tuple[str, ...]:
    side = "above" if fit.residuals[i] > 0 else "below"
    reasons = []
    errors = abs(row_influence.studentized[i])
    if errors > limits.studentized:
        reasons.append(f"{errors:.1f} standard errors {side} the model (limit {limits.studentized:.1f})")
    if row_influence.cooks[i] > limits.cooks:
        reasons.append(f"Cook's distance {row_influence.cooks[i]:.3g} (limit {limits.cooks:.3g})")
    if row_influence.leverage[i] > limits.leverage:
        reasons.append(f"unusual factor values: leverage {row_influence.leverage[i]:.3g} (limit {limits.leverage:.3g})")
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
