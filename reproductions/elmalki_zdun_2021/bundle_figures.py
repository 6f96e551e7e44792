"""Figures 1 to 10: residuals of the four models, and what models 1, 2 and 4 predict next to what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import cast

import pandas as pd

from patternbench.analyze.models.fit import ModelResult
from patternbench.observe.section import Spec
from patternbench.report.figures.scenarios import LIGHT
from patternbench.report.pages.model_figures import normal_qq, residual_histogram, residuals_over_fitted
from patternbench.report.svg import draw
from reproductions import drawing
from reproductions.elmalki_zdun_2021.bundle_rounds import METHODS, MS_PER_S, SIZES, batches, fitted, traced

DRAWN = (1, 2, 4)
"""Of the four models those whose predictions the paper draws."""


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Every figure as SVG, by its name."""
    return {f"figure-{number}.svg": draw(figure) for number, figure in enumerate(figures(traced(rounds)), start=1)}


def figures(rounds: pd.DataFrame) -> Iterator[Spec]:
    """Figures 1 to 4 (a model's residuals), then 5 to 10 (a function without and with bundles)."""
    rows = batches(rounds)
    models = fitted(rows)
    for model in models.values():
        yield side_by_side(residual_histogram(model), normal_qq(model), residuals_over_fitted(model))
    for method, bundle in product(METHODS, "NY"):
        yield predicted(rounds, rows, models, method, bundle)


def side_by_side(*specs: Spec) -> Spec:
    """Several figures in a row; each keeps its data, which Altair names by what they hold."""
    shared = ("$schema", "config", "datasets")
    data = {name: rows for one in specs for name, rows in cast(Spec, one.get("datasets", {})).items()}
    return {"hconcat": [{k: v for k, v in one.items() if k not in shared} for one in specs], "datasets": data}


def predicted(
    rounds: pd.DataFrame, rows: pd.DataFrame, models: Mapping[int, ModelResult], method: str, bundle: str
) -> Spec:
    """Draw total times over the size: a dot per round, the medians, and what models say of them."""
    chosen = rows[(rows["method"] == method) & (rows["request_bundle"] == bundle)]
    own = rounds[(rounds["parameters.method"] == method) & (rounds["request_bundle"] == bundle)]
    lines = {"measured": chosen["total_time"]}
    lines |= {f"model {number}": pd.Series(models[number].fit.fitted)[chosen.index] for number in DRAWN}
    table = pd.concat([_line(chosen["size"], values, name) for name, values in lines.items()])
    dots = _line(own["parameters.size"], own["journey_p50"] * MS_PER_S, "measured")
    title = f"{method}, {'with' if bundle == 'Y' else 'without'} a bundle"
    words = {"names": list(lines), "colours": LIGHT[1 : len(lines) + 1], "sizes": list(SIZES), "title": title}
    return drawing.panel("batches", {"rounds": dots, "lines": table.sort_values(["line", "size"])}, **words)


def _line(sizes: pd.Series, values: pd.Series, name: str) -> pd.DataFrame:
    return pd.DataFrame({"size": sizes.to_numpy(), "ms": values.to_numpy().round(3), "line": name})
