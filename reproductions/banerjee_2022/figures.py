"""Draws what the cinema measured as the thesis drew it: times request by request, statuses, means over users."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from patternbench.report import svg
from reproductions import drawing
from reproductions.banerjee_2022.digest import DRAWINGS, LOAD, SMOOTHED
from reproductions.banerjee_2022.published import LOAD_TESTS
from reproductions.pages import Tables

KINDS = ("raw", "smoothed")
"""What is drawn of times: some as they are, and a curve."""
COMPLETE = "complete"
ANSWERS = {"failed": "failed", "incomplete": "not complete"}
"""What answers are called that are not complete, by the columns of their shares."""


def drawn(tables: Tables) -> dict[str, str]:
    """Each figure of what was measured, by the name of its file."""
    charts = dict(_figures(tables[LOAD], tables[SMOOTHED])) if LOAD in tables else {}
    figures = {f"figure-{name.replace('.', '-')}": text for name, text in charts.items()}
    figures |= drawings(tables[DRAWINGS]) if DRAWINGS in tables else {}
    return {f"{name}.svg": text for name, text in figures.items()}


def drawings(table: pd.DataFrame) -> dict[str, str]:
    """Return the drawings that were made from traces, by the names of their files."""
    return {f"calls-{number}": text for number, text in enumerate(table["svg"], start=1)}


def _figures(load: pd.DataFrame, smoothed: pd.DataFrame) -> Iterator[tuple[str, str]]:
    for one in LOAD_TESTS:
        rows, points = one.of(load), one.of(smoothed)
        if len(rows):
            yield one.times, times(points)
            yield one.statuses, svg.draw(drawing.panel("answers", {"shares": shares(rows)}))
            yield one.means, means(rows, one.published)


def times(points: pd.DataFrame) -> str:
    """Return a panel per load: times of first requests in order of sending, as they are (dots) and smoothed (line)."""
    panels = [
        drawing.panel("times", {kind: of_it[of_it["kind"] == kind] for kind in KINDS}, title=f"{users} users")
        for users, of_it in points.round(3).groupby("users")
    ]
    return drawing.in_a_row(panels)


def shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of first requests: complete, answered well without all parts, failed; means over rounds."""
    failing = rows.groupby("users")[list(ANSWERS)].mean()
    every = failing.rename(columns=ANSWERS).assign(**{COMPLETE: 100 - failing.sum(axis=1)})
    return every.reset_index().melt("users", var_name="answer", value_name="percent").round(3)


def means(rows: pd.DataFrame, published: pd.DataFrame) -> str:
    """Means of first requests over users: each round, their mean with its line, and the published means (grey)."""
    ours = rows[["users", "mean_ms"]].round(3)
    middle = ours.groupby("users", as_index=False)[["mean_ms"]].mean().round(3)
    theirs = published[["users", "mean_ms"]]
    return svg.draw(drawing.panel("means", {"published": theirs, "rounds": ours, "means": middle}))
