"""The figures of a search: lost rounds at each dose, the likeliest curve, the boundary with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy import special

from patternbench.analyze.boundary.likelihood import curve
from patternbench.analyze.boundary.search import outcomes
from patternbench.plan.doses import dose_of
from patternbench.report.boundaries import Margins, SearchedBoundary
from patternbench.report.charts import alt
from patternbench.report.charts import spec as spec_of

_POINTS = 61
_COLOURS = alt.Scale(domain=["held", "lost"], range=["#2f7f8f", "#c4513d"])


def spec(found: Margins, title: str) -> dict[str, object]:
    """Return a panel per configuration, below each other; ``title`` is that of the dose's axis."""
    table = pd.DataFrame([row for one in found.searched for row in _rows(one, found)])
    layers = (_band(title), _today(), _curve(), _points())
    chart = alt.layer(*layers).properties(width=520, height=110)
    rows = alt.Row("name:N", title=None, sort=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=260))
    return spec_of(chart.facet(data=table, row=rows))


def map_of(found: Margins, factor: str, panels: Sequence[str], titles: tuple[str, str]) -> dict[str, object]:
    """Return the map of doses over the levels of another factor: rounds, boundaries with bands, and today as a cross.

    ``panels`` are the configurations without this factor; ``titles`` are those of its axis and of the dose's.
    """
    columns = zip(panels, found.searched, strict=True)
    table = pd.DataFrame([row for panel, one in columns for row in _map_rows(panel, one, found, factor)])
    x = alt.X("level:Q", title=titles[0], scale=alt.Scale(zero=False, padding=20))
    y = alt.Y("dose:Q", title=titles[1], scale=alt.Scale(zero=False))
    layers = (_tries(x, y), _edge_bands(), _edges(), _cross())
    chart = alt.layer(*layers).properties(width=360, height=220)
    rows = alt.Row("name:N", title=None, sort=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=260))
    return spec_of(chart.facet(data=table, row=rows))


def _map_rows(panel: str, one: SearchedBoundary, found: Margins, factor: str) -> Iterator[dict[str, object]]:
    """Yield the parts of a configuration's column of the map."""
    level = dose_of(one.configuration.levels[factor])
    blank = {"name": panel, "level": level, "to": None, "outcome": None, "rounds": None}
    outcomes_at = Counter((each.dose, each.held) for each in one.tries if each.held is not None)
    for (dose, held), count in sorted(outcomes_at.items()):
        yield {**blank, "part": "tries", "dose": dose, "outcome": "held" if held else "lost", "rounds": count}
    if found.today is not None:
        yield {**blank, "part": "today", "dose": found.today}
    edge = one.answer.boundary
    if edge is not None:
        yield {**blank, "part": "edge", "dose": edge.at}
        yield {**blank, "part": "band", "dose": edge.low, "to": edge.high}


def _rows(one: SearchedBoundary, found: Margins) -> Iterator[dict[str, object]]:
    """Yield the parts of a configuration's panel."""
    blank = {"name": one.name, "to": None, "lost": None, "rounds": None}
    if found.today is not None:
        yield {**blank, "part": "today", "dose": found.today}
    for dose, (lost, rounds) in sorted(_counts(one).items()):
        yield {**blank, "part": "point", "dose": dose, "lost": 100 * lost / rounds, "rounds": rounds}
    edge = one.answer.boundary
    if edge is None:
        return
    low, high = (found.search.doses[place] if end is None else end for end, place in ((edge.low, 0), (edge.high, -1)))
    yield {**blank, "part": "band", "dose": low, "to": high}
    likeliest = curve(outcomes(one.tries, found.search))
    for place in np.linspace(0, 1, _POINTS):
        chance = float(special.expit(likeliest.slope * (place - likeliest.place)))
        yield {**blank, "part": "curve", "dose": found.search.dose(float(place)), "lost": 100 * chance}


def _counts(one: SearchedBoundary) -> dict[float, tuple[int, int]]:
    """Return how many rounds were lost at each dose, and of how many."""
    decided = [each for each in one.tries if each.held is not None]
    rounds, lost = Counter(each.dose for each in decided), Counter(each.dose for each in decided if not each.held)
    return {dose: (lost[dose], count) for dose, count in rounds.items()}


def _band(title: str) -> alt.Chart:
    x = alt.X("dose:Q", title=title, scale=alt.Scale(zero=False))
    marks = alt.Chart().transform_filter(alt.datum.part == "band").mark_rect(opacity=0.2, color="#b58900")
    drawn: alt.Chart = marks.encode(x=x, x2="to:Q")
    return drawn


def _today() -> alt.Chart:
    marks = alt.Chart().transform_filter(alt.datum.part == "today").mark_rule(strokeDash=[4, 3])
    drawn: alt.Chart = marks.encode(x="dose:Q")
    return drawn


def _curve() -> alt.Chart:
    marks = alt.Chart().transform_filter(alt.datum.part == "curve").mark_line(strokeWidth=1.5, color="#2f7f8f")
    drawn: alt.Chart = marks.encode(x="dose:Q", y=alt.Y("lost:Q", title="lost rounds (%)"))
    return drawn


def _points() -> alt.Chart:
    marks = (
        alt.Chart().transform_filter(alt.datum.part == "point").mark_point(filled=True, opacity=0.8, color="#2f7f8f")
    )
    size = alt.Size("rounds:Q", legend=None, scale=alt.Scale(range=[25, 220], domainMin=0))
    tooltip = [alt.Tooltip("dose:Q"), alt.Tooltip("lost:Q", format=".0f"), alt.Tooltip("rounds:Q")]
    drawn: alt.Chart = marks.encode(x="dose:Q", y="lost:Q", size=size, tooltip=tooltip)
    return drawn


def _tries(x: alt.X, y: alt.Y) -> alt.Chart:
    marks = alt.Chart().transform_filter(alt.datum.part == "tries").mark_point(filled=True, opacity=0.7)
    size = alt.Size("rounds:Q", legend=None, scale=alt.Scale(range=[25, 220], domainMin=0))
    colour = alt.Color("outcome:N", title=None, scale=_COLOURS, legend=alt.Legend(orient="top"))
    drawn: alt.Chart = marks.encode(x=x, y=y, size=size, color=colour)
    return drawn


def _edge_bands() -> alt.Chart:
    marks = alt.Chart().transform_filter(alt.datum.part == "band").mark_area(opacity=0.2, color="#b58900")
    drawn: alt.Chart = marks.encode(x="level:Q", y="dose:Q", y2="to:Q")
    return drawn


def _edges() -> alt.Chart:
    marks = (
        alt.Chart().transform_filter(alt.datum.part == "edge").mark_line(strokeWidth=1.5, point=True, color="#b58900")
    )
    drawn: alt.Chart = marks.encode(x="level:Q", y="dose:Q")
    return drawn


def _cross() -> alt.Chart:
    marks = alt.Chart().transform_filter(alt.datum.part == "today").mark_point(shape="cross", size=120, color="#888")
    drawn: alt.Chart = marks.encode(x="level:Q", y="dose:Q")
    return drawn
