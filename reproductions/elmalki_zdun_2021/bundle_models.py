"""Tables III and IV: the four models fitted to our rows, next to the published ones."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from studies.published.refit_2021 import NAMES, PUBLISHED, QUALITY, printed_quality, quality_of

from patternbench.analyze.models.fit import ModelResult
from reproductions.elmalki_zdun_2021.bundle_rounds import batches, fitted, traced
from reproductions.markdown import estimated, table, within

TERMS = (
    *("Intercept", "inmem_time", "inmem_calls", "db_time", "db_calls", "dist_time", "dist_calls"),
    *("request_bundle[T.Y]", "method[T.Get]", "method[T.Update]"),
)


def printed(rounds: pd.DataFrame) -> str:
    """Coefficients, quality, and what the bundle's own coefficient says, as Markdown."""
    models = fitted(batches(traced(rounds)))
    heads = ["", *(f"model {number}" for number in models)]
    coefficients = [[NAMES.get(term, term), *(_coefficient(models, n, term) for n in models)] for term in TERMS]
    both = (zip(printed_quality(PUBLISHED[n]), quality_of(one, digits=3), strict=True) for n, one in models.items())
    quality = [[name, *map(" / ".join, cells)] for name, *cells in zip(QUALITY, *both, strict=True)]
    return "\n".join([table(heads, [*coefficients, *quality]), "", *_left_out(models), _of_bundle(models)])


def _coefficient(models: dict[int, ModelResult], number: int, term: str) -> str:
    """Return the published estimate, then ours with its standard error; a dash where the model has no such term."""
    expected = PUBLISHED[number].coefficients.get(term)
    if expected is None:
        return "–"
    ours = next((one for one in models[number].fit.coefficients if one.name == term), None)
    return f"{expected:g} / {estimated(ours.estimate, ours.std_error) if ours else 'unknown'}"


def _left_out(models: dict[int, ModelResult]) -> Iterator[str]:
    """Yield a line where our rows cannot tell a term."""
    lacking = {n: len(PUBLISHED[n].coefficients) - len(model.fit.coefficients) for n, model in models.items()}
    if any(lacking.values()):
        yield "What these rounds do not tell, or tell always alike, is left out of our models.\n"


def _of_bundle(models: dict[int, ModelResult]) -> str:
    """Whether the bundle's own coefficient excludes zero, model by model."""
    chosen = {n: next((c for c in m.coefficients if c.name == "request_bundle[T.Y]"), None) for n, m in models.items()}
    texts = [f"model {n}: {within(c.estimate, c.ci_low, c.ci_high)}" for n, c in chosen.items() if c]
    return f"The bundle's own coefficient in ms, with the 95 % interval that `fit` prefers: {'; '.join(texts)}."
