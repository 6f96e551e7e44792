"""The figure of a search for capacity: the missed share at each rate, the objective, and the answer's interval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from patternbench.analyze.load.rate_search import Capacity, RateObjective, RateStep
from patternbench.records.outputs import write_whole
from patternbench.report.charts import COLOURS, alt, spec
from patternbench.report.svg import draw

GREY = "#8a93a0"
"""Seen on light and on dark ground."""


def write_svg(path: Path, steps: Sequence[RateStep], capacity: Capacity, objective: RateObjective) -> None:
    """Draw the rounds of a search into an SVG file."""
    write_whole(path, draw(spec(figure(steps, capacity, objective))).encode())


def figure(steps: Sequence[RateStep], capacity: Capacity, objective: RateObjective) -> alt.LayerChart:
    """Return a point per round: its rate, and the percentage of calls that missed the objective."""
    table = pd.DataFrame({"rate": [step.rate for step in steps], "missed": [100 * step.share for step in steps]})
    x = alt.X("rate:Q", title="offered load (calls/s)", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("missed:Q", title=f"calls without success within {objective.text.partition('<=')[2].strip()} (%)")
    dots = alt.Chart(table).mark_point(filled=True, size=45, opacity=0.7).encode(x=x, y=y)
    allowed = alt.Chart(pd.DataFrame({"y": [100 * objective.allowed]})).mark_rule(strokeDash=[4, 3], color=GREY)
    allowed = allowed.encode(y="y:Q")
    drawn = alt.LayerChart(layer=[*_answer(capacity), allowed, dots])
    return drawn.properties(width=520, height=300, title=objective.text)


def _answer(capacity: Capacity) -> list[alt.Chart]:
    """Return the rate as a line, and its interval as a band behind it."""
    layers = []
    if capacity.low is not None and capacity.high is not None:
        band = pd.DataFrame({"x": [capacity.low], "x2": [capacity.high]})
        layers.append(alt.Chart(band).mark_rect(opacity=0.15, color=GREY).encode(x="x:Q", x2="x2:Q"))
    if capacity.rate is not None:
        layers.append(
            alt.Chart(pd.DataFrame({"x": [capacity.rate]})).mark_rule(strokeWidth=2, color=COLOURS[1]).encode(x="x:Q")
        )
    return layers
