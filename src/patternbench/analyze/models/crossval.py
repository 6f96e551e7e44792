"""Prediction errors, in sample and on scenarios that the model has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.models.formula import DesignMatrix
from patternbench.analyze.models.linear import Factorization
from patternbench.terms.arrays import Floats, Ints

LEAVE_ONE_OUT_UP_TO = 50
"""Up to this many scenarios each is left out in turn; above it they are dealt into ten folds."""
_FOLDS = 10
_ESTIMABLE = 1e-8
_LOGS = {"log": np.e, "log2": 2.0, "log10": 10.0}


@dataclass(frozen=True)
class Errors:
    """Prediction errors over ``scored`` rows, on the response's own scale (logs are undone first).

    ``mape`` is the mean of |y - prediction| / |y| in percent, None when a measured value is zero; ``mae`` the
    mean of
    |y - prediction|; ``rmse`` the root of the mean square. All are None when no row could be scored.
    """

    scored: int
    mape: float | None
    mae: float | None
    rmse: float | None
    note: str = ""


@dataclass(frozen=True)
class CrossValidation:
    """Errors on left-out scenarios, how they were left out, and the residuals (n, nan where not scorable).

    ``unit`` is what was left out: ``scenarios``, or ``rows`` where no two rows have equal factor values.
    """

    errors: Errors
    scenarios: int
    folds: int
    unscored: int
    residuals: Floats
    note: str
    unit: str = "scenarios"


def undo_log(response: str) -> tuple[str, float | None]:
    """Split a response into column and base of its log: ``log(x)`` is (``x``, e), ``x`` is (``x``, None)."""
    head, _, rest = response.partition("(")
    if head in _LOGS and rest.endswith(")"):
        return rest[:-1].strip("`"), _LOGS[head]
    return response, None


def prediction_errors(response: str, y: Floats, predicted: Floats) -> Errors:
    """Score ``predicted`` against ``y``; rows whose prediction is nan are left out."""
    base = undo_log(response)[1]
    scored = np.isfinite(predicted)
    actual, guess = (v[scored] if base is None else np.power(base, v[scored]) for v in (y, predicted))
    gaps = np.abs(actual - guess)
    zero = int((actual == 0).sum())
    mape = None if zero else float(np.mean(gaps / np.abs(actual)) * 100)
    note = f"MAPE does not exist: {zero} measured values are zero. Read MAE." if zero else ""
    widest = gaps.max() or 1.0  # what is behind a log may be too large to be squared
    rmse = float(widest * np.sqrt(np.mean((gaps / widest) ** 2)))
    return Errors(int(scored.sum()), mape, float(widest * (gaps / widest).mean()), rmse, note)


def scenario_of_rows(design: DesignMatrix, scenarios: pd.Series | None) -> Ints:
    """Return each used row's scenario number: by the given column, else by the factor values.

    Numbers follow the sorted values, so that the order of the rows does not matter.
    """
    if scenarios is not None:
        return _codes(scenarios.iloc[design.rows])
    return design.cells


def _codes(values: pd.Series) -> Ints:
    codes, _ = pd.factorize(values.astype(str), sort=True)
    return np.asarray(codes).astype(np.int64)


def deal_folds(groups: Ints, rng: np.random.Generator) -> Ints:
    """Return each row's fold: whole groups, one each up to 50 groups, else dealt into ten at random."""
    count = int(groups.max()) + 1
    if count <= LEAVE_ONE_OUT_UP_TO:
        return groups
    return (rng.permutation(count) % _FOLDS)[groups]


def cross_validate(
    design: DesignMatrix, factorization: Factorization, groups: Ints, rng: np.random.Generator
) -> tuple[CrossValidation, ...]:
    """Predict every scenario from a fit without it, for each response; one result per response.

    Works in the orthonormal basis of the design: without fold F the normal matrix is I - Q_F'Q_F, so that
    no fold needs its own fit. A row whose scenario alone carries a level cannot be predicted without
    it: it is counted.
    """
    folds = deal_folds(groups, rng)
    predicted = np.full_like(design.y, np.nan)
    whole = factorization.q.T @ design.y
    order = np.argsort(folds, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(folds[order])) + 1):
        predicted[rows] = _predict_left_out(factorization.q[rows], design.y[rows], whole)
    count, used = int(groups.max()) + 1, int(folds.max()) + 1
    return tuple(_validation(design, predicted, j, count, used) for j in range(design.y.shape[1]))


def _predict_left_out(q: Floats, y: Floats, whole: Floats) -> Floats:
    values, vectors = np.linalg.eigh(np.eye(q.shape[1]) - q.T @ q)
    usable = values > _ESTIMABLE
    basis = vectors[:, usable]
    gamma = basis @ ((basis.T @ (whole - q.T @ y)) / values[usable, None])
    predicted: Floats = q @ gamma
    if not usable.all():
        lost = q @ vectors[:, ~usable]
        predicted[(lost**2).sum(axis=1) > _ESTIMABLE * np.maximum((q**2).sum(axis=1), 1e-300)] = np.nan
    return predicted


def _validation(design: DesignMatrix, predicted: Floats, j: int, scenarios: int, folds: int) -> CrossValidation:
    unscored = int(np.isnan(predicted[:, j]).sum())
    unit = "rows" if scenarios == len(predicted) else "scenarios"
    how = f"each {unit[:-1]} left out in turn" if folds == scenarios else f"{unit} dealt into {folds} folds"
    note = f"{scenarios:,} {unit}, {how}."
    if unscored:
        note += f" {unscored} rows not scored: only their {unit[:-1]} has some level."
    if unscored == len(predicted):
        errors = Errors(0, None, None, None, f"None of the {unit} can be predicted from the others.")
    else:
        errors = prediction_errors(design.responses[j], design.y[:, j], predicted[:, j])
    return CrossValidation(errors, scenarios, folds, unscored, design.y[:, j] - predicted[:, j], note, unit)


def residual_quantiles(residuals: Sequence[float] | Floats, level: float) -> tuple[float, float] | None:
    """Return the quantiles of left-out residuals that hold ``level`` of them; None when too few."""
    scored = np.asarray(residuals)[np.isfinite(residuals)]
    if len(scored) * (1 - level) / 2 < 1:
        return None
    low, high = np.quantile(scored, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
