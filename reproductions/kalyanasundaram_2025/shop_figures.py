"""Draws Figures 4 to 7 three times: as published, on the target, and on the shop, with store and clients near."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from patternbench.ratelimit.analyze.cost import spread
from patternbench.ratelimit.report.tables import COST, NONE, PER_REQUEST
from patternbench.report.charts import COLOURS
from reproductions import drawing
from reproductions.kalyanasundaram_2025.limit_rounds import BY_CLIENTS
from reproductions.kalyanasundaram_2025.limits_published import (
    ADDED,
    BASE_MS,
    DEVIATION,
    LAZY,
    NO_LIMITER,
    TABLE,
    UNLIMITED,
)

STORE, LEASE = "store", "synchronisation"
AXES = {COST: "latency, ms", BY_CLIENTS: "deviation, %, mean over clients"}
FIGURES = {
    "shop-figure-4": (STORE, COST),
    "shop-figure-5": (STORE, BY_CLIENTS),
    "shop-figure-6": (LEASE, COST),
    "shop-figure-7": (LEASE, BY_CLIENTS),
}
"""What the bars of an algorithm stand for, and how high they are."""


def drawn(shop: pd.DataFrame, target: pd.DataFrame) -> dict[str, str]:
    """Each figure by the name of its file."""
    ours = {"the target": target, "the shop": shop}
    figures = {}
    for name, (kind, response) in FIGURES.items():
        measured_on = {system: measured(rows, kind, response) for system, rows in ours.items()}
        figures[f"{name}.svg"] = figure({"published": published(kind, response), **measured_on}, kind, response)
    return figures


def published(kind: str, response: str) -> pd.DataFrame:
    """Return the bars of the paper: ``algorithm``, what the colour stands for, ``median``."""
    what, base, none = (ADDED, BASE_MS, BASE_MS) if response == COST else (DEVIATION, 0.0, UNLIMITED)
    rows = TABLE[(TABLE["what"] == what) & (TABLE["algorithm"] != NO_LIMITER)]
    leased = rows.loc[rows["synchronisation"] == LAZY, "algorithm"]
    of_store = rows["synchronisation"] == PER_REQUEST
    bars = rows[of_store if kind == STORE else (rows["store"] == "redis") & rows["algorithm"].isin(leased)]
    end = pd.DataFrame([{"algorithm": NO_LIMITER, kind: NONE, "median": none}])
    shown = bars[["algorithm", kind]].assign(median=base + bars["value"])
    return pd.concat([end, shown], ignore_index=True).assign(low=np.nan, high=np.nan)


def measured(rows: pd.DataFrame, kind: str, response: str) -> pd.DataFrame:
    """Medians over rounds with their intervals: at every request by store, or over Redis by synchronisation."""
    limited = rows[rows["limited"]]
    if kind == STORE:
        shown = limited[limited["synchronisation"] == PER_REQUEST]
    else:
        over = limited[limited["store"] == "redis"]
        shown = over[over["algorithm"].isin(over.loc[over["synchronisation"] != PER_REQUEST, "algorithm"])]
    return spread(pd.concat([rows[~rows["limited"]], shown]), ["algorithm", kind], response)


def figure(panels: Mapping[str, pd.DataFrame], kind: str, response: str) -> str:
    """Draw a panel per system; latencies have scales of their own, since the paper's are mostly distance."""
    names = list(dict.fromkeys(name for points in panels.values() for name in points[kind]))
    words = {"kind": kind, "response": AXES[response], "names": names, "colours": COLOURS[: len(names)]}
    drawn = [
        drawing.panel("limits", {"points": points, "intervals": points[points["low"].notna()]}, **words, title=system)
        for system, points in ((system, points.round(3)) for system, points in panels.items())
    ]
    return drawing.in_a_row(drawn, **({} if response == COST else {"resolve": {"scale": {"y": "shared"}}}))
