"""Draws Figures 4 to 7 three times: as published, on the target, and on the shop, with store and clients near."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from patternbench.observe.section import Spec
from patternbench.ratelimit.analyze.cost import spread
from patternbench.ratelimit.report.tables import CLIENTS, COST, NONE, PER_REQUEST
from patternbench.report.pages.model_figures import COLOURS, spec
from patternbench.report.svg import draw
from reproductions.kalyanasundaram_2025.limits_published import (
    BASE_MS,
    DEVIATION,
    LAZY,
    LAZY_DEVIATION,
    LAZY_MS,
    NO_LIMITER,
    TABLE_V,
    UNLIMITED,
)

WIDTH, HEIGHT = 260, 200
BY_CLIENTS = f"{CLIENTS}.measured.client_mean"
STORE, LEASE = "store", "synchronisation"
AXES = {COST: "latency, ms", BY_CLIENTS: "deviation, %, mean over clients"}
FIGURES = {
    "shop-figure-4": (STORE, COST),
    "shop-figure-5": (STORE, BY_CLIENTS),
    "shop-figure-6": (LEASE, COST),
    "shop-figure-7": (LEASE, BY_CLIENTS),
}
"""What the bars of an algorithm stand for, and how high they are."""
TITLES = {name: f"Figure {name[-1]}" for name in FIGURES}


def drawn(shop: pd.DataFrame, target: pd.DataFrame) -> dict[str, str]:
    """Each figure by the name of its file."""
    ours = {"the target": target, "the shop": shop}
    figures = {}
    for name, (colour, response) in FIGURES.items():
        panels = {"published": published(colour, response)}
        panels |= {system: measured(rows, colour, response) for system, rows in ours.items()}
        figures[f"{name}.svg"] = draw(figure(panels, colour, response))
    return figures


def published(colour: str, response: str) -> pd.DataFrame:
    """Return the bars of the paper: ``algorithm``, what the colour stands for, ``median``."""
    per_store = {name: {store: BASE_MS + ms for store, ms in row.items()} for name, row in TABLE_V.items()}
    lazy = {name: BASE_MS + ms for name, ms in LAZY_MS.items()}
    if response == BY_CLIENTS:
        per_store, lazy = DEVIATION, LAZY_DEVIATION
    end = [(NO_LIMITER, NONE, BASE_MS if response == COST else UNLIMITED)]
    if colour == STORE:
        bars = [(name, store, value) for name, row in per_store.items() for store, value in row.items()]
    else:
        bars = [(name, PER_REQUEST, per_store[name]["redis"]) for name in lazy]
        bars += [(name, LAZY, value) for name, value in lazy.items()]
    return pd.DataFrame([*end, *bars], columns=["algorithm", colour, "median"]).assign(low=np.nan, high=np.nan)


def measured(rows: pd.DataFrame, colour: str, response: str) -> pd.DataFrame:
    """Medians over rounds with their intervals: at every request by store, or over Redis by synchronisation."""
    limited = rows[rows["limited"]]
    if colour == STORE:
        shown = limited[limited["synchronisation"] == PER_REQUEST]
    else:
        over = limited[limited["store"] == "redis"]
        shown = over[over["algorithm"].isin(over.loc[over["synchronisation"] != PER_REQUEST, "algorithm"])]
    return spread(pd.concat([rows[~rows["limited"]], shown]), ["algorithm", colour], response)


def figure(panels: Mapping[str, pd.DataFrame], colour: str, response: str) -> Spec:
    """Return a panel per system; latencies have scales of their own, since the paper's are mostly distance."""
    names = list(dict.fromkeys(name for points in panels.values() for name in points[colour]))
    hue = alt.Color(f"{colour}:N", title=colour, scale=alt.Scale(domain=names, range=COLOURS[: len(names)]))
    drawn = [_panel(points.round(3), system, colour, hue, AXES[response]) for system, points in panels.items()]
    chart = alt.hconcat(*drawn)
    return spec(chart if response == COST else chart.resolve_scale(y="shared"))


def _panel(points: pd.DataFrame, system: str, colour: str, hue: alt.Color, title: str) -> alt.LayerChart:
    x = alt.X("algorithm:N", title=None, sort=None, axis=alt.Axis(labelAngle=-30))
    base = alt.Chart(points).encode(x=x, xOffset=alt.XOffset(f"{colour}:N", sort=None))
    bars = base.mark_bar().encode(y=alt.Y("median:Q", title=title), color=hue)
    intervals = alt.Chart(points[points["low"].notna()]).encode(x=x, xOffset=alt.XOffset(f"{colour}:N", sort=None))
    rules = intervals.mark_rule().encode(y="low:Q", y2="high:Q")
    chart: alt.LayerChart = (bars + rules).properties(width=WIDTH, height=HEIGHT, title=system)
    return chart
