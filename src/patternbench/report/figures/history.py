"""The figure of a line of a history: each run with its interval, the means between changes, and other machines."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from patternbench.report.charts import COLOURS, Spec, alt, spec
from patternbench.report.history.lines import HistoryLine, differing, value_text

GREY = "#8a8f98"


def line_figure(line: HistoryLine, title: str) -> Spec:
    """Draw a line: a point a run, its interval, a step for each stretch, and a dashed rule where a machine changed."""
    points = pd.DataFrame(list(_points(line)))
    x = alt.X("run:Q", title="run", axis=alt.Axis(tickMinStep=1, format="d"), scale=alt.Scale(zero=False))
    base = alt.Chart(points).encode(x=x)
    layers = [
        base.mark_rule(color=GREY).encode(y="low:Q", y2="high:Q"),
        base.mark_point(filled=True, size=36, color=GREY).encode(
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
            tooltip=["run:Q", "begun:N", "commit:N", "effect:N"],
        ),
        *_stretches(line),
        *_machines(line),
    ]
    return spec(alt.layer(*layers).properties(width=640, height=180))


def _points(line: HistoryLine) -> Iterator[dict[str, object]]:
    for point in line.points:
        yield {
            "run": point.number,
            "value": point.effect.value,
            "low": point.effect.low,
            "high": point.effect.high,
            "begun": point.run.started,
            "commit": point.run.git_commit or "",
            "effect": value_text(point.effect),
        }


def _stretches(line: HistoryLine) -> Iterator[alt.Chart]:
    """Yield the steps at the means of stretches, of lines that are judged."""
    if line.course is None:
        return
    rows = [
        {
            "from": line.points[one.begin].number - 0.5,
            "to": line.points[one.end - 1].number + 0.5,
            "mean": line.written(one.mean),
        }
        for one in line.course.stretches
    ]
    chart = alt.Chart(pd.DataFrame(rows)).mark_rule(strokeWidth=2.5, color=COLOURS[0])
    yield chart.encode(x="from:Q", x2="to:Q", y="mean:Q")


def _machines(line: HistoryLine) -> Iterator[alt.Chart]:
    """Yield the rules before the first run of another machine, of another version or of another text of the study."""
    pairs = zip(line.points[:-1], line.points[1:], strict=True)
    rows = [
        {"run": after.number - 0.5, "changed": ", ".join(told)}
        for before, after in pairs
        if (told := differing(before.run, after.run))
    ]
    if rows:
        rules = alt.Chart(pd.DataFrame(rows)).mark_rule(strokeDash=[4, 3], color=COLOURS[4])
        yield rules.encode(x="run:Q", tooltip="changed:N")
