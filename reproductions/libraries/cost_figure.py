"""Draws what a call costs each client, with and without a pattern."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec

_WIDTH, _BAR = 520, 11


def drawn(costs: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Return a group of bars per client, the cheapest without a pattern first, as SVG.

    ``costs`` has ``client``, ``strategy`` and ``cpu_us`` of each round; ``titles`` the strategies in their order.
    """
    points = costs.assign(strategy=costs["strategy"].map(titles)).round(1)
    medians = points.groupby(["client", "strategy"], as_index=False)["cpu_us"].median().round(1)
    names = medians.groupby("client")["cpu_us"].min().sort_values().index.tolist()
    order = list(titles.values())
    x = alt.X("cpu_us:Q", title="CPU time per call, us")
    y = alt.Y("client:N", sort=names, title=None)
    offset = alt.YOffset("strategy:N", sort=order)
    hue = alt.Color("strategy:N", sort=order, title=None, scale=alt.Scale(domain=order, range=COLOURS[: len(order)]))
    bars = alt.Chart(medians).mark_bar().encode(x=x, y=y, yOffset=offset, color=hue)
    dots = alt.Chart(points).mark_circle(size=14, opacity=0.5, color="#333").encode(x=x, y=y, yOffset=offset)
    return svg.draw(spec((bars + dots).properties(width=_WIDTH, height=_BAR * len(order) * len(names))))
