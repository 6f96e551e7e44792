"""The paper's five models on our rows: Tables III, V, VII, VIII and X next to the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
from studies.published.generate_2023 import FORMULAS

from patternbench.analyze.models.fit import ModelResult, Settings, fit_formulas
from patternbench.analyze.models.formula import build_design
from patternbench.analyze.models.linear import factorize
from patternbench.analyze.models.manova import manova
from reproductions.elmalki_zdun_2023.combined_published import ADJUSTED_R2, COEFFICIENTS, ERRORS, PILLAI, TERMS
from reproductions.formulas import identified
from reproductions.markdown import short, table

TITLES = {"total_time": "total time, ms", "failure_rate": "failure rate, percentage points"}
NUMBERS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Fitted:
    """One of the five models: a result per response, Pillai's trace of each term over both, and each result's rows."""

    models: dict[str, ModelResult]
    pillai: dict[str, float]
    tables: dict[str, pd.DataFrame]


def fitted(rows: pd.DataFrame, by_method: pd.DataFrame) -> dict[int, Fitted]:
    """All five, numbered as in the paper; model 1, which knows the method, on a row per method of a round."""
    first, *others = FORMULAS
    of_methods = _fitted(by_method, first, Settings(group="round"))
    return {1: of_methods} | {n: _fitted(rows, text, Settings()) for n, text in enumerate(others, start=2)}


def _fitted(table: pd.DataFrame, formula: str, settings: Settings) -> Fitted:
    """Each response on all rows that have it, and both together on those that have both."""
    _, _, terms = formula.partition(" ~ ")
    tables = {response: table.dropna(subset=[response]) for response in TITLES}
    models = {
        response: fit_formulas(rows, [identified(f"{response} ~ {terms}", rows)], settings).models[0]
        for response, rows in tables.items()
    }
    return Fitted(models, _pillai(table.dropna(subset=list(TITLES)), formula), tables)


def _pillai(table: pd.DataFrame, formula: str) -> dict[str, float]:
    """Pillai's trace of each term given those before it, as the paper's."""
    design = build_design(identified(formula, table), table)
    tests = manova(design, factorize(design))
    return {test.term: test.statistics["pillai"].value for test in tests if test.kind == "sequential"}


def printed(models: dict[int, Fitted]) -> str:
    """All tables as Markdown."""
    return "\n\n".join(_parts(models))


def _parts(models: dict[int, Fitted]) -> Iterator[str]:
    heads = ["", *(f"model {number}" for number in models)]
    for number, response in (("III", "total_time"), ("V", "failure_rate")):
        yield f"**Table {number}: {TITLES[response]}**, published / ours ± standard error"
        yield table(heads, [[term, *(_coefficient(models[n], n, response, term) for n in models)] for term in TERMS])
    yield "**Table VII: adjusted R2, and p of the F test**, published / ours"
    yield table(heads, [[response, *(_explained(models[n], n, response) for n in models)] for response in TITLES])
    yield "**Table VIII: Pillai's trace**, published / ours"
    yield table(heads, [[term, *(_trace(models[n], n, term) for n in models)] for term in PILLAI])
    yield "**Table X: prediction errors**, published / ours in sample / ours with each scenario left out in turn"
    yield table(
        heads, [[name, *(_errors(models[n], n, response) for n in models)] for response, name in ERROR_NAMES.items()]
    )


ERROR_NAMES = {"failure_rate": "MAE of the failure rate, points", "total_time": "MAPE of the total time, percent"}


def _coefficient(model: Fitted, number: int, response: str, term: str) -> str:
    """Return the published estimate, then ours with the standard error that ``fit`` prefers."""
    if term not in COEFFICIENTS[response][number]:
        return "–"
    expected = COEFFICIENTS[response][number][term]
    ours = next((one for one in model.models[response].coefficients if one.name == term), None)
    text = f"{short(ours.estimate)} ± {short(ours.std_error)}" if ours else "not varied"
    return f"{'n/a' if expected is None else f'{expected:g}'} / {text}"


def _explained(model: Fitted, number: int, response: str) -> str:
    summary = model.models[response].fit.summary
    return f"{ADJUSTED_R2[response][number - 1]:g} / {summary.adj_r2:.4f}, p {summary.f_p:.2g}"


def _trace(model: Fitted, number: int, term: str) -> str:
    expected, ours = PILLAI[term][number - 1], model.pillai.get(term)
    if expected is None:
        return "–"
    return f"{expected:g} / {'not varied' if ours is None else f'{ours:.2f}'}"


def _errors(model: Fitted, number: int, response: str) -> str:
    result, measure = model.models[response], "mae" if response == "failure_rate" else "mape"
    in_sample, left_out = (getattr(errors, measure) for errors in (result.errors, result.cross_validation.errors))
    texts = ("none" if error is None else f"{error:.1f}" for error in (in_sample, left_out))
    return " / ".join([f"{ERRORS[response][number - 1]:g}", *texts])
