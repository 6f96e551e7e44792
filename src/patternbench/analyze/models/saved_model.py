"""A model that `fit --save` wrote, read back: checked once, and then whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from patternbench.analyze.factors import FactorTable
from patternbench.analyze.models.fit import ModelResult
from patternbench.analyze.models.formula import Floats
from patternbench.analyze.models.formula_text import Parsed, parse_formula
from patternbench.analyze.models.inference import LEAST_SQUARES, Inference, VarianceParts
from patternbench.analyze.models.spread import Spread, spread_of
from patternbench.analyze.problems import DataError, DataProblem, raise_if_any

#: Name and version of the format; a reader refuses any other.
FORMAT = "patternbench/models/1"
_REMAKE = "Make it anew: patternbench fit ... --save FILE."
_QUANTILES = 401  # at most; below that, every residual


@dataclass(frozen=True)
class SavedModel:
    """What a prediction needs of one model.

    `left_out` are quantiles, evenly spaced from 0 to 1, of the residuals on unseen scenarios over their spread, and
    `scored` how many residuals they stand for.
    """

    formula: str
    response: str
    parsed: Parsed
    columns: tuple[str, ...]
    levels: Mapping[str, list[Any]]
    ranges: Mapping[str, list[float]]
    nested: list[Mapping[str, Any]]
    factors: FactorTable
    inference: Inference
    spread: Spread
    df: float
    largest_leverage: float
    normal: bool
    left_out: Floats
    scored: int


def inference_json(result: ModelResult) -> dict[str, Any]:
    """Lay out how sure the preferred model is, how its observations scatter, and its residuals on unseen scenarios."""
    inference, spread = result.inference, spread_of(result.fit, result.remedy)
    shares = result.cross_validation.residuals / _scales(result, spread)
    scored = shares[np.isfinite(shares)]
    parts = inference.parts
    return {
        "inference": {
            "kind": inference.kind,
            "beta": inference.beta.tolist(),
            "root": inference.root.tolist(),
            "core": inference.core.tolist(),
            "df": inference.df,
            "gradients": None if parts is None else parts.gradients.tolist(),
            "parameters": None if parts is None else parts.covariance.tolist(),
        },
        "spread": spread.as_json(),
        "left_out": {
            "scored": len(scored),
            "quantiles": np.quantile(scored, np.linspace(0, 1, min(len(scored), _QUANTILES))).tolist()
            if len(scored)
            else [],
        },
    }


def _scales(result: ModelResult, spread: Spread) -> Floats:
    """Return the standard deviation of one observation at each row (n)."""
    scales = spread.over(result.fit.design.x, result.inference.root, result.fit.fitted)
    return np.maximum(np.sqrt(scales), np.finfo(float).tiny)


def _quantiles(values: Floats) -> Floats:
    shares = np.linspace(0, 1, min(len(values), _QUANTILES))
    return np.asarray(np.quantile(values, shares) if len(values) else values, dtype=np.float64)


def read_models(saved: object) -> list[SavedModel]:
    """Return the models of a parsed `fit --json` file; raises `DataError` when it is something else."""
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        format_ = saved.get("format") if isinstance(saved, dict) else type(saved).__name__
        what = f"this is no saved model (format {format_}, need {FORMAT})."
        raise DataError(DataProblem(what, "", "Make one: patternbench fit ... --json FILE."))
    models = saved.get("models")
    if not isinstance(models, list) or not models:
        raise DataError(DataProblem("the file holds no model."))
    raise_if_any(problem for i, model in enumerate(models) for problem in _problems(model, f"models[{i}]"))
    return [_read(model, f"models[{i}]") for i, model in enumerate(models)]


_KINDS: dict[str, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str),
    "a number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "a list": lambda value: isinstance(value, list),
    "an object": lambda value: isinstance(value, dict),
    "true or false": lambda value: isinstance(value, bool),
}
_NEEDED = {"formula": "text", "response": "text", "sigma": "a number", "f_df": "a list", "terms": "a list"}
_NEEDED_OF_DESIGN = {
    **{"columns": "a list", "levels": "an object", "ranges": "an object", "bread": "a list"},
    **{"largest_leverage": "a number", "normal": "true or false"},
}


def _problems(model: object, path: str) -> Iterator[DataProblem]:
    if not isinstance(model, dict):
        yield DataProblem("must be an object.", path, _REMAKE)
        return
    design = model.get("design")
    yield from _lacking(model, {**_NEEDED, "design": "an object"}, path)
    if isinstance(design, dict):
        yield from _lacking(design, _NEEDED_OF_DESIGN, f"{path}.design")


def _lacking(held: Mapping[str, Any], needed: Mapping[str, str], path: str) -> Iterator[DataProblem]:
    for key, kind in needed.items():
        if not _KINDS[kind](held.get(key)):
            yield DataProblem(f"must be {kind}." if key in held else "is missing.", f"{path}.{key}", _REMAKE)


def _read(model: Mapping[str, Any], path: str) -> SavedModel:
    design, parsed = model["design"], parse_formula(model["formula"])
    try:
        return SavedModel(
            formula=model["formula"],
            response=model["response"],
            parsed=parsed,
            columns=tuple(map(str, design["columns"])),
            levels=design["levels"],
            ranges={name: [float(low), float(high)] for name, (low, high) in design["ranges"].items()},
            nested=list(design.get("nested", ())),
            factors=FactorTable.of(design.get("factors", ())),
            df=float(model["f_df"][1]),
            largest_leverage=float(design["largest_leverage"]),
            normal=design["normal"],
            **(_preferred(design) if "inference" in design else _plain(model)),
        )
    except (KeyError, IndexError, TypeError, ValueError, np.linalg.LinAlgError) as cause:
        raise DataError(DataProblem(f"cannot be read: {cause!s}.", path, _REMAKE)) from None


def _preferred(design: Mapping[str, Any]) -> dict[str, Any]:
    inference = {key: value for key, value in design["inference"].items() if value is not None}
    parts = None
    if "gradients" in inference:
        parts = VarianceParts(
            np.array(inference["gradients"], dtype=float), np.array(inference["parameters"], dtype=float)
        )
    root, core = (_matrix(inference[key], len(design["columns"])) for key in ("root", "core"))
    beta = np.array(inference["beta"], dtype=float)
    return {
        "inference": Inference(str(inference["kind"]), beta, root, core, float(inference["df"]), parts),
        "spread": Spread.from_json(design["spread"]),
        "left_out": np.array(design["left_out"]["quantiles"], dtype=float),
        "scored": int(design["left_out"]["scored"]),
    }


def _plain(model: Mapping[str, Any]) -> dict[str, Any]:
    """Read a file of an earlier version, which knew least squares alone: the inverse of X'X and sigma."""
    beta = np.array([term["estimate"] for term in model["terms"]], dtype=float)
    root: Floats = np.asarray(np.linalg.cholesky(_matrix(model["design"]["bread"], len(beta))), dtype=np.float64)
    variance = float(model["sigma"]) ** 2
    return {
        "inference": Inference(LEAST_SQUARES, beta, root, np.eye(len(beta)) * variance, float(model["f_df"][1])),
        "spread": Spread("constant", np.array([variance])),
        "left_out": np.empty(0),
        "scored": 0,
    }


def _matrix(rows: object, size: int) -> Floats:
    matrix = np.array(rows, dtype=float)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ValueError(f"a matrix of {size} x {size} finite numbers is needed")
    return matrix
