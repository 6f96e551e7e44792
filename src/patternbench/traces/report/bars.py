"""Where the time of each operation goes, as bars: by type of call, and by whose time the critical path is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from patternbench.observe.section import Figure
from patternbench.report.charts import alt, spec
from patternbench.traces.analyze.calls import CallType, per_request
from patternbench.traces.analyze.critical import shares
from patternbench.traces.analyze.trees import TracedRequest

MOST_BARS, MOST_OWNERS = 12, 9
MILLI = 1000.0
TYPES = {
    CallType.IN_MEMORY: "in memory",
    CallType.DATABASE: "databases",
    CallType.DISTRIBUTED: "between services",
}
TYPE_CAPTION = "Exclusive times of traced requests, means: together they are the time of the operation."
PATH_CAPTION = (
    "What a request waits for, traced back from its end. Work that is on this path makes the request longer; work in "
    "parallel with it doesn't. An arrow is the way between two services."
)


def figures(requests: Mapping[str, Sequence[TracedRequest]]) -> list[Figure]:
    """Return the diagrams of requests by scenario; none where there are no requests."""
    types, paths = _types(requests), _paths(requests)
    if types.empty or paths.empty:
        return []
    return [
        Figure("Time by type of call", _bars(types, "type", list(TYPES.values())), TYPE_CAPTION),
        Figure("The critical path", _bars(paths, "whose", list(dict.fromkeys(paths["whose"]))), PATH_CAPTION),
    ]


def _types(requests: Mapping[str, Sequence[TracedRequest]]) -> pd.DataFrame:
    rows = []
    for scenario, own in requests.items():
        for operation, frame in per_request(own).groupby("operation", sort=False):
            line = _line(scenario, str(operation), requests)
            for kind, title in TYPES.items():
                rows.append({"line": line, "type": title, "ms": MILLI * float(frame[f"{kind.value}_time"].mean())})
    return _first(pd.DataFrame(rows, columns=["line", "type", "ms"]))


def _paths(requests: Mapping[str, Sequence[TracedRequest]]) -> pd.DataFrame:
    rows = [
        {"line": _line(scenario, operation, requests), "whose": owner, "ms": MILLI * seconds}
        for scenario, own in requests.items()
        for operation, owner, seconds, _ in shares(own)
    ]
    table = _first(pd.DataFrame(rows, columns=["line", "whose", "ms"]).astype({"ms": float}))
    greatest = table.groupby("whose")["ms"].sum().nlargest(MOST_OWNERS).index
    named = table.assign(whose=table["whose"].where(table["whose"].isin(greatest), "others"))
    return named.groupby(["line", "whose"], sort=False)["ms"].sum().reset_index()


def _line(scenario: str, operation: str, requests: Mapping[str, Sequence[TracedRequest]]) -> str:
    return operation if len(requests) == 1 else f"{operation}, {scenario}"


def _first(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first lines, so that a diagram stays readable."""
    return table[table["line"].isin(list(dict.fromkeys(table["line"]))[:MOST_BARS])]


def _bars(table: pd.DataFrame, color: str, order: Sequence[str]) -> Mapping[str, object]:
    axis = alt.Axis(labelLimit=420, title=None)
    chart = (
        alt.Chart(table)
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y("line:N", sort=None, axis=axis),
            x=alt.X("sum(ms):Q", title="time per request (ms)"),
            color=alt.Color(f"{color}:N", sort=list(order), title=None, legend=alt.Legend(orient="top", columns=5)),
            order=alt.Order("rank:Q"),
            tooltip=["line:N", f"{color}:N", alt.Tooltip("sum(ms):Q", title="ms", format=".3g")],
        )
        .transform_calculate(rank=f"indexof({list(order)!r}, datum.{color})")
        .properties(width=620, height={"step": 34})
    )
    return spec(chart)
