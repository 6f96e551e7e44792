"""Draws what pages compare: a panel for each main claim, with a bar for each configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec

FROM, TO, ASIDE = "from", "to", "aside"
"""What a claim makes of a configuration: it starts from one, goes to another, and says nothing of the others."""
_COLOURS = {FROM: COLOURS[0], TO: COLOURS[1], ASIDE: COLOURS[7]}
_WIDTH, _BAR, _COLUMNS, _LONGEST_NAME = 260, 24, 2, 190


@dataclass(frozen=True)
class Panel:
    """A study, a condition, a response, and a row of ``points`` per round: ``configuration``, ``value``, ``side``."""

    study: str
    condition: str
    response: str
    points: pd.DataFrame


def drawn(panels: Sequence[Panel]) -> str:
    """All panels as one SVG."""
    return svg.draw(spec(alt.concat(*map(_panel, panels), columns=_COLUMNS)))


def _panel(panel: Panel) -> alt.LayerChart:
    points = panel.points.round(3)
    names = list(dict.fromkeys(points["configuration"]))
    x = alt.X("value:Q", title=panel.response, scale=alt.Scale(zero=True))
    y = alt.Y("configuration:N", title=None, sort=names, axis=alt.Axis(labelLimit=_LONGEST_NAME))
    hue = alt.Color("side:N", legend=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())))
    medians = points.groupby(["configuration", "side"], sort=False, as_index=False)["value"].median().round(3)
    bars = alt.Chart(medians).mark_bar(height=_BAR * 2 / 3).encode(x=x, y=y, color=hue)
    dots = alt.Chart(points).mark_circle(size=22, opacity=0.55, color="#333").encode(x=x, y=y)
    title = alt.Title([name for name in (panel.study, panel.condition) if name])
    chart: alt.LayerChart = (bars + dots).properties(width=_WIDTH, height=_BAR * len(names), title=title)
    return chart
