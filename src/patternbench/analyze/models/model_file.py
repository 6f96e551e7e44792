"""The file that ``fit --save`` writes, as data: what a prediction reads of it, and every problem of a damaged one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from patternbench.terms.data_problems import DataError, DataProblem
from patternbench.terms.factors import FactorRow

FORMAT = "patternbench/models/1"
"""Name and version of the format; a reader refuses any other."""
REMAKE = "Make it again: patternbench fit ... --save FILE."
_KINDS = {
    "string_type": "text",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
}
"""What a part must be, by what pydantic calls it when it is something else."""


class ModelFilePart(BaseModel):
    """A part of the file: each field of its own type, others are for people and other programs.

    A field whose type is ``object`` holds numbers whose shape depends on other fields; they are checked with those.
    """

    model_config = ConfigDict(strict=True, frozen=True)


class StoredTerm(ModelFilePart):
    """A coefficient of least squares."""

    estimate: float | None


class StoredNest(ModelFilePart):
    """A factor that applies at some levels of another."""

    column: str
    by: str
    applies: list[object]
    stand_in: object


class StoredInference(ModelFilePart):
    """The preferred coefficients and how sure they are."""

    kind: str
    beta: object
    root: object
    core: object
    df: float
    gradients: object = None
    parameters: object = None


class StoredSpread(ModelFilePart):
    """How one observation scatters."""

    kind: str
    coefficients: object
    ends: tuple[float, float] = Field(strict=False)
    random: object
    between: object
    within: float


class StoredQuantiles(ModelFilePart):
    """The residuals on scenarios that the model had not seen."""

    scored: int
    quantiles: object


class StoredDesign(ModelFilePart):
    """The fields of a prediction in addition to the formula. An earlier version wrote files without ``inference``."""

    columns: list[str]
    levels: dict[str, list[object]]
    ranges: dict[str, list[float]]
    nested: list[StoredNest] = []
    factors: list[FactorRow] = []
    bread: list[object]
    largest_leverage: float
    normal: bool
    inference: StoredInference | None = None
    spread: StoredSpread | None = None
    left_out: StoredQuantiles | None = None


class StoredModel(ModelFilePart):
    """One model of the file."""

    formula: str
    response: str
    sigma: float
    f_df: list[float]
    terms: list[StoredTerm]
    design: StoredDesign


def stored_models(saved: object) -> list[StoredModel]:
    """Return the models of a parsed file; raises ``DataError`` with every problem when it is something else."""
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        format_ = saved.get("format") if isinstance(saved, dict) else type(saved).__name__
        what = f"this isn't a saved model (format {format_}, need {FORMAT})."
        raise DataError(DataProblem(what, "", "Make one: patternbench fit ... --json FILE."))
    models = saved.get("models")
    if not isinstance(models, list) or not models:
        raise DataError(DataProblem("the file holds no model."))
    return list(_checked(models))


def _checked(models: Sequence[object]) -> Iterator[StoredModel]:
    problems: list[DataProblem] = []
    for i, model in enumerate(models):
        try:
            yield StoredModel.model_validate(model)
        except ValidationError as error:
            problems += _problems(error, f"models[{i}]")
    if problems:
        raise DataError(*problems)


def _problems(error: ValidationError, path: str) -> Iterator[DataProblem]:
    for detail in error.errors(include_url=False):
        where = path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
        yield DataProblem(_what(detail["type"], detail["msg"]), where, REMAKE)


def _what(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing."
    return f"must be {_KINDS[kind]}." if kind in _KINDS else f"cannot be read: {message}."
