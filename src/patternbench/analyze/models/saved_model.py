"""A model that ``fit --save`` wrote, read back: checked once, and then whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from patternbench.analyze.models.fit import ModelResult
from patternbench.analyze.models.formula_text import Parsed, parse_formula
from patternbench.analyze.models.inference import LEAST_SQUARES, Inference, VarianceParts
from patternbench.analyze.models.model_file import (
    REMAKE,
    StoredDesign,
    StoredInference,
    StoredModel,
    StoredSpread,
    stored_models,
)
from patternbench.analyze.models.nesting import Nest
from patternbench.analyze.models.spread import Spread, spread_of
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataError, DataProblem
from patternbench.terms.factors import FactorTable

_QUANTILES = 401  # at most; below that, every residual


@dataclass(frozen=True)
class SavedModel:
    """The parts of one model that a prediction needs.

    ``left_out`` are quantiles, evenly spaced from 0 to 1, of the residuals on unseen scenarios over their spread, and
    ``scored`` how many residuals they stand for.
    """

    formula: str
    response: str
    parsed: Parsed
    columns: tuple[str, ...]
    levels: Mapping[str, list[object]]
    ranges: Mapping[str, tuple[float, float]]
    nested: tuple[Nest, ...]
    factors: FactorTable
    inference: Inference
    spread: Spread
    df: float
    largest_leverage: float
    normal: bool
    left_out: Floats
    scored: int


def inference_json(result: ModelResult) -> dict[str, object]:
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
    """Return the models of a parsed ``fit --json`` file; raises ``DataError`` when it is something else."""
    return [_read(model, f"models[{i}]") for i, model in enumerate(stored_models(saved))]


def _read(model: StoredModel, path: str) -> SavedModel:
    design, parsed = model.design, parse_formula(model.formula)
    try:
        certainty = _least_squares(model) if design.inference is None else _preferred(design, design.inference)
        return SavedModel(
            formula=model.formula,
            response=model.response,
            parsed=parsed,
            columns=tuple(design.columns),
            levels=design.levels,
            ranges={name: (low, high) for name, (low, high) in design.ranges.items()},
            nested=tuple(Nest(nest.column, nest.by, tuple(nest.applies), nest.stand_in) for nest in design.nested),
            factors=FactorTable.of_rows(design.factors),
            inference=certainty.inference,
            spread=certainty.spread,
            df=model.f_df[1],
            largest_leverage=design.largest_leverage,
            normal=design.normal,
            left_out=certainty.left_out,
            scored=certainty.scored,
        )
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, np.linalg.LinAlgError) as cause:
        raise DataError(DataProblem(f"cannot be read: {cause!s}.", path, REMAKE)) from None


class _Certainty(NamedTuple):
    """How sure a model is, how observations scatter around it, and its residuals on unseen scenarios."""

    inference: Inference
    spread: Spread
    left_out: Floats
    scored: int


def _preferred(design: StoredDesign, stored: StoredInference) -> _Certainty:
    if design.spread is None or design.left_out is None:
        raise ValueError("inference, spread and left_out belong together")
    size = len(design.columns)
    inference = Inference(
        kind=stored.kind,
        beta=_vector(stored.beta, size),
        root=_matrix(stored.root, size),
        core=_matrix(stored.core, size),
        df=stored.df,
        parts=_parts(stored),
    )
    return _Certainty(inference, _spread(design.spread), _vector(design.left_out.quantiles), design.left_out.scored)


def _parts(stored: StoredInference) -> VarianceParts | None:
    if stored.gradients is None:
        return None
    return VarianceParts(_numbers(stored.gradients), _numbers(stored.parameters))


def _spread(stored: StoredSpread) -> Spread:
    random, between = (None if matrix is None else _numbers(matrix) for matrix in (stored.random, stored.between))
    if not np.isfinite([*stored.ends, stored.within]).all():
        raise ValueError("the spread needs finite numbers")
    return Spread(stored.kind, _vector(stored.coefficients), stored.ends, random, between, stored.within)


def _least_squares(model: StoredModel) -> _Certainty:
    """Read a file of an earlier version, which knew least squares alone: the inverse of X'X and sigma."""
    beta = _numbers([term.estimate for term in model.terms])
    root: Floats = np.asarray(np.linalg.cholesky(_matrix(model.design.bread, len(beta))), dtype=np.float64)
    variance = model.sigma**2
    inference = Inference(LEAST_SQUARES, beta, root, np.eye(len(beta)) * variance, model.f_df[1])
    return _Certainty(inference, Spread("constant", np.array([variance])), np.empty(0), 0)


def _numbers(rows: object) -> Floats:
    numbers = np.array(rows, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("finite numbers are needed")
    return numbers


def _vector(row: object, size: int | None = None) -> Floats:
    vector = _numbers(row)
    if vector.ndim != 1 or size not in (None, len(vector)):
        raise ValueError(f"a list of {size or 'any number of'} numbers is needed")
    return vector


def _matrix(rows: object, size: int) -> Floats:
    matrix = _numbers(rows)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ValueError(f"a matrix of {size} x {size} finite numbers is needed")
    return matrix
