"""The section on a load test, and a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from patternbench.analyze.load.loadtest import LoadTest, in_short, in_words
from patternbench.observe.section import Figure, Section, Table
from patternbench.report.charts import COLOURS, Spec, alt, spec
from patternbench.report.page import page_html
from patternbench.terms.quantities import number


def load_tests_html(tests: Mapping[str, LoadTest], title: str = "Load test", about: Sequence[str] = ()) -> str:
    """Return a self-contained page on load tests, by the levels that distinguish them (none for a single one)."""
    return page_html(title, [load_test_section(one, name, i) for i, (name, one) in enumerate(tests.items())], about)


def load_test_section(load_test: LoadTest, name: str = "", place: int = 0) -> Section:
    """Return the section: what it shows in short and in full, the levels, figures.

    ``place`` makes its anchor unique on a page.
    """
    short = in_short(load_test)
    return Section(
        f"load-test-{place}" if place else "load-test",
        f"Response time under load: {name}" if name else "Response time under load",
        words=[sentence for sentence in in_words(load_test) if sentence not in short],
        answers=short,
        warnings=[note.text for note in load_test.notes],
        tables=[_each_load(load_test)],
        figures=_figures_of_load(load_test),
    )


def _each_load(load_test: LoadTest) -> Table:
    columns = ["load", "requests", "mean", "median", "p95"]
    return Table("Each load", load_test.levels[columns].map(number))


def _figures_of_load(load_test: LoadTest) -> list[Figure]:
    widest = max(load_test.smoothed, key=lambda one: one.window)
    return [
        Figure("Mean response time over load", _line(load_test), "Dashed: the knee, if there is one."),
        Figure("Status codes", _statuses(load_test), "Share of status codes at each load."),
        Figure("Smoothed response time", _smoothed(load_test), f"Of each load, from its own start. {widest.note}"),
    ]


def _line(load_test: LoadTest) -> Spec:
    base = alt.Chart(load_test.levels).encode(x=alt.X("load:Q"), y=alt.Y("mean:Q", title="mean response time"))
    layers: list[alt.Chart] = [base.mark_line(point=True, color=COLOURS[0])]
    if load_test.knee.load is not None:
        at = pd.DataFrame({"load": [load_test.knee.load]})
        layers.append(alt.Chart(at).mark_rule(strokeDash=[4, 3], color=COLOURS[1]).encode(x="load:Q"))
    return spec(alt.layer(*layers).properties(width=350, height=220))


def _statuses(load_test: LoadTest) -> Spec:
    table = load_test.shares.reset_index().melt("load", var_name="status", value_name="percent")
    colour = alt.Color("status:N", scale=alt.Scale(range=COLOURS), legend=alt.Legend(orient="top"))
    bars = (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X("load:O", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("percent:Q", title="% of requests"),
            color=colour,
        )
    )
    return spec(bars.encode(tooltip=["load", "status", "percent"]).properties(width=350, height=220))


def _smoothed(load_test: LoadTest) -> Spec:
    parts = [
        pd.DataFrame({"since": s.times - s.times.min(), "time": s.values, "load": s.load}) for s in load_test.smoothed
    ]
    colour = alt.Color("load:O", scale=alt.Scale(scheme="viridis"))
    lines = (
        alt.Chart(pd.concat(parts).round(4))
        .mark_line(strokeWidth=1.4)
        .encode(x=alt.X("since:Q", title="time since its start"), color=colour)
    )
    return spec(lines.encode(y=alt.Y("time:Q", title="smoothed response time")).properties(width=350, height=220))
