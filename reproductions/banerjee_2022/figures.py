"""Draws what the cinema measured as the thesis drew it: times request by request, statuses, means over users."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from patternbench.report import svg
from reproductions import drawing
from reproductions.banerjee_2022.digest import DRAWINGS, LOAD, SMOOTHED
from reproductions.banerjee_2022.published import LOAD_TESTS, LoadTest
from reproductions.pages import Tables

KINDS = ("raw", "smoothed")
"""What is drawn of times: some as they are, and a curve."""
COMPLETE = "complete"
ANSWERS = {"failed": "failed", "incomplete": "not complete"}
"""What answers are called that are not complete, by the columns of their shares."""


def drawn(tables: Tables) -> dict[str, str]:
    """Each figure of what was measured, by the name of its file."""
    figures = drawings(tables[DRAWINGS]) if DRAWINGS in tables else {}
    for one in LOAD_TESTS if LOAD in tables else ():
        rows, points = one.of(tables[LOAD]), one.of(tables[SMOOTHED])
        charts = _of_load_test(one, rows, points) if len(rows) else ()
        figures |= {f"figure-{name.replace('.', '-')}": text for name, text in charts}
    return {f"{name}.svg": text for name, text in figures.items()}


def drawings(table: pd.DataFrame) -> dict[str, str]:
    """Return the drawings that were made from traces, by the names of their files."""
    return {f"calls-{number}": text for number, text in enumerate(table["svg"], start=1)}


def _of_load_test(one: LoadTest, rows: pd.DataFrame, points: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the three figures of a load test by their numbers.

    Times of first requests in order of sending, as they are (dots) and smoothed (line), have a panel per load. Means
    are those of each round, over rounds with their line, and the published ones (grey).
    """
    panels = [
        drawing.panel("times", {kind: of_it[of_it["kind"] == kind] for kind in KINDS}, title=f"{users} users")
        for users, of_it in points.round(3).groupby("users")
    ]
    yield one.times, drawing.in_a_row(panels)
    yield one.statuses, svg.draw(drawing.panel("answers", {"shares": shares(rows)}))
    ours = rows[["users", "mean_ms"]].round(3)
    middle = ours.groupby("users", as_index=False)[["mean_ms"]].mean().round(3)
    theirs = one.published[["users", "mean_ms"]]
    yield one.means, svg.draw(drawing.panel("means", {"published": theirs, "rounds": ours, "means": middle}))


def shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of first requests: complete, answered well without all parts, failed; means over rounds."""
    failing = rows.groupby("users")[list(ANSWERS)].mean()
    every = failing.rename(columns=ANSWERS).assign(**{COMPLETE: 100 - failing.sum(axis=1)})
    return every.reset_index().melt("users", var_name="answer", value_name="percent").round(3)
