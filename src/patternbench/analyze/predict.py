"""Predicts a response from a saved model, with an interval and warnings where it is a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .crossval import undo_log
from .fit_json import FORMAT
from .formula import Floats, right_side
from .formula_text import Parsed, parse_formula
from .problems import DataError, Note, Problem, did_you_mean, raise_if_any
from .units import is_duration, level_text, read_level


@dataclass(frozen=True)
class Prediction:
    """What a model expects of one new observation.

    `low` and `high` hold one new observation with confidence `level`; `mean_low` and `mean_high` the mean
    of many. `method` is normal (t quantiles) or left_out (quantiles of the residuals on unseen scenarios,
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


def read_models(saved: object) -> list[dict[str, Any]]:
    """Return the models of a parsed `fit --json` file; raises `DataError` when it is something else."""
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        found = saved.get("format") if isinstance(saved, dict) else type(saved).__name__
        raise DataError(
            Problem(
                f"this is no saved model (format {found}, need {FORMAT}).",
                "",
                "Make one: patternbench fit ... --json FILE.",
            )
        )
    models = saved.get("models")
    if not isinstance(models, list) or not models:
        raise DataError(Problem("the file holds no model."))
    return models


def read_point(texts: Sequence[str]) -> dict[str, str]:
    """Read `users=80,bundle_size=25` (one or several) into names and texts of values."""
    point: dict[str, str] = {}
    problems = []
    for part in (part for text in texts for part in text.split(",")):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not value:
            problems.append(Problem(f"'{part}' is not name=value.", "--at", "Write --at users=80,bundle_size=25."))
        point[name] = value
    raise_if_any(problems)
    return point


def predict(model: Mapping[str, Any], point: Mapping[str, str], level: float = 0.95) -> Prediction:
    """Predict the response of a saved `model` at `point`.

    Raises `DataError` for variables that are missing, unknown, not numbers, or levels that were never
    fitted.
    """
    parsed = parse_formula(str(model["formula"]))
    design = model["design"]
    frame, at = _frame(parsed, design, {**point, **_stand_ins(design, point)})
    at = {name: value for name, value in at.items() if name in point}
    row = _row(parsed, design, frame)
    beta = np.array([term["estimate"] for term in model["terms"]], dtype=float)
    bread = np.array(design["bread"], dtype=float)
    reach = float(row @ bread @ row)
    return _interval(model, float(row @ beta), reach, at, level)


def _stand_ins(design: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, str]:
    """What the model was fitted with where a nested factor does not apply; raises when it is given there."""
    away = [n for n in design.get("nested", ()) if n["by"] in point and point[n["by"]] not in map(str, n["applies"])]
    what = "{column} does not apply at {by}={level}."
    raise_if_any(
        Problem(what.format(**n, level=point[n["by"]]), "--at", f"Leave out {n['column']}.")
        for n in away
        if n["column"] in point
    )
    return {n["column"]: str(n["stand_in"]) for n in away}


def _frame(
    parsed: Parsed, design: Mapping[str, Any], point: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[str, object]]:
    known = list(parsed.right)
    missing = [Problem(f"{name} is not given.", "--at", f"Add {name}=...") for name in known if name not in point]
    surplus = [
        Problem(f"the model has no {name}.", "--at", did_you_mean(name, known)) for name in point if name not in known
    ]
    raise_if_any([*missing, *surplus])
    columns, at, problems = {}, {}, []
    for name in known:
        try:
            columns[name], at[name] = _column(name, point[name], design)
        except DataError as found:
            problems += list(found.problems)
    raise_if_any(problems)
    return pd.DataFrame(columns), at


def _column(name: str, text: str, design: Mapping[str, Any]) -> tuple[Any, object]:
    if name in design["levels"]:
        levels = design["levels"][name]
        match = next((one for one in levels if str(one) == text or _same_number(one, text)), None)
        if match is None:
            raise DataError(Problem(f"{name} has no level {text}.", "--at", did_you_mean(text, levels)))
        return pd.Categorical([match], categories=levels), match
    try:
        value = read_level(name, text)
    except ValueError:
        kind = "a duration such as 20ms" if is_duration(name) else "a number"
        raise DataError(Problem(f"{name} must be {kind}, not '{text}'.", "--at")) from None
    return [value], value


def _same_number(level: object, text: str) -> bool:
    try:
        return isinstance(level, (int, float)) and not isinstance(level, bool) and float(level) == float(text)
    except ValueError:
        return False


def _row(parsed: Parsed, design: Mapping[str, Any], frame: pd.DataFrame) -> Floats:
    matrix, columns, _ = right_side(parsed, frame)
    place = {name: i for i, name in enumerate(columns)}
    row: Floats = matrix[0, [place[name] for name in design["columns"]]]
    if not np.isfinite(row).all():
        raise DataError(
            Problem("the formula has no finite value there (a log of zero, or a division by zero?).", "--at")
        )
    return row


def _interval(
    model: Mapping[str, Any], centre: float, reach: float, at: Mapping[str, object], level: float
) -> Prediction:
    design, sigma, df = model["design"], float(model["sigma"]), int(model["f_df"][1])
    quantile = float(stats.t.ppf((1 + level) / 2, df))
    wide, narrow = quantile * sigma * np.sqrt(1 + reach), quantile * sigma * np.sqrt(reach)
    ends, method = (centre - wide, centre + wide), "normal"
    if not design["normal"] and design["left_out_quantiles"] and design["level"] == level:
        ends, method = _left_out(centre, design["left_out_quantiles"]), "left_out"
    base = undo_log(str(model["response"]))[1]
    values = (centre, *ends, centre - narrow, centre + narrow)
    estimate, low, high, mean_low, mean_high = (float(v if base is None else np.power(base, v)) for v in values)
    warnings = (*_range_warnings(design, at), *_hull_warning(design, at, reach))
    target, formula = undo_log(str(model["response"]))[0], str(model["formula"])
    return Prediction(target, formula, at, estimate, low, high, mean_low, mean_high, level, method, warnings)


def _left_out(centre: float, quantiles: Sequence[float]) -> tuple[float, float]:
    return centre + float(quantiles[0]), centre + float(quantiles[1])


def _range_warnings(design: Mapping[str, Any], at: Mapping[str, object]) -> list[Note]:
    notes = []
    for name, (low, high) in design["ranges"].items():
        value = at.get(name)
        if isinstance(value, float) and not low <= value <= high:
            at_value, *ends = (level_text(name, one) for one in (value, low, high))
            what = f"{name} = {at_value} lies outside what was measured ({' to '.join(ends)})"
            notes.append(Note("outside_range", f"{what}: the prediction is a guess."))
    return notes


def _hull_warning(design: Mapping[str, Any], at: Mapping[str, object], reach: float) -> list[Note]:
    if reach <= float(design["largest_leverage"]) or _range_warnings(design, at):
        return []
    return [Note("outside_hull", "No measured row combines such values, though each alone was measured: take care.")]
