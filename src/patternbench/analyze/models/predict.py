"""Predicts a response from a saved model, with an interval and warnings where it is a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.analyze.models.crossval import undo_log
from patternbench.analyze.models.formula import right_side
from patternbench.analyze.models.model_file import REMAKE
from patternbench.analyze.models.saved_model import SavedModel
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataError, DataProblem, Note, did_you_mean, raise_if_any


@dataclass(frozen=True)
class Prediction:
    """A model's prediction of one new observation.

    ``low`` and ``high`` hold one new observation with confidence ``level``; ``mean_low`` and ``mean_high`` the mean
    of many. ``method`` is normal (t quantiles) or left_out (quantiles of the residuals on unseen scenarios,
    used when the residuals are not normal). All are on the response's own scale: a log is undone, the
    estimate then being a median.
    """

    response: str
    formula: str
    at: Mapping[str, object]
    estimate: float
    low: float
    high: float
    mean_low: float
    mean_high: float
    level: float
    method: str
    warnings: tuple[Note, ...]


def read_point(texts: Sequence[str]) -> dict[str, str]:
    """Read ``users=80,bundle_size=25`` (one or several) into names and texts of values."""
    point: dict[str, str] = {}
    problems = []
    for part in (part for text in texts for part in text.split(",")):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not value:
            problems.append(DataProblem(f"'{part}' is not name=value.", "--at", "Write --at users=80,bundle_size=25."))
        point[name] = value
    raise_if_any(problems)
    return point


def predict(model: SavedModel, point: Mapping[str, str], level: float = 0.95) -> Prediction:
    """Predict the response of a saved ``model`` at ``point``, by its preferred standard errors and spread.

    Raises ``DataError`` for variables that are missing, unknown, not numbers, or levels that were never
    fitted.
    """
    try:
        frame, at = _frame(model, {**point, **_stand_ins(model, point)})
        at = {name: value for name, value in at.items() if name in point}
        with np.errstate(all="ignore"):  # what is not finite is refused below
            made = _interval(model, _row(model, frame), at, level)
    except DataError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as cause:  # its parts don't go together
        raise DataError(DataProblem(f"cannot be used: {cause}.", model.formula, REMAKE)) from None
    if not np.isfinite([made.estimate, made.low, made.high, made.mean_low, made.mean_high]).all():
        what = f"the model of {model.response} gives no finite number there."
        raise DataError(DataProblem(what, "--at", f"Choose a point within what was measured. {REMAKE}"))
    return made


def _stand_ins(model: SavedModel, point: Mapping[str, str]) -> dict[str, str]:
    """Return the values that the fit used for nested factors that don't apply at a point.

    Raises if one is given there.
    """
    away = [nest for nest in model.nested if nest.by in point and point[nest.by] not in map(str, nest.applies)]
    raise_if_any(
        DataProblem(f"{nest.column} does not apply at {nest.by}={point[nest.by]}.", "--at", f"Leave out {nest.column}.")
        for nest in away
        if nest.column in point
    )
    return {nest.column: str(nest.stand_in) for nest in away}


def _frame(model: SavedModel, point: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, object]]:
    factors = list(model.parsed.right)
    missing = [DataProblem(f"{name} is not given.", "--at", f"Add {name}=...") for name in factors if name not in point]
    surplus = [
        DataProblem(f"the model has no {name}.", "--at", did_you_mean(name, factors))
        for name in point
        if name not in factors
    ]
    raise_if_any([*missing, *surplus])
    columns, at, problems = {}, {}, []
    for name in factors:
        try:
            columns[name], at[name] = _column(name, point[name], model)
        except DataError as error:
            problems += list(error.problems)
    raise_if_any(problems)
    return pd.DataFrame(columns), at


def _column(name: str, text: str, model: SavedModel) -> tuple[pd.Categorical | list[float], object]:
    if name in model.levels:
        levels = model.levels[name]
        match = next((one for one in levels if str(one) == text or _same_number(one, text)), None)
        if match is None:
            raise DataError(DataProblem(f"{name} has no level {text}.", "--at", did_you_mean(text, map(str, levels))))
        return pd.Categorical([match], categories=levels), match
    try:
        value = model.factors.read(name, text)
    except ValueError:
        kind = "a duration such as 20ms" if model.factors.is_duration(name) else "a number"
        raise DataError(DataProblem(f"{name} must be {kind}, not '{text}'.", "--at")) from None
    return [value], model.factors.level(name, value)


def _same_number(level: object, text: str) -> bool:
    try:
        return isinstance(level, (int, float)) and not isinstance(level, bool) and float(level) == float(text)
    except ValueError:
        return False


def _row(model: SavedModel, frame: pd.DataFrame) -> Floats:
    matrix, columns, _ = right_side(model.parsed, frame)
    positions = {name: i for i, name in enumerate(columns)}
    raise_if_any(
        DataProblem(f"the formula has no column {name}.", model.formula)
        for name in model.columns
        if name not in positions
    )
    row: Floats = matrix[0, [positions[name] for name in model.columns]]
    if not np.isfinite(row).all():
        raise DataError(
            DataProblem("the formula has no finite value there (a log of zero, or a division by zero?).", "--at")
        )
    return row


def _interval(model: SavedModel, row: Floats, at: Mapping[str, object], level: float) -> Prediction:
    centre, mean_low, mean_high = model.inference.interval(row, level)
    ends, method, notes = _ends(model, row, centre, level)
    target, base = undo_log(model.response)
    values = (centre, *ends, mean_low, mean_high)
    estimate, low, high, mean_low, mean_high = (float(v if base is None else np.power(base, v)) for v in values)
    warnings = (*_range_warnings(model, at), *_hull_warning(model, at, row), *notes)
    return Prediction(target, model.formula, at, estimate, low, high, mean_low, mean_high, level, method, warnings)


def _ends(model: SavedModel, row: Floats, centre: float, level: float) -> tuple[tuple[float, float], str, list[Note]]:
    """Return the interval of one new observation, its method, and what is wrong with it."""
    scatter = model.spread.at(row, model.inference.root, centre)
    if model.normal:
        return _normal_ends(model, row, centre, level), "normal", []
    if model.spread.kind == "mixed" or model.scored * (1 - level) / 2 < 1:
        text = "The residuals are not normal: the interval of one observation may be too narrow or too wide."
        return _normal_ends(model, row, centre, level), "normal", [Note("not_normal", text)]
    shares = np.linspace(0, 1, len(model.left_out))
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], shares, model.left_out)
    return (centre + float(low) * scatter**0.5, centre + float(high) * scatter**0.5), "left_out", []


def _normal_ends(model: SavedModel, row: Floats, centre: float, level: float) -> tuple[float, float]:
    """Return t ends: the variance of the mean and of one observation, with Satterthwaite's df for mixed models."""
    w = row @ model.inference.root
    total = float(w @ model.inference.core @ w) + model.spread.at(row, model.inference.root, centre)
    df = model.df
    if model.inference.parts is not None:
        df = model.inference.freedom(total, model.inference.gradient(w) + model.spread.gradient(row))
    reach = float(stats.t.ppf((1 + level) / 2, df)) * total**0.5
    return centre - reach, centre + reach


def _range_warnings(model: SavedModel, at: Mapping[str, object]) -> list[Note]:
    notes = []
    for name, (low, high) in model.ranges.items():
        value = at.get(name)
        if isinstance(value, float) and not low <= value <= high:
            at_value, *ends = (model.factors.text(name, one) for one in (value, low, high))
            what = f"{name} = {at_value} lies outside what was measured ({' to '.join(ends)})"
            notes.append(Note("outside_range", f"{what}: the prediction is a guess."))
    return notes


def _hull_warning(model: SavedModel, at: Mapping[str, object], row: Floats) -> list[Note]:
    leverage = float(((row @ model.inference.root) ** 2).sum())
    if leverage <= model.largest_leverage or _range_warnings(model, at):
        return []
    return [Note("outside_hull", "No measured row combines such values, though each alone was measured: take care.")]
