"""Draws what each client's patterns change against its baseline, with the longest delay."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec
from reproductions.aderaldo_2024.verdicts import BASELINE, PATTERNS, SUCCESS, TOTAL, Logs
from reproductions.contrasts import PERCENT, contrast

NAME = "changes"
TITLES = {SUCCESS: "average success time", TOTAL: "total execution time"}
_WIDTH, _ROW = 230, 11


def drawn(rounds: pd.DataFrame) -> str:
    """A panel per response and share of faults, two in a row, as SVG."""
    panels = pd.DataFrame(changes(rounds)).groupby(["what", "fault"], sort=False)
    drawings = (_panel(points, f"{what}, {fault} % faults") for (what, fault), points in panels)
    return svg.draw(spec(alt.concat(*drawings, columns=2)))


def changes(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """The change of every client with every pattern under each share of faults, at the users that every client had.

    The intervals of a panel hold together.
    """
    for response, what in TITLES.items():
        logs = Logs(rounds, response)
        users = logs.users_of(*logs.clients)
        longest = [one for one in logs.configurations if one[2] == logs.delays[-1]]
        level = 1 - (1 - LEVEL) / max(len(longest), 1)
        for fault in logs.faults:
            for client, pattern, delay in longest:
                without, chosen = (logs.at((client, *one), fault, users) for one in (BASELINE, (pattern, delay)))
                change = contrast(without, chosen, PERCENT, level)
                names = {"what": what, "fault": fault, "client": client, "pattern": pattern.replace("_", " ")}
                yield {**names, "change": change.value, "low": change.low, "high": change.high}


def _panel(points: pd.DataFrame, title: str) -> alt.LayerChart:
    told = points.drop(columns=["what", "fault"]).round(1)
    names = list(dict.fromkeys(told["client"]))
    patterns = [name.replace("_", " ") for name in PATTERNS]
    hue = alt.Color("pattern:N", sort=patterns, title=None, scale=alt.Scale(domain=patterns, range=COLOURS[:2]))
    y = alt.Y("client:N", sort=names, title=None)
    base = alt.Chart(told).encode(y=y, yOffset=alt.YOffset("pattern:N", sort=patterns), color=hue)
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="change against the baseline, %"), x2="high:Q")
    dots = base.mark_point(filled=True, size=40).encode(x="change:Q")
    zero = alt.Chart(pd.DataFrame({"x": [0]})).mark_rule(color="#888").encode(x="x:Q")
    chart: alt.LayerChart = (zero + spans + dots).properties(width=_WIDTH, height=_ROW * 2 * len(names), title=title)
    return chart
