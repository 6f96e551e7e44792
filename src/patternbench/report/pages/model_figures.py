"""Figures of models: effects, assumptions, and rows that stand out.

Every function returns a Vega-Lite spec as a dictionary. Points are drawn for at most ``SHOWN`` rows; captions
say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from patternbench.analyze.models.contrasts import fitted_at
from patternbench.analyze.models.diagnostics import QuantilePoints, histogram, normal_quantiles
from patternbench.analyze.models.fit import ModelResult, shown_rows
from patternbench.analyze.models.words import preferred
from patternbench.report.charts import COLOURS, Spec, alt, spec
from patternbench.terms.quantities import titled

SHOWN = 1200
_WIDTH, _HEIGHT = 300, 220
_SURFACE_STEPS = 25
_MOST_LEVELS = 13
_LINE_STEPS = 21


def effects_figure(result: ModelResult) -> Spec | None:
    """Draw each factor's effect over its range (or against its reference level), with its interval."""
    rows = _effect_rows(result)
    if not rows:
        return None
    table = pd.DataFrame(rows)
    title, factor = titled(result.fit.response, float(table[["low", "high"]].abs().to_numpy().max()), result.unit)
    table[["estimate", "low", "high"]] *= factor
    base = alt.Chart(table).encode(y=alt.Y("change:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)))
    bars = base.mark_rule(strokeWidth=2.5, color=COLOURS[0]).encode(
        x=alt.X("low:Q", title=f"change of {title}"), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=70, color=COLOURS[0]).encode(x="estimate:Q", tooltip=list(rows[0]))
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(strokeDash=[4, 3], color="#888").encode(x="x:Q")
    return spec((zero + bars + points).properties(width=440, height=alt.Step(26)))


def _effect_rows(result: ModelResult) -> list[dict[str, object]]:
    ranges = result.fit.design.ranges
    rows: list[dict[str, object]] = []
    for c in preferred(result)[0]:
        if c.name == "Intercept" or ":" in c.name:
            continue
        low, high = ranges.get(c.name.strip("`"), (0.0, 1.0))
        step = high - low
        name = c.name.strip("`")
        text = _range(result, name, low, high) if name in ranges else _level(c.name)
        ends = sorted((c.ci_low * step, c.ci_high * step))
        rows.append({"change": text, "estimate": c.estimate * step, "low": ends[0], "high": ends[1]})
    return rows


def _range(result: ModelResult, name: str, low: float, high: float) -> str:
    factors = result.fit.design.factors
    return f"{name}: {factors.measured_at(name, low)} to {factors.measured_at(name, high)}"


def _level(name: str) -> str:
    """Write a category's column as its level: ``C(method)[T.Get]`` is ``method = Get``."""
    factor, _, level = name.rstrip("]").partition("[T.")
    return f"{factor.removeprefix('C(').removesuffix(')')} = {level}" if level else name


def residual_histogram(result: ModelResult) -> Spec:
    """Draw the histogram of the residuals."""
    bins = histogram(result.fit.residuals)
    table = pd.DataFrame({"from": bins.edges[:-1], "to": bins.edges[1:], "rows": bins.counts})
    bars = alt.Chart(table).mark_bar(color=COLOURS[0], opacity=0.8)
    x = alt.X("from:Q", title="residual", bin="binned")
    return spec(
        bars.encode(x=x, x2="to:Q", y=alt.Y("rows:Q", title="rows"), tooltip=["from", "to", "rows"]).properties(
            width=_WIDTH, height=_HEIGHT
        )
    )


def normal_qq(result: ModelResult) -> Spec:
    """Draw the standardized residuals against normal quantiles."""
    return _qq(normal_quantiles(result.influence.standardized), "normal quantile", "standardized residual")


def chi_square_qq(points: QuantilePoints) -> Spec:
    """Draw squared distances of joint residuals against chi-square quantiles."""
    return _qq(points, "chi-square quantile", "squared distance")


def _qq(points: QuantilePoints, x: str, y: str) -> Spec:
    table = pd.DataFrame({x: points.expected.round(4), y: points.observed.round(4)})
    return _against_line(table, x, y)


def _against_line(table: pd.DataFrame, x: str, y: str, of: str = "") -> Spec:
    """Draw y over x, both of the response ``of``, with the line on which they are equal."""
    ends = [float(table.min().min()), float(table[x].max())]
    axes = {
        "x": alt.X(f"{x}:Q", title=f"{x} {of}".strip(), scale=alt.Scale(zero=False)),
        "y": alt.Y(f"{y}:Q", title=f"{y} {of}".strip(), scale=alt.Scale(zero=False)),
    }
    line = alt.Chart(pd.DataFrame({x: ends, y: ends})).mark_line(strokeDash=[4, 3], color="#888")
    dots = alt.Chart(table).mark_circle(size=20, color=COLOURS[0], opacity=0.7)
    return spec((line.encode(**axes) + dots.encode(**axes)).properties(width=_WIDTH, height=_HEIGHT))


def residuals_over_fitted(result: ModelResult, seed: int = 1) -> Spec:
    """Draw studentized residuals over fitted values; rows that stand out are always drawn and labelled."""
    table = _row_table(result, seed)
    base = alt.Chart(table).encode(
        x=alt.X("fitted:Q", title="fitted", scale=alt.Scale(zero=False)),
        y=alt.Y("studentized:Q", title="studentized residual"),
    )
    dots = base.mark_circle(size=22, opacity=0.55).encode(
        color=_stands_out(), tooltip=["row", "fitted", "studentized", "cooks"]
    )
    zero = alt.Chart(pd.DataFrame({"y": [0.0]})).mark_rule(strokeDash=[4, 3], color="#888").encode(y="y:Q")
    return spec(alt.layer(zero, dots, *_names(base, table)).properties(width=_WIDTH, height=_HEIGHT))


def _names(base: alt.Chart, table: pd.DataFrame) -> list[alt.Chart]:
    """Label the rows that stand out. Without such rows there is no layer, because an empty layer has no scale."""
    if not table["named"].any():
        return []
    text = base.transform_filter("datum.named").mark_text(dx=9, align="left", fontSize=10, color="#D55E00")
    return [text.encode(text="row:N")]


def influence_figure(result: ModelResult, seed: int = 1) -> Spec:
    """Draw Cook's distance over leverage; rows that stand out are always drawn and labelled."""
    table = _row_table(result, seed)
    base = alt.Chart(table).encode(
        x=alt.X("leverage:Q", scale=alt.Scale(zero=False)), y=alt.Y("cooks:Q", title="Cook's distance")
    )
    dots = base.mark_circle(size=22, opacity=0.55).encode(
        color=_stands_out(), tooltip=["row", "leverage", "cooks", "studentized"]
    )
    return spec(alt.layer(dots, *_names(base, table)).properties(width=_WIDTH, height=_HEIGHT))


def _stands_out() -> alt.Color:
    scale = alt.Scale(domain=[False, True], range=[COLOURS[0], COLOURS[1]])
    return alt.Color("named:N", scale=scale, legend=None)


def _row_table(result: ModelResult, seed: int) -> pd.DataFrame:
    named = [int(np.searchsorted(result.fit.design.rows, row.row - 1)) for row in result.suspicious]
    chosen = np.union1d(shown_rows(result.fit.summary.n, SHOWN, seed), np.array(named, dtype=np.int64)).astype(np.int64)
    row_influence = result.influence
    values = {
        "fitted": result.fit.fitted,
        "studentized": row_influence.studentized,
        "leverage": row_influence.leverage,
        "cooks": row_influence.cooks,
    }
    table = pd.DataFrame({name: np.round(v[chosen], 6) for name, v in values.items()})
    return table.assign(row=result.fit.design.rows[chosen] + 1, named=np.isin(chosen, named))


def observed_over_fitted(result: ModelResult, seed: int = 1) -> Spec:
    """Draw measured against fitted values."""
    chosen = shown_rows(result.fit.summary.n, SHOWN, seed)
    unit, factor = titled(result.fit.response, float(np.abs(result.fit.y).max()), result.unit)
    columns = {"fitted": result.fit.fitted[chosen], "measured": result.fit.y[chosen]}
    return _against_line((pd.DataFrame(columns) * factor).round(6), "fitted", "measured", unit)


def interaction_figure(result: ModelResult, over: Sequence[str] = ()) -> Spec | None:
    """Draw the mean response over one factor, a line per level of another; None if no factors suit.

    ``over`` names the two factors. Without it the first suitable ones are drawn.
    """
    factors = [str(n) for n in result.fit.design.frame.columns if _suits(result, str(n)) and (not over or n in over)]
    if len(factors) < 2:  # noqa: PLR2004 - an interaction has two factors
        return None
    numeric = sorted(factors, key=lambda name: name in result.fit.design.levels)
    x, colour = numeric[0], numeric[-1]
    means = _cell_means(result, x, colour)
    title, factor = titled(result.fit.response, float(means["mean"].abs().max()), result.unit)
    means[["mean", "low", "high"]] *= factor
    return _interaction(means.rename(columns={x: "x", colour: "line"}), x, colour, f"mean {title}", result)


def _cell_means(result: ModelResult, x: str, colour: str) -> pd.DataFrame:
    """Return the mean response in each cell of two factors, with its 95 % interval."""
    frame = result.fit.design.frame[[x, colour]].assign(response=result.fit.y)
    texts = {level: result.fit.design.factors.text(colour, level) for level in frame[colour].unique()}
    frame[colour] = frame[colour].astype(object).map(texts)
    means = frame.groupby([x, colour], observed=True)["response"].agg(["mean", "sem", "size"]).reset_index()
    reach = 1.96 * means["sem"].fillna(0)
    return means.assign(low=means["mean"] - reach, high=means["mean"] + reach)


def _suits(result: ModelResult, name: str) -> bool:
    return name in result.fit.design.parsed.right and 1 < result.fit.design.frame[name].nunique() <= _MOST_LEVELS


def _axis(kind: str, title: str) -> alt.X:
    if kind == "Q":
        return alt.X("x:Q", title=title, scale=alt.Scale(zero=False))
    return alt.X("x:N", title=title, sort=None, axis=alt.Axis(labelAngle=0))


def _interaction(means: pd.DataFrame, x: str, colour: str, title: str, result: ModelResult) -> Spec:
    kind = "Q" if x in result.fit.design.ranges else "N"
    scale = alt.Scale(range=COLOURS)
    base = alt.Chart(means).encode(
        x=_axis(kind, x),
        color=alt.Color("line:N", title=colour, scale=scale),
    )
    line = base.mark_line(point=True).encode(
        y=alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False)),
        tooltip=["x", "line", "mean", "size"],
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    return spec((bars + line).properties(width=_WIDTH, height=_HEIGHT))


def surface_figure(result: ModelResult, over: Sequence[str] = ()) -> Spec | None:
    """Draw the fitted response over two numeric factors, with the others at their means.

    ``over`` names the two factors. Without it those with the largest effects are drawn.
    """
    design = result.fit.design
    weight = {
        name: abs(result.fit.beta[i]) * design.spans[i]
        for i, name in enumerate(design.columns)
        if name.strip("`") in design.ranges and (not over or name.strip("`") in over)
    }
    if len(weight) < 2:  # noqa: PLR2004 - a surface has two axes
        return None
    x, y = sorted(weight, key=lambda name: -weight[name])[:2]
    grid = _surface(result, {name: design.columns.index(name) for name in (x, y)})
    title, factor = titled(result.fit.response, float(grid["response"].abs().max()), result.unit)
    grid["response"] *= factor
    colour = alt.Color("response:Q", title=title, scale=alt.Scale(scheme="viridis"))
    cells = (
        alt.Chart(grid)
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title=x.strip("`"), bin="binned"),
            x2="x2:Q",
            y=alt.Y("y:Q", title=y.strip("`"), bin="binned"),
            y2="y2:Q",
            color=colour,
            tooltip=["x", "y", "response"],
        )
    )
    return spec(cells.properties(width=_WIDTH, height=_HEIGHT))


def _surface(result: ModelResult, places: Mapping[str, int]) -> pd.DataFrame:
    design = result.fit.design
    (x, i), (y, j) = places.items()
    edges = {name: np.linspace(*design.ranges[name.strip("`")], _SURFACE_STEPS + 1) for name in (x, y)}
    left, bottom = np.meshgrid(edges[x][:-1], edges[y][:-1])
    right, top = np.meshgrid(edges[x][1:], edges[y][1:])
    points = np.tile(design.means, (left.size, 1))
    points[:, i], points[:, j] = ((left + right) / 2).ravel(), ((bottom + top) / 2).ravel()
    columns = {"x": left, "x2": right, "y": bottom, "y2": top}
    return pd.DataFrame({name: values.ravel().round(6) for name, values in columns.items()}).assign(
        response=(points @ result.fit.beta).round(6)
    )


def models_figure(models: Sequence[ModelResult], over: Sequence[str]) -> Spec | None:
    """Draw several models' predictions over the first factor of ``over``, a panel per level of the second.

    A model without the first factor is a flat line; one without the second is the same in all panels. None if no model
    has the first as a number.
    """
    x, panel = over[0], over[1] if len(over) > 1 else None
    axis = next((model.fit.design.ranges[x] for model in models if x in model.fit.design.ranges), None)
    if axis is None:
        return None
    values = np.linspace(*axis, _LINE_STEPS)
    places = [{x: float(value), **level} for level in _panels(models, panel) for value in values]
    rows = [_expected(model, f"model {i}", places) for i, model in enumerate(models, start=1)]
    return _model_lines(pd.concat(rows, ignore_index=True), x, panel, models[0])


def _panels(models: Sequence[ModelResult], panel: str | None) -> list[dict[str, object]]:
    designs = [model.fit.design for model in models]
    levels = (design.levels.get(panel or "") or design.ranges.get(panel or "") for design in designs)
    panel_levels: Sequence[object] = next((one for one in levels if one), ())
    return [{str(panel): level} for level in panel_levels] or [{}]


def _expected(model: ModelResult, name: str, places: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    expected = pd.DataFrame(fitted_at(model, places), columns=["expected", "low", "high"])
    (x, *panel) = places[0]
    texts = [", ".join(f"{factor} = {at[factor]}" for factor in panel) for at in places]
    return expected.assign(x=np.array([at[x] for at in places], dtype=float), panel=texts, model=name)


def _model_lines(table: pd.DataFrame, x: str, panel: str | None, first: ModelResult) -> Spec:
    title, factor = titled(first.fit.response, float(table["expected"].abs().max()), first.unit)
    table[["expected", "low", "high"]] *= factor
    legend = alt.Legend(symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=3)
    colour = alt.Color("model:N", title=None, scale=alt.Scale(range=COLOURS), legend=legend)
    base = alt.Chart(table.round(6)).encode(x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False)), color=colour)
    y = alt.Y("expected:Q", title=f"expected {title}", scale=alt.Scale(zero=False))
    lines = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=alt.StrokeDash("model:N", legend=None))
    bands = base.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q")
    drawn = alt.layer(bands, lines).properties(width=_WIDTH, height=_HEIGHT)
    return spec(drawn.facet(column=alt.Column("panel:N", title=None)) if panel else drawn)
