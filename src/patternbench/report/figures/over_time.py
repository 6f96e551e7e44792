"""The figure over time: successful and failed attempts and their times, with the faults as bands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from patternbench.report.charts import alt
from patternbench.report.charts import spec as spec_of

RATE, TIME = "attempts per second", "median time (ms)"
_SERIES = {"good": (RATE, "answered well"), "failed": (RATE, "failed"), "p50_ms": (TIME, "answered well")}
COLOURS = alt.Scale(domain=["answered well", "failed"], range=["#2f7f8f", "#c4513d"])


@dataclass(frozen=True)
class Band:
    """When a fault acted in a scenario, in seconds from the round's start."""

    scenario: str
    fault: str
    began: float
    ended: float


def spec(steps: Mapping[str, pd.DataFrame], bands: Iterable[Band]) -> dict[str, object]:
    """Return a row of two panels per scenario.

    ``steps`` has the columns of ``analyze.over_time`` by the scenario's name.
    """
    table = pd.DataFrame([*_lines(steps), *_bands(bands)])
    drawn = alt.layer(_band(), _label(), _line()).properties(width=330, height=130)
    rows = alt.Row(
        "scenario:N", title=None, sort=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=260)
    )
    columns = alt.Column("measure:N", title=None, sort=[RATE, TIME])
    chart = drawn.facet(data=table, row=rows, column=columns).resolve_scale(y="independent")
    return spec_of(chart)


def _lines(steps: Mapping[str, pd.DataFrame]) -> Iterator[dict[str, object]]:
    for scenario, frame in steps.items():
        for column, (measure, series) in _SERIES.items():
            for second, value in zip(frame["second"], frame[column], strict=True):
                shown = None if pd.isna(value) else float(value)
                at = {"part": "line", "from": float(second), "to": None, "fault": None}
                yield {"scenario": scenario, "measure": measure, "series": series, "value": shown, **at}


def _bands(bands: Iterable[Band]) -> Iterator[dict[str, object]]:
    for band in bands:
        at = {"scenario": band.scenario, "fault": band.fault, "from": band.began, "to": band.ended}
        for measure in (RATE, TIME):
            yield {**at, "part": "band", "measure": measure, "series": None, "value": None}


def _band() -> alt.Chart:
    x = alt.X("from:Q", title="seconds from the round's start")
    marks = alt.Chart().transform_filter(alt.datum.part == "band").mark_rect(opacity=0.18, color="#b58900")
    drawn: alt.Chart = marks.encode(
        x=x, x2="to:Q", tooltip=["fault:N", alt.Tooltip("from:Q", format=".3f"), alt.Tooltip("to:Q", format=".3f")]
    )
    return drawn


def _label() -> alt.Chart:
    text = alt.Chart().transform_filter(alt.datum.part == "band").mark_text(align="left", dx=3, dy=8, fontSize=10)
    drawn: alt.Chart = text.encode(x="from:Q", y=alt.value(0), text="fault:N")
    return drawn


def _line() -> alt.Chart:
    marks = alt.Chart().transform_filter(alt.datum.part == "line").mark_line(strokeWidth=1.5)
    color = alt.Color("series:N", title=None, scale=COLOURS, legend=alt.Legend(orient="top"))
    drawn: alt.Chart = marks.encode(x="from:Q", y=alt.Y("value:Q", title=None), color=color)
    return drawn
