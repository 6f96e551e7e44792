"""Draws what the cinema measured as the thesis drew it: times request by request, statuses, means over users."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec
from reproductions.banerjee_2022.digest import DRAWINGS, LOAD, SMOOTHED
from reproductions.banerjee_2022.published import CASES, MEAN_FIGURES, STATUS_FIGURES, TIME_FIGURES, of
from reproductions.pages import Tables

WIDTH, HEIGHT = 380, 220
STATUS = ["complete", "not complete", "failed"]


def drawn(tables: Tables) -> dict[str, str]:
    """Each figure of what was measured, by the name of its file."""
    charts = dict(_figures(tables[LOAD], tables[SMOOTHED])) if LOAD in tables else {}
    figures = {name: svg.draw(spec(chart)) for name, chart in charts.items()}
    figures |= drawings(tables[DRAWINGS]) if DRAWINGS in tables else {}
    return {f"{name}.svg": text for name, text in figures.items()}


def drawings(table: pd.DataFrame) -> dict[str, str]:
    """Return the drawings that were made from traces, by the names of their files."""
    return {f"calls-{number}": text for number, text in enumerate(table["svg"], start=1)}


def _figures(load: pd.DataFrame, smoothed: pd.DataFrame) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    for case, test in MEAN_FIGURES:
        rows, points = (_of(table, CASES[case], test) for table in (load, smoothed))
        if len(rows):
            yield _name(TIME_FIGURES[case, test]), times(points)
            yield _name(STATUS_FIGURES[case, test]), statuses(rows)
            yield _name(MEAN_FIGURES[case, test]), means(rows, of(case, test))


def _of(table: pd.DataFrame, architecture: str, test: str) -> pd.DataFrame:
    return table[(table["architecture"] == architecture) & (table["test"] == test)]


def _name(figure: str) -> str:
    return f"figure-{figure.replace('.', '-')}"


def times(points: pd.DataFrame) -> alt.TopLevelMixin:
    """Return a panel per load: times of first requests in order of sending, as they are (dots) and smoothed (line)."""
    raw, curve = (points[points["kind"] == kind].round(3) for kind in ("raw", "smoothed"))
    panels = [_panel(raw, curve, int(users)) for users in sorted(points["users"].unique())]
    return alt.hconcat(*panels)


def _panel(raw: pd.DataFrame, curve: pd.DataFrame, users: int) -> alt.LayerChart:
    x = alt.X("request:Q", title="request, in the order of sending")
    y = alt.Y("ms:Q", title="response time, ms")
    dots = alt.Chart(raw[raw["users"] == users]).mark_circle(size=6, opacity=0.35, color=COLOURS[0]).encode(x=x, y=y)
    line = alt.Chart(curve[curve["users"] == users]).mark_line(color=COLOURS[1], strokeWidth=2).encode(x=x, y=y)
    chart: alt.LayerChart = (dots + line).properties(width=WIDTH, height=HEIGHT, title=f"{users} users")
    return chart


def statuses(rows: pd.DataFrame) -> alt.TopLevelMixin:
    """Shares of first requests: complete, answered well without all parts, failed; means over rounds."""
    shares = rows.groupby("users")[["failed", "incomplete"]].mean()
    table = shares.rename(columns={"incomplete": STATUS[1]}).assign(**{STATUS[0]: 100 - shares.sum(axis=1)})
    long = table.reset_index().melt("users", var_name="answer", value_name="percent").round(3)
    colour = alt.Color(
        "answer:N", sort=STATUS, scale=alt.Scale(domain=STATUS, range=[COLOURS[2], COLOURS[4], COLOURS[1]])
    )
    bars = alt.Chart(long).mark_bar().encode(x="users:O", y=alt.Y("percent:Q", title="% of requests"), color=colour)
    chart: alt.Chart = bars.properties(width=WIDTH, height=HEIGHT)
    return chart


def means(rows: pd.DataFrame, published: pd.DataFrame) -> alt.TopLevelMixin:
    """Means of first requests over users: each round, their mean with its line, and the published means (grey)."""
    x, y = alt.X("users:Q"), alt.Y("mean_ms:Q", title="mean response time, ms")
    ours = rows[["users", "mean_ms"]].round(3)
    middle = ours.groupby("users", as_index=False)["mean_ms"].mean().round(3)
    dots = alt.Chart(ours).mark_circle(size=24, opacity=0.4, color=COLOURS[0]).encode(x=x, y=y)
    mean = alt.Chart(middle).mark_line(point=True, color=COLOURS[0]).encode(x=x, y=y)
    line = mean.transform_regression("users", "mean_ms").mark_line(strokeDash=[5, 4], color=COLOURS[1])
    theirs = alt.Chart(published[["users", "mean_ms"]]).mark_line(point=True, color=COLOURS[7]).encode(x=x, y=y)
    chart: alt.LayerChart = (theirs + dots + mean + line).properties(width=WIDTH, height=HEIGHT)
    return chart
