"""The figures of the report's section on rate limiting, after the paper's Figures 4 to 7."""

from __future__ import annotations

import numpy as np
import pandas as pd

from patternbench.observe.section import Figure, Spec
from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.analyze.throttling import NO_LIMITER
from patternbench.ratelimit.report.tables import BALANCERS, COST, DEVIATION, NONE, PER_REQUEST
from patternbench.report.charts import alt, spec

TITLES = {COST: "latency (ms)", DEVIATION: "deviation (% of requests)"}
CAPTION = "Medians over rounds with their intervals, one panel per distance to the store (one way)."


def of_paper(rows: pd.DataFrame) -> list[Figure]:
    """Figures 4 to 7: latency and deviation by algorithm and store, and with leases and per request."""
    limited = rows[rows["limited"]]
    by_store = limited[limited["synchronisation"] == PER_REQUEST]
    leased = limited[limited["store"].isin(limited.loc[limited["synchronisation"] != PER_REQUEST, "store"])]
    unlimited = rows[~rows["limited"]]
    ends = [unlimited.assign(distance=distance) for distance in limited["distance"].unique()]
    drawn = [
        ("Latency by algorithm and store (Figure 4)", [*ends, by_store], COST, "store"),
        ("Throttling deviation by algorithm and store (Figure 5)", [_scale(by_store), by_store], DEVIATION, "store"),
        ("Latency with leases and per request (Figure 6)", [*ends, leased], COST, "synchronisation"),
        (
            "Throttling deviation with leases and per request (Figure 7)",
            [_scale(leased), leased],
            DEVIATION,
            "synchronisation",
        ),
    ]
    return [
        Figure(title, _bars(pd.concat(parts), response, color), CAPTION)
        for title, parts, response, color in drawn
        if len(parts[-1])
    ]


def _scale(limited: pd.DataFrame) -> pd.DataFrame:
    """Return the upper end of the scale as rows to draw: the same arrivals, all allowed."""
    values = limited[["distance", "limit", "also"]].assign(algorithm=NO_LIMITER, store=NONE, synchronisation=NONE)
    return values.assign(**{DEVIATION: limited[f"{BALANCERS}.{NO_LIMITER}.deviation"]})


def _panels(rows: pd.DataFrame) -> pd.Series:
    """Return the title of a panel: the distance, and what else varies."""
    names = rows["distance"] + " to the store"
    for column in ("limit", "also"):
        if rows[column].nunique() > 1:
            names = names + ", " + rows[column]
    return names


def _bars(rows: pd.DataFrame, response: str, color: str) -> Spec:
    named = rows.assign(panel=_panels(rows), **{color: rows[color].replace(NONE, "none")})
    points = judge.spread(named, ["algorithm", "panel", color], response)
    x = alt.X("algorithm:N", title=None, sort=None, axis=alt.Axis(labelAngle=-30))
    base = alt.Chart().encode(x=x, xOffset=alt.XOffset(f"{color}:N", sort=None))
    bars = base.mark_bar().encode(
        y=alt.Y("median:Q", title=TITLES[response]),
        color=alt.Color(f"{color}:N", sort=None),
        tooltip=[*tips("algorithm", color), alt.Tooltip("median:Q", title=TITLES[response], format=".2f")],
    )
    whiskers = base.mark_rule().encode(y="low:Q", y2="high:Q")
    chart = alt.layer(bars, whiskers, data=alt.NamedData(name="points")).properties(width=320, height=220)
    panels = chart.facet(column=alt.Column("panel:N", title=None, sort=list(points["panel"].unique())))
    # Far from the store the distance dominates the latency: one scale for all would hide differences near it.
    return with_data(panels.resolve_scale(y="independent") if response == COST else panels, points)


def tips(*words: str) -> list[alt.Tooltip]:
    """Return the words of a tooltip."""
    return [alt.Tooltip(f"{word}:N") for word in words]


def numbers(*names: str) -> list[alt.Tooltip]:
    """Return the numbers of a tooltip."""
    return [alt.Tooltip(f"{name}:Q", format=".2f") for name in names]


def with_data(chart: alt.TopLevelMixin, points: pd.DataFrame) -> Spec:
    """Return a chart's specification with its points, without what the page sets itself."""
    drawn = spec(chart)
    kept = {key: value for key, value in drawn.items() if key not in ("$schema", "config", "datasets")}
    own = drawn.get("datasets")
    named = {"points": points.replace({np.nan: None}).to_dict(orient="records")}
    return kept | {"datasets": {**(own if isinstance(own, dict) else {}), **named}}
