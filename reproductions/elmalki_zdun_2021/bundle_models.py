"""Tables III and IV: the four models fitted to our rows, next to the published ones."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from studies.published.refit_2021 import NAMES, PUBLISHED

from patternbench.analyze.models.diagnostics import ljung_box_test
from patternbench.analyze.models.fit import ModelResult
from reproductions.elmalki_zdun_2021.bundle_rounds import batches, fitted, traced
from reproductions.markdown import short, table

TERMS = (
    *("Intercept", "inmem_time", "inmem_calls", "db_time", "db_calls", "dist_time", "dist_calls"),
    *("request_bundle[T.Y]", "method[T.Get]", "method[T.Update]"),
)


def printed(rounds: pd.DataFrame) -> str:
    """Coefficients, quality, and what the bundle's own coefficient says, as Markdown."""
    models = fitted(batches(traced(rounds)))
    heads = ["", *(f"model {number}" for number in models)]
    coefficients = [[NAMES.get(term, term), *(_coefficient(models, n, term) for n in models)] for term in TERMS]
    quality = [[name, *(_qualities(models[n], n)[name] for n in models)] for name in _qualities(models[1], 1)]
    return "\n".join([table(heads, [*coefficients, *quality]), "", *_left_out(models), _of_bundle(models)])


def _coefficient(models: dict[int, ModelResult], number: int, term: str) -> str:
    """Return the published estimate, then ours with its standard error; a dash where the model has no such term."""
    expected = PUBLISHED[number].coefficients.get(term)
    if expected is None:
        return "–"
    ours = next((one for one in models[number].fit.coefficients if one.name == term), None)
    return f"{expected:g} / {f'{short(ours.estimate)} ± {short(ours.std_error)}' if ours else 'unknown'}"


def _qualities(model: ModelResult, number: int) -> dict[str, str]:
    published, tests = PUBLISHED[number], {test.name: test.p or 0.0 for test in model.tests}
    order = ljung_box_test(model.fit.residuals).p or 0.0
    mape = "not printed" if published.mape is None else f"{published.mape:g} %"
    left_out = model.cross_validation.errors.mape
    return {
        "adjusted R2": f"{published.adj_r2:g} / {model.fit.summary.adj_r2:.4f}",
        "F test, p": f"{published.f_p} / {model.fit.summary.f_p:.3g}",
        "Jarque-Bera, p": f"{published.jarque_bera:g} / {tests['Jarque-Bera']:.4f}",
        "Ljung-Box, p": f"{published.ljung_box:g} / {order:.4f}",
        "MAPE in sample": f"{mape} / {model.errors.mape:.1f} %",
        "MAPE, each row left out": f"not printed / {left_out:.1f} %",
    }


def _left_out(models: dict[int, ModelResult]) -> Iterator[str]:
    """Yield a line where our rows cannot tell a term."""
    lacking = {n: len(PUBLISHED[n].coefficients) - len(model.fit.coefficients) for n, model in models.items()}
    if any(lacking.values()):
        yield "What these rounds do not tell, or tell always alike, is left out of our models.\n"


def _of_bundle(models: dict[int, ModelResult]) -> str:
    """Whether the bundle's own coefficient excludes zero, model by model."""
    chosen = {n: next((c for c in m.coefficients if c.name == "request_bundle[T.Y]"), None) for n, m in models.items()}
    texts = [f"model {n}: {c.estimate:.0f} ({c.ci_low:.0f} to {c.ci_high:.0f})" for n, c in chosen.items() if c]
    return f"The bundle's own coefficient in ms, with the 95 % interval that `fit` prefers: {'; '.join(texts)}."
