"""The figure of a scenario over time: its attempts, and below them its series on the same axis of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from patternbench.observe.section import Spec
from patternbench.report.charts import alt, spec
from patternbench.report.figures.over_time import COLOURS, RATE, TIME, Band

WIDTH, HEIGHT = 620, 110
ATTEMPTS = {"good": (RATE, "answered well"), "failed": (RATE, "failed"), "p50_ms": (TIME, "answered well")}


@dataclass(frozen=True)
class Panel:
    """One measure over time: its title, its lines (``line``, ``second``, ``value``), and their colours."""

    title: str
    lines: pd.DataFrame
    colours: alt.Scale | alt.UndefinedType = alt.Undefined


def of_attempts(steps: pd.DataFrame) -> list[Panel]:
    """Return the panels of a scenario's attempts, from the columns of ``analyze.over_time``."""
    panels: dict[str, list[pd.DataFrame]] = {}
    for column, (title, line) in ATTEMPTS.items():
        lines = steps[["second"]].assign(line=line, value=steps[column])
        panels.setdefault(title, []).append(lines)
    return [Panel(title, pd.concat(lines), COLOURS) for title, lines in panels.items()]


def stacked(panels: Sequence[Panel], bands: Sequence[Band]) -> Spec:
    """Return the panels that have lines, below each other. ``bands`` say when faults acted."""
    shown = [panel for panel in panels if len(panel.lines.dropna())]
    axis = alt.Scale(domain=[0, max((float(panel.lines["second"].max()) for panel in shown), default=1.0)])
    drawn = [_panel(panel, bands, axis, last=panel is shown[-1]) for panel in shown]
    chart = alt.vconcat(*drawn, spacing=8).resolve_scale(color="independent")
    return spec(chart)


def _panel(panel: Panel, bands: Sequence[Band], axis: alt.Scale, *, last: bool) -> alt.LayerChart | alt.FacetChart:
    x = alt.X("second:Q", scale=axis, title="seconds from the round's start" if last else None)
    legend = alt.Legend(orient="right", labelLimit=220)
    color = alt.Color("line:N", title=None, sort=None, scale=panel.colours, legend=legend)
    lines = alt.Chart(panel.lines.dropna()).mark_line(strokeWidth=1.5)
    layers = [*_bands(bands, axis), lines.encode(x=x, y=alt.Y("value:Q", title=None), color=color)]
    title = alt.TitleParams(panel.title, anchor="start", frame="group", fontSize=11)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _bands(bands: Sequence[Band], axis: alt.Scale) -> Iterator[alt.Chart]:
    if bands:
        rows = pd.DataFrame([{"fault": band.fault, "from": band.began, "to": band.ended} for band in bands])
        drawn = alt.Chart(rows).mark_rect(opacity=0.18, color="#b58900")
        yield drawn.encode(x=alt.X("from:Q", scale=axis), x2="to:Q", tooltip=["fault:N", "from:Q", "to:Q"])
