"""The paper's five models on our rows: Tables III, V, VII, VIII and X next to the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from studies.published.generate_2023 import FORMULAS

from patternbench.analyze.models.diagnostics import henze_zirkler_test
from patternbench.analyze.models.fit import ModelResult, Settings, fit_formulas
from patternbench.analyze.models.formula import build_design
from patternbench.analyze.models.linear import factorize
from patternbench.analyze.models.manova import manova
from reproductions.elmalki_zdun_2021.bundle_rounds import identified
from reproductions.elmalki_zdun_2023.combined_published import NUMBERS, terms
from reproductions.elmalki_zdun_2023.combined_rounds import LIMITS
from reproductions.markdown import estimated, table

TITLES = {"total_time": "total time, ms", "failure_rate": "failure rate, percentage points"}
ERRORS = {"failure_rate": "mae", "total_time": "mape"}
"""Which prediction error the paper prints of a response."""
ERROR_NAMES = {"failure_rate": "MAE of the failure rate, points", "total_time": "MAPE of the total time, percent"}
TESTS = ("Jarque-Bera", "Anderson-Darling")


@dataclass(frozen=True)
class Fitted:
    """One of the five models: a result per response, Pillai's trace of each term over both, and each result's rows."""

    models: dict[str, ModelResult]
    pillai: dict[str, float]
    tables: dict[str, pd.DataFrame]

    def residuals(self, response: str) -> pd.Series[float]:
        """Return the residuals of a response, by the places of their rows."""
        fit = self.models[response].fit
        return pd.Series(fit.residuals, index=self.tables[response].index[fit.design.rows], name=response)

    def error(self, levels: Mapping[str, Sequence[object]]) -> float:
        """Return the mean absolute percentage error of the time on rows with these levels, some known to the model."""
        fit = self.models["total_time"].fit
        rows = self.tables["total_time"].iloc[fit.design.rows]
        chosen = np.logical_and.reduce([rows[name].isin(values).to_numpy() for name, values in levels.items()])
        return float(100 * np.mean(np.abs(fit.residuals[chosen] / fit.y[chosen])))


def fitted(rows: pd.DataFrame, by_method: pd.DataFrame) -> dict[int, Fitted]:
    """All five, numbered as in the paper; model 1, which knows the method, on a row per method of a round."""
    first, *others = FORMULAS
    of_methods = _fitted(by_method, first, Settings(group="round"))
    return {1: of_methods} | {n: _fitted(rows, text, Settings()) for n, text in enumerate(others, start=2)}


def _fitted(table: pd.DataFrame, formula: str, settings: Settings) -> Fitted:
    """Each response on all rows that have it, and both together on those that have both."""
    _, _, of_it = formula.partition(" ~ ")
    tables = {response: table.dropna(subset=[response]) for response in TITLES}
    models = {
        response: fit_formulas(rows, [identified(f"{response} ~ {of_it}", rows)], settings).models[0]
        for response, rows in tables.items()
    }
    return Fitted(models, _pillai(table.dropna(subset=list(TITLES)), formula), tables)


def _pillai(table: pd.DataFrame, formula: str) -> dict[str, float]:
    """Pillai's trace of each term given those before it, as the paper's."""
    design = build_design(identified(formula, table), table)
    tests = manova(design, factorize(design))
    return {test.term: test.statistics["pillai"].value for test in tests if test.kind == "sequential"}


TOGETHER: Mapping[str, Mapping[str, Sequence[object]]] = {
    "bundle and balancing": {"request_bundle": ("Y",), "load_balancing": ("Y",)},
    "limit and balancing": {"rate_limit": LIMITS, "load_balancing": ("Y",)},
}
"""The rows of which the paper's guide says which model is best."""


def results(blocks: Mapping[int, Mapping[int, Fitted]]) -> dict[str, pd.DataFrame]:
    """Return what claims on models are about, of models fitted to each block alone: traces of model 1, and errors."""
    traces = [
        {"block": block, "term": term, "pillai": trace}
        for block, models in blocks.items()
        for term, trace in models[1].pillai.items()
    ]
    errors = [
        {"block": block, "model": number, "rows": rows, "error": model.error(levels)}
        for block, models in blocks.items()
        for number, model in models.items()
        for rows, levels in TOGETHER.items()
    ]
    return {"traces": pd.DataFrame(traces), "errors": pd.DataFrame(errors)}


def errors_of(blocks: Mapping[int, Mapping[int, Fitted]], response: str) -> pd.DataFrame:
    """Return the prediction errors of each model in a response, by block."""
    errors = [
        (block, number, getattr(one.models[response].errors, ERRORS[response]))
        for block, models in blocks.items()
        for number, one in models.items()
    ]
    return pd.DataFrame(errors, columns=["block", "model", "error"]).astype({"error": float})


def residual_tests(models: dict[int, Fitted]) -> str:
    """Return the p of tests of the residuals of all models: of each response for normality, and of both together."""
    rows = {
        f"{response}: {name}": [_p(one.models[response], name) for one in models.values()]
        for response in TITLES
        for name in TESTS
    }
    joint = (pd.concat([one.residuals(response) for response in TITLES], axis=1).dropna() for one in models.values())
    found = (henze_zirkler_test(both.to_numpy(), np.random.default_rng(1)).p for both in joint)
    return by_model({**rows, "both: Henze-Zirkler": [_reported(p) for p in found]}, "p of")


def _p(model: ModelResult, name: str) -> str:
    return _reported(next((test.p for test in model.tests if test.name == name), None))


def _reported(p: float | None) -> str:
    return "not tested" if p is None else f"{p:.2g}"


def by_model(rows: Mapping[str, Sequence[str]], of_rows: str = "") -> str:
    """Return a table with a column for each model."""
    numbers = range(1, 1 + len(next(iter(rows.values()))))
    return table([of_rows, *(f"model {n}" for n in numbers)], [[name, *cells] for name, cells in rows.items()])


def printed(models: dict[int, Fitted]) -> str:
    """All tables as Markdown."""
    return "\n\n".join(_parts(models))


def _parts(models: dict[int, Fitted]) -> Iterator[str]:
    for number, response in (("III", "total_time"), ("V", "failure_rate")):
        yield f"**Table {number}: {TITLES[response]}**, published / ours ± standard error"
        every = terms("coefficient")
        yield by_model({term: [_coefficient(one, n, response, term) for n, one in models.items()] for term in every})
    yield "**Table VII: adjusted R2, and p of the F test**, published / ours"
    yield by_model({response: [_explained(one, n, response) for n, one in models.items()] for response in TITLES})
    yield "**Table VIII: Pillai's trace**, published / ours"
    yield by_model({term: [_trace(one, n, term) for n, one in models.items()] for term in terms("pillai")})
    yield "**Table X: prediction errors**, published / ours in sample / ours with each scenario left out in turn"
    yield by_model({text: [_errors(one, n, name) for n, one in models.items()] for name, text in ERROR_NAMES.items()})


def _coefficient(model: Fitted, number: int, response: str, term: str) -> str:
    """Return the published estimate, then ours with the standard error that ``fit`` prefers."""
    expected = NUMBERS.get(("coefficient", response, number, term))
    if expected is None:
        return "–"
    ours = next((one for one in model.models[response].coefficients if one.name == term), None)
    text = estimated(ours.estimate, ours.std_error) if ours else "not varied"
    return f"{'n/a' if np.isnan(expected) else f'{expected:g}'} / {text}"


def _explained(model: Fitted, number: int, response: str) -> str:
    summary = model.models[response].fit.summary
    return f"{NUMBERS['adjusted R2', response, number, '']:g} / {summary.adj_r2:.4f}, p {summary.f_p:.2g}"


def _trace(model: Fitted, number: int, term: str) -> str:
    expected, ours = NUMBERS.get(("pillai", "", number, term)), model.pillai.get(term)
    if expected is None:
        return "–"
    return f"{expected:g} / {'not varied' if ours is None else f'{ours:.2f}'}"


def _errors(model: Fitted, number: int, response: str) -> str:
    result = model.models[response]
    ours = (getattr(errors, ERRORS[response]) for errors in (result.errors, result.cross_validation.errors))
    texts = ("none" if error is None else f"{error:.1f}" for error in ours)
    return " / ".join([f"{NUMBERS['error', response, number, '']:g}", *texts])
