"""Draws what every back-off changes, as a part of the unloaded response time."""

from __future__ import annotations

import altair as alt
import pandas as pd

from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec

_WIDTH, _HEIGHT = 230, 170


def drawn(points: pd.DataFrame, suggested: str) -> str:
    """Return a column of panels per share of faults, a row for good answers and one for callers, as SVG.

    ``points`` has ``what``, ``fault``, ``service``, ``share``, ``change``, ``low``, ``high``; ``suggested`` is the
    share of the rule.
    """
    shares = list(dict.fromkeys(points["share"]))
    rows = [
        alt.hconcat(*(_panel(part, f"{what}, {fault} % faults", shares, suggested) for fault, part in of_what))
        for what, of_what in ((what, part.groupby("fault")) for what, part in points.groupby("what", sort=False))
    ]
    return svg.draw(spec(alt.vconcat(*rows)))


def _panel(points: pd.DataFrame, title: str, shares: list[str], suggested: str) -> alt.LayerChart:
    reported = points.drop(columns=["what", "fault"]).round(2)
    x = alt.X("share:N", sort=shares, title="back-off / unloaded response time", axis=alt.Axis(labelAngle=0))
    hue = alt.Color("service:N", sort=None, title="unloaded", scale=alt.Scale(range=COLOURS[:2]))
    base = alt.Chart(reported).encode(x=x, xOffset=alt.XOffset("service:N", sort=None), color=hue)
    spans = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title="change, %"), y2="high:Q")
    dots = base.mark_point(filled=True, size=40).encode(y="change:Q")
    zero = alt.Chart(pd.DataFrame({"y": [0]})).mark_rule(color="#888").encode(y="y:Q")
    rule = alt.Chart(pd.DataFrame({"share": [suggested]})).mark_rule(strokeDash=[4, 3], color="#888").encode(x=x)
    chart: alt.LayerChart = (zero + rule + spans + dots).properties(width=_WIDTH, height=_HEIGHT, title=title)
    return chart
