"""Figures 1 to 10: residuals of the four models, and what models 1, 2 and 4 predict next to what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import cast

import altair as alt
import pandas as pd

from patternbench.analyze.models.fit import ModelResult
from patternbench.observe.section import Spec
from patternbench.report.figures.scenarios import LIGHT
from patternbench.report.pages.model_figures import normal_qq, residual_histogram, residuals_over_fitted, spec
from patternbench.report.svg import draw
from reproductions.elmalki_zdun_2021.bundle_rounds import METHODS, MS_PER_S, SIZES, batches, fitted, traced

#: Of the four models those whose predictions the paper draws.
DRAWN = (1, 2, 4)
WIDTH, HEIGHT = 300, 200


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Every figure as SVG, by its name."""
    return {f"{name}.svg": draw(figure) for name, figure in figures(traced(rounds))}


def figures(rounds: pd.DataFrame) -> Iterator[tuple[str, Spec]]:
    """Figures 1 to 4 (a model's residuals), then 5 to 10 (a function without and with bundles)."""
    rows = batches(rounds)
    models = fitted(rows)
    for number, model in models.items():
        yield (
            f"figure-{number}",
            side_by_side(residual_histogram(model), normal_qq(model), residuals_over_fitted(model)),
        )
    for number, (method, bundle) in enumerate(product(METHODS, "NY"), start=5):
        yield f"figure-{number}", predicted(rounds, rows, models, method, bundle)


def side_by_side(*specs: Spec) -> Spec:
    """Several figures in a row; each keeps its data, which Altair names by what they hold."""
    shared = ("$schema", "config", "datasets")
    data = {name: rows for one in specs for name, rows in cast(Spec, one.get("datasets", {})).items()}
    return {"hconcat": [{k: v for k, v in one.items() if k not in shared} for one in specs], "datasets": data}


def predicted(
    rounds: pd.DataFrame, rows: pd.DataFrame, models: dict[int, ModelResult], method: str, bundle: str
) -> Spec:
    """Draw total times over the size: a dot per round, the medians, and what models say of them."""
    chosen = (rows["method"] == method) & (rows["request_bundle"] == bundle)
    lines = {"measured": rows["total_time"]} | {f"model {n}": pd.Series(models[n].fit.fitted) for n in DRAWN}
    table = pd.concat([_line(rows["size"][chosen], values[chosen], name) for name, values in lines.items()])
    own = rounds[(rounds["parameters.method"] == method) & (rounds["request_bundle"] == bundle)]
    dots = _line(own["parameters.size"], own["journey_p50"] * MS_PER_S, "measured")
    return _over_size(table, dots, list(lines), f"{method}, {'with' if bundle == 'Y' else 'without'} a bundle")


def _line(sizes: pd.Series, values: pd.Series, name: str) -> pd.DataFrame:
    return pd.DataFrame({"size": sizes.to_numpy(), "ms": values.to_numpy().round(3), "line": name})


def _over_size(table: pd.DataFrame, dots: pd.DataFrame, names: list[str], title: str) -> Spec:
    legend = alt.Legend(symbolOpacity=1)
    colour = alt.Color(
        "line:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=LIGHT[1 : len(names) + 1])
    )
    axes = {
        "x": alt.X("size:Q", title="size of the batch", scale=alt.Scale(zero=False), axis=alt.Axis(values=list(SIZES))),
        "y": alt.Y("ms:Q", title="total time, ms"),
        "color": colour,
    }
    lines = alt.Chart(table.sort_values(["line", "size"])).mark_line(point=True)
    rounds = alt.Chart(dots).mark_circle(size=24, opacity=0.35)
    return spec((rounds.encode(**axes) + lines.encode(**axes)).properties(width=WIDTH, height=HEIGHT, title=title))
