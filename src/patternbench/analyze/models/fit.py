"""Fits formulas to a table and gathers everything a reader needs to trust each model, or not to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from patternbench.analyze.covariates import moved_by_scenarios
from patternbench.analyze.models.crossval import (
    CrossValidation,
    Errors,
    cross_validate,
    prediction_errors,
    residual_quantiles,
    scenario_of_rows,
)
from patternbench.analyze.models.diagnostics import (
    QuantilePoints,
    Test,
    chi_square_quantiles,
    henze_zirkler_test,
    residual_tests,
)
from patternbench.analyze.models.formula import DesignMatrix, build_design, read_formula
from patternbench.analyze.models.formula_text import at
from patternbench.analyze.models.inference import Coefficient, Inference
from patternbench.analyze.models.influence import Influence, RowNames, SuspiciousRow, repeats, suspicious_rows
from patternbench.analyze.models.linear import (
    Factorization,
    LinearFit,
    exact_fit_note,
    factor_inflation,
    factorize,
    fit_linear,
    generalized_inflation,
    plain_inference,
)
from patternbench.analyze.models.manova import TermTest, manova
from patternbench.analyze.models.robust import Grouping, Remedy, remedies
from patternbench.analyze.models.structure import FEWEST_GROUPS, SharedTests, structure_tests
from patternbench.analyze.threads import one_thread
from patternbench.terms.arrays import Floats, Ints
from patternbench.terms.data_problems import DataError, DataProblem, Note, did_you_mean, gathered, plural, raise_if_any
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable

_STRONG_INFLATION = 10.0
_SMALL_MOVE = 0.02


@dataclass(frozen=True)
class Settings:
    """How to fit: confidence, the column that groups rows (random effect), the scenario column, the seed.

    ``margin`` is the change in percent of a response's mean below which a change does not matter; None says nothing
    about equality. ``factors`` is what is known of the table's factors.
    """

    level: float = 0.95
    group: str | None = None
    scenario: str | None = None
    seed: int = 1
    margin: float | None = None
    factors: FactorTable = NOTHING_KNOWN


@dataclass(frozen=True)
class ModelResult:
    """One response of one formula: fit, diagnostics, prediction errors, and remedies."""

    fit: LinearFit
    tests: tuple[Test, ...]
    influence: Influence
    suspicious: tuple[SuspiciousRow, ...]
    flagged_rows: int
    errors: Errors
    cross_validation: CrossValidation
    left_out_quantiles: tuple[float, float] | None
    remedies: tuple[Remedy, ...]
    term_inflation: dict[str, float]
    notes: tuple[Note, ...]
    margin: float | None = None
    adjusted: Adjusted | None = None

    @property
    def unit(self) -> str:
        """The unit of its response where an observer measures that; empty for any other."""
        return self.fit.design.factors.unit(self.fit.response)

    @property
    def remedy(self) -> Remedy | None:
        """The remedy whose standard errors replace the plain ones, or None."""
        return next((one for one in self.remedies if one.inference is not None), None)

    @property
    def inference(self) -> Inference:
        """The coefficients to read and how sure they are: a remedy's where an assumption failed."""
        remedy = self.remedy
        return remedy.inference if remedy is not None and remedy.inference is not None else plain_inference(self.fit)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients to read, laid out."""
        remedy = self.remedy
        return self.fit.coefficients if remedy is None else remedy.coefficients


@dataclass(frozen=True)
class Adjusted:
    """What the covariates of a model did: the model ``without`` them, and how each may mislead.

    A covariate is a number that differs between rounds of one scenario, so it was measured. ``moved`` is the p that it
    is the same for all scenarios (NaN: not tested); ``bounds`` the change of the fitted response for 2 % of it.
    """

    covariates: tuple[str, ...]
    without: ModelResult
    moved: Mapping[str, float]
    bounds: Mapping[str, float]


@dataclass(frozen=True)
class MultivariateResult:
    """Several responses together: MANOVA per term, joint normality, correlated residuals."""

    design: DesignMatrix
    tests: tuple[TermTest, ...]
    normality: Test
    quantiles: QuantilePoints | None
    correlation: Floats
    recommended: str
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Analysis:
    """All models of a table in the order of the formulas, and what formulas say of several responses."""

    models: tuple[ModelResult, ...]
    multivariate: tuple[MultivariateResult, ...]
    settings: Settings
    rows: int


def fit_formulas(table: pd.DataFrame, formulas: Sequence[str], settings: Settings | None = None) -> Analysis:
    """Fit every formula to ``table`` (one row an observation) and diagnose each model.

    The matrices of a formula are given up before the next one's are made: they are larger than all else. Raises
    ``DataError`` listing what is wrong with each formula that cannot be fitted.
    """
    names = RowNames(table)
    chosen = _resolved(table, settings or Settings())
    _refuse(table, formulas, chosen.factors)
    with one_thread():
        fitted = gathered(*(partial(_fitted, text, names, chosen) for text in formulas))
    models = tuple(model for one in fitted for model in one.models)
    return Analysis(models, tuple(one.together for one in fitted if one.together is not None), chosen, len(table))


def _refuse(table: pd.DataFrame, formulas: Sequence[str], factors: FactorTable) -> None:
    """Raise what is wrong with all formulas, before the first is fitted, where one can't even be read."""
    try:
        gathered(*(partial(read_formula, text, table) for text in formulas))
    except DataError:
        gathered(*(partial(build_design, text, table, factors) for text in formulas))
        raise


@dataclass(frozen=True)
class _FormulaModels:
    """The models of one formula, one a response, and what it says of several responses."""

    models: Sequence[ModelResult]
    together: MultivariateResult | None


def _fitted(text: str, names: RowNames, settings: Settings) -> _FormulaModels:
    """Fit one formula."""
    design = build_design(text, names.table, settings.factors)
    basis = factorize(design)
    models = _beside_unadjusted(_models(design, basis, names, settings), design, names.table, settings)
    together = _multivariate(design, basis, models, settings) if len(models) > 1 else None
    design.forget()
    basis.forget()
    return _FormulaModels(models, together)


def _beside_unadjusted(
    models: list[ModelResult], design: DesignMatrix, table: pd.DataFrame, settings: Settings
) -> list[ModelResult]:
    """Return the models, each with the one of the same rows that lacks the covariates, if its formula has any."""
    names = _covariates(design, table, settings)
    kept = [block.name for block in design.blocks if block.name != "Intercept" and not set(names) & set(block.reads)]
    if not names or not kept:
        return models
    left, right = design.parsed.text.split("~", 1)
    requested = "" if design.parsed.random is None else f" + {right[right.rindex('(') :].strip()}"
    rows = table.iloc[design.rows].reset_index(drop=True)
    constant = "" if design.intercept else "0 + "
    plain = build_design(f"{left}~ {constant}{' + '.join(kept)}{requested}", rows, settings.factors)
    basis = factorize(plain)
    without = _models(plain, basis, RowNames(rows), settings)
    plain.forget()
    basis.forget()
    moved = {name: _moved(name, rows, settings) for name in names}
    return [
        replace(one, adjusted=Adjusted(names, raw, moved, _bounds(one, names)))
        for one, raw in zip(models, without, strict=True)
    ]


def _covariates(design: DesignMatrix, table: pd.DataFrame, settings: Settings) -> tuple[str, ...]:
    """Return the numbers on the right that differ between rounds of one scenario."""
    if settings.scenario is None:
        return ()
    scenarios = table[settings.scenario].iloc[design.rows].to_numpy()
    values = design.frame.groupby(scenarios)
    requested = () if design.parsed.random is None else design.parsed.random.slopes
    return tuple(
        n for n in design.ranges if n not in requested and n != settings.group and (values[n].nunique() > 1).any()
    )


def _moved(name: str, rows: pd.DataFrame, settings: Settings) -> float:
    if settings.scenario is None or settings.group is None or not (rows[name] > 0).all():
        return float("nan")
    known = {"scenario": rows[settings.scenario], "block": rows[settings.group], name: rows[name]}
    return moved_by_scenarios(pd.DataFrame(known), name)


def _bounds(model: ModelResult, names: Sequence[str]) -> dict[str, float]:
    """Give what 2 % of each covariate change in the fitted response, of covariates that are one term by themselves."""
    design, beta, found = model.fit.design, model.inference.beta, dict[str, float]()
    for block in design.blocks:
        if len(block.columns) != 1 or block.reads[:1] not in [(name,) for name in names] or len(block.reads) != 1:
            continue
        (name,) = block.reads
        step = {name: _SMALL_MOVE * float(design.frame[name].mean()), f"log({name})": float(np.log1p(_SMALL_MOVE))}
        if block.name in step:
            found[name] = float(beta[block.columns[0]]) * step[block.name]
    return found


def _resolved(table: pd.DataFrame, settings: Settings) -> Settings:
    columns = [str(name) for name in table.columns]
    for option, name in (("group", settings.group), ("scenario", settings.scenario)):
        if name is not None and name not in columns:
            raise DataError(DataProblem(f"no column is called {name}.", f"--{option}", did_you_mean(name, columns)))
    group = settings.group or ("block" if "block" in columns else None)
    scenario = settings.scenario or ("scenario" if "scenario" in columns else None)
    return replace(settings, group=group, scenario=scenario)


@dataclass(frozen=True)
class _SharedParts:
    """What the models of a formula share: what is tested around it, the names of rows, and the column of groups."""

    around: SharedTests
    names: RowNames
    grouping: Grouping


def _models(design: DesignMatrix, basis: Factorization, names: RowNames, settings: Settings) -> list[ModelResult]:
    design.forget()  # what follows asks for the orthonormal columns alone
    table = names.table
    groups = scenario_of_rows(design, table[settings.scenario] if settings.scenario else None)
    if groups.max() == 0:
        groups = np.arange(len(groups), dtype=np.int64)
    validations = cross_validate(design, basis, groups, np.random.default_rng(settings.seed))
    grouping = _grouping(design, table, settings)
    shared = _SharedParts(SharedTests(design, basis, table, grouping.column), names, grouping)
    return [
        _model(fit_linear(design, basis, j, settings.level), shared, validations[j], settings)
        for j in range(design.y.shape[1])
    ]


def _model(fit: LinearFit, shared: _SharedParts, validation: CrossValidation, settings: Settings) -> ModelResult:
    structure, influence = structure_tests(fit, shared.around), Influence(fit)
    tests = (*residual_tests(fit.residuals, fit.basis.q), *structure.tests)
    rows, flagged = suspicious_rows(fit, influence, shared.names)
    return ModelResult(
        fit=fit,
        tests=tests,
        influence=influence,
        suspicious=rows,
        flagged_rows=flagged,
        errors=prediction_errors(fit.response, fit.y, fit.fitted),
        cross_validation=validation,
        left_out_quantiles=residual_quantiles(validation.residuals, settings.level),
        remedies=remedies(fit, tests, structure, shared.names.table, shared.grouping),
        term_inflation=generalized_inflation(fit.design),
        notes=(*fit.design.notes, *exact_fit_note(fit), *repeats(fit), *_inflation_notes(fit.design)),
        margin=settings.margin,
    )


def _grouping(design: DesignMatrix, table: pd.DataFrame, settings: Settings) -> Grouping:
    """Return the column that groups rows: the formula's own, else the settings'."""
    requested = design.parsed.random
    if requested is None:
        return Grouping(settings.group)
    levels = int(table[requested.group].iloc[design.rows].nunique())
    where, least = at(design.parsed.text), FEWEST_GROUPS
    lacking = int(table[requested.group].iloc[design.rows].isna().sum())
    problems = (
        [] if levels >= least else [f"{requested.group} has {plural(levels, 'level')}, a random part needs {least}."]
    )
    if lacking:
        problems.append(f"{requested.group} lacks {plural(lacking, 'value')}.")
    if not design.intercept:
        problems.append("a random part needs an intercept.")
    lost = [name for name in requested.slopes if name not in design.parsed.right]
    problems += [f"{name} has a random slope but no term of its own: add {name}." for name in lost]
    raise_if_any(DataProblem(what, where) for what in problems)
    return Grouping(requested.group, requested)


def _inflation_notes(design: DesignMatrix) -> list[Note]:
    strong = [name for name, value in factor_inflation(design).items() if value**2 > _STRONG_INFLATION]
    if not strong:
        return []
    text = f"{', '.join(strong)} carry much of the same information (VIF above 10): their single effects are uncertain."
    if len(strong) == 1:
        text = f"The other factors carry much of what {strong[0]} carries (VIF above 10): its effect is uncertain."
    return [Note("collinear", text)]


def _multivariate(
    design: DesignMatrix, basis: Factorization, models: Sequence[ModelResult], settings: Settings
) -> MultivariateResult:
    residuals = np.column_stack([model.fit.residuals for model in models])
    normality = henze_zirkler_test(residuals, np.random.default_rng(settings.seed))
    tests = manova(design, basis)
    notes = [] if tests else [Note("singular", "The responses are linear combinations of each other: no MANOVA.")]
    return MultivariateResult(
        design=design,
        tests=tests,
        normality=normality,
        quantiles=None if normality.p is None else chi_square_quantiles(residuals),
        correlation=np.atleast_2d(np.corrcoef(residuals, rowvar=False)),
        recommended=_recommended(normality),
        notes=tuple(notes),
    )


def _recommended(normality: Test) -> str:
    if normality.holds:
        return "The residuals are compatible with joint normality: the four statistics may be read alike."
    return "The residuals are not jointly normal: read Pillai's trace, which withstands this best."


def shown_rows(n: int, most: int, seed: int) -> Ints:
    """Choose the rows to draw: all up to ``most``, else that many at random (seeded), in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
