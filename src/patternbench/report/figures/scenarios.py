"""The figures of a run, as Vega-Lite specifications drawn with Altair. Other modules put them on pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from patternbench.report.charts import alt, spec
from patternbench.report.labels import RESPONSES, factor_title, unit
from patternbench.report.layout import Layout, distinct, layout
from patternbench.report.model import RunReport, once
from patternbench.terms.responses import HEADLINES, Response
from patternbench.terms.roles import Unit

PAPER_FIGURES = ("AverageSuccessTime", "TotalExecutionTime")
"""The responses of ResilienceBench's Figures 4 and 5, which are drawn first."""

LIGHT = ("#68707c", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#3f51b5", "#8c564b")
DARK = ("#aab2bd", "#56b4e9", "#f2884b", "#2fcf9f", "#e6a3c9", "#f5c84c", "#8f9bff", "#c99a8d")
"""Colours after Okabe and Ito, distinguishable with any common colour vision. The reference line is grey."""

_THIN, _THICK = 1.3, 3.6
_Drawn = alt.LayerChart | alt.FacetChart
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Style:
    """The colours that a theme gives to a figure."""

    text: str
    faint: str
    grid: str
    background: str
    palette: Sequence[str]


THEMES: Mapping[str, Style] = {
    "light": Style("#1c2430", "#5a6472", "#e4e8ed", "#ffffff", LIGHT),
    "dark": Style("#e6eaf0", "#9aa5b4", "#2c3541", "#161b22", DARK),
}


def config(theme: str) -> dict[str, object]:
    """Give the Vega-Lite configuration of a theme, ``light`` or ``dark``."""
    style = THEMES[theme]
    words = {"labelColor": style.faint, "titleColor": style.text, "titleFontWeight": 500}
    return {
        "font": _FONT,
        "background": style.background,
        "view": {"stroke": style.grid},
        "range": {"category": list(style.palette)},
        "axis": {**words, "gridColor": style.grid, "domainColor": style.grid, "tickColor": style.grid},
        "legend": {**words, "labelColor": style.text, "symbolStrokeColor": style.faint},
        "header": {**words, "labelColor": style.text, "labelFontWeight": 600},
        "title": {"color": style.text, "subtitleColor": style.faint},
    }


FEWEST = 3
"""With fewer rounds an interval is meaningless: two rounds differ by chance in any run."""


def points(report: RunReport, arrangement: Layout, response: Response) -> pd.DataFrame:
    """Give the points of a figure: the median of each scenario over its rounds, with its interval.

    One row per scenario that has a value: the columns of ``Layout.frame``, and ``median``, ``low``, ``high`` in the
    unit of ``shown_unit``, ``rounds`` and ``coverage`` (percent). Fewer than three rounds have no interval.
    """
    table = medians(report, response).drop(columns="response")
    merged = arrangement.frame().merge(table, on="scenario")
    return merged[merged["rounds"] > 0].reset_index(drop=True)


def medians(report: RunReport, response: Response) -> pd.DataFrame:
    """Return ``scenario`` and the numbers of ``points`` for each scenario with a round."""
    table = report.by_scenario.of_one(response.name)
    _, factor = unit(response.kind, table["high"].max())
    ends = ["median", "low", "high"]
    numbers = table[ends].to_numpy() * factor
    numbers[table["rounds"].to_numpy() < FEWEST, 1:] = np.nan
    return table.assign(**dict(zip(ends, numbers.T, strict=True)), coverage=100 * table["coverage"])


def shown_unit(report: RunReport, response: Response) -> str:
    """Name the unit that ``points`` are in, from the largest value of the run."""
    largest = report.done[response.name].max()
    return unit(response.kind, 0.0 if np.isnan(largest) else largest)[0].strip()


def axis_title(response: Response, name: str) -> str:
    """Title an axis: what it shows, and the unit in parentheses."""
    return f"{response.title} ({name})" if name else response.title


TITLE = "@title"
"""What stands for the title of an axis in a grid, which is the same for every response but for its title and data."""


@once
def wide_grid(report: RunReport) -> dict[str, object]:
    """Return the grid of a report's responses, for any title and the data that its page provides as ``points``."""
    return grid(layout(report), TITLE, "points")


def titled(spec: object, title: str) -> object:
    """Return a part of a grid with the title of a response."""
    if isinstance(spec, Mapping):
        return {name: titled(part, title) for name, part in spec.items()}
    if isinstance(spec, list):
        return [titled(part, title) for part in spec]
    return title if spec == TITLE else spec


def grid_of(drawn: Mapping[str, object], title: str, data: pd.DataFrame) -> dict[str, object]:
    """Return a grid with the title and the ``points`` of a response."""
    named = {name: titled(part, title) for name, part in drawn.items()}
    return named | {"datasets": {"points": data.to_dict(orient="records")}}


def grid(
    arrangement: Layout, title: str, data: pd.DataFrame | str, narrow: bool = False, width: int = 250
) -> dict[str, object]:
    """Draw a response over the horizontal axis in a grid of panels, one line for each strategy and detail.

    ``data`` is a frame of ``points``, or the name under which the page provides one. ``narrow`` puts all panels in one
    column.
    """
    base = alt.Chart().encode(x=_x(arrangement), color=_color(arrangement), detail="line:N")
    marks = _curves(base, arrangement, title) if arrangement.axis.quantity else _ranges(base, title)
    panels = _layered(*marks).properties(width=width, height=round(width * 0.72))
    return _finished(_faceted(panels, arrangement, narrow, data).add_params(*_choices(arrangement)), data)


def distribution(data: pd.DataFrame | str, width: int = 560) -> dict[str, object]:
    """Draw quantile curves of a scenario and its reference: time over the share of calls, with a stretched tail.

    ``data`` has ``line``, ``tail`` (place of the quantile: log10 of 1/(1-q)), ``share`` (its text), ``median``,
    ``low``, ``high`` in ``ms``.
    """
    x = alt.X(
        "tail:Q",
        title="share of calls at most this slow",
        axis=alt.Axis(values=_TAIL_TICKS, labelExpr=_TAIL_TEXT),
    )
    color = alt.Color(
        "line:N",
        title=None,
        sort=None,
        legend=alt.Legend(orient="top", columns=1, labelLimit=600, symbolOpacity=1),
    )
    base = alt.Chart().encode(x=x, color=color)
    band = base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q", title="time (ms)"), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(
        y="median:Q", strokeDash=alt.StrokeDash("line:N", sort=None, legend=None)
    )
    dots = base.mark_point(filled=True, size=28).encode(y="median:Q", tooltip=_CURVE_TIP)
    chart = _layered(band, line, dots).properties(width=width, height=280)
    return _finished(_with_data(chart, data), data)


def drift(data: pd.DataFrame | str, width: int = 560) -> dict[str, object]:
    """Draw how the responses of a run change over its blocks, in percent of each scenario's own median."""
    x = alt.X("block:O", title="block, in order of execution", axis=alt.Axis(labelAngle=0))
    y = alt.Y("median:Q", title="deviation (%)")
    base = alt.Chart().encode(
        x=x,
        color=alt.Color(
            "response:N",
            title=None,
            sort=None,
            legend=alt.Legend(orient="top", columns=2, labelLimit=300, symbolOpacity=1),
        ),
    )
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="deviation (%)"), y2="high:Q")
    line = base.mark_line(point=True).encode(y=y, tooltip=_DRIFT_TIP)
    zero = alt.Chart().mark_rule(strokeDash=[3, 3], opacity=0.8, color="#8a93a0").encode(y=alt.datum(0))
    chart = _layered(zero, band, line).properties(width=width, height=200)
    return _finished(_with_data(chart, data), data)


def tail_place(quantile: float) -> float:
    """Return the position of a quantile on an axis with a stretched tail: 0 the least, 1 at 90 %, 4 the greatest."""
    return 4.0 if quantile >= 1 else float(-np.log10(1 - quantile))


_TAIL_TEXT = (
    "datum.value == 0 ? 'least' : datum.value == 4 ? 'greatest' :"
    " format(100 * (1 - pow(10, -datum.value)), '.4~f') + ' %'"
)
_TAIL_TICKS = [0, 0.30103, 1, 2, 3, 4]
_CURVE_TIP = [
    alt.Tooltip("line:N", title="scenario"),
    alt.Tooltip("share:N", title="share of calls"),
    alt.Tooltip("median:Q", title="median over rounds (ms)", format=",.4~g"),
    alt.Tooltip("low:Q", title="least round (ms)", format=",.4~g"),
    alt.Tooltip("high:Q", title="greatest round (ms)", format=",.4~g"),
]
_DRIFT_TIP = [
    alt.Tooltip("response:N"),
    alt.Tooltip("block:O"),
    alt.Tooltip("median:Q", title="deviation (%)", format="+.2f"),
    alt.Tooltip("low:Q", title="from (%)", format="+.2f"),
    alt.Tooltip("high:Q", title="to (%)", format="+.2f"),
    alt.Tooltip("rounds:Q", title="rounds"),
]


def figure_responses(report: RunReport) -> list[Response]:
    """List the responses that have any value in this run, the paper's two and the headlines first."""
    order = dict.fromkeys([*PAPER_FIGURES, *HEADLINES, *RESPONSES])
    measured = [name for name in order if name in report.rounds.columns and report.done[name].notna().any()]
    return [RESPONSES[name] for name in measured]


def _curves(base: alt.Chart, arrangement: Layout, title: str) -> list[alt.Chart]:
    """Draw bands, lines and points. The tooltips have the numbers."""
    faded = _faded(arrangement, 1.0, 0.07)
    band = base.mark_area().encode(y=_y("low:Q", title), y2="high:Q", opacity=_faded(arrangement, 0.13, 0.02))
    line = base.mark_line(strokeJoin="round").encode(y=_y("median:Q", title), opacity=faded, **_width(arrangement))
    dots = base.mark_point(filled=True, size=34).encode(
        y=_y("median:Q", title), opacity=faded, shape=_shape(arrangement), tooltip=_tip(arrangement, title)
    )
    return [band, line, dots]


def _ranges(base: alt.Chart, title: str) -> list[alt.Chart]:
    """Draw a point with its interval per line, if no factor is a quantity for the axis."""
    rule = base.mark_rule(strokeWidth=2).encode(y=_y("low:Q", title), y2="high:Q")
    tip = [alt.Tooltip("line:N"), *_value_tip(title)]
    return [
        rule,
        base.mark_point(filled=True, size=80, opacity=1).encode(y=_y("median:Q", title), tooltip=tip),
    ]


def _x(arrangement: Layout) -> alt.X:
    axis = arrangement.axis
    if not axis.quantity:
        return alt.X("line:N", title=None, sort=list(axis.texts), axis=alt.Axis(labelAngle=-40, labelLimit=160))
    ticks = alt.Axis(values=list(axis.places), grid=False)
    return alt.X("x:Q", title=axis.title, axis=ticks, scale=alt.Scale(nice=False, padding=8, zero=False))


def _y(field: str, title: str) -> alt.Y:
    return alt.Y(field, title=title, axis=alt.Axis(tickCount=5, format=",.6~g"), scale=alt.Scale(zero=True))


def _strategies(arrangement: Layout) -> list[str]:
    """List the strategies with the reference first, so that it gets the grey."""
    first = [placed.strategy for placed in arrangement.scenarios if placed.reference]
    return distinct([*first, *(placed.strategy for placed in arrangement.scenarios)])


def _color(arrangement: Layout) -> alt.Color:
    shown = _strategies(arrangement)
    return alt.Color("strategy:N", title=None, scale=alt.Scale(domain=shown), legend=_legend(shown))


def _shape(arrangement: Layout) -> alt.Shape:
    shown = _strategies(arrangement)
    scale = alt.Scale(domain=shown, range=_cycled(_SHAPES, len(shown)))
    return alt.Shape("strategy:N", title=None, scale=scale, legend=_legend(shown))


def _legend(shown: Sequence[str]) -> alt.Legend | None:
    """One legend for colour and shape, which show the same field."""
    return alt.Legend(orient="top", symbolSize=90, labelLimit=300, symbolOpacity=1) if len(shown) > 1 else None


def _width(arrangement: Layout) -> dict[str, object]:
    """Give a strategy's lines widths by their detail, as the paper does for the back-off delay."""
    shown = arrangement.details
    if not shown:
        return {"strokeWidth": alt.value(2)}
    names = "datum.label == '' ? 'none' : datum.label"
    legend = alt.Legend(
        orient="top",
        labelExpr=names,
        symbolType="stroke",
        labelLimit=300,
        symbolOpacity=1,
        titleOrient="left",
    )
    # Vega reads an ordinal range of widths as its two ends, and interpolates the steps between them.
    scale = alt.Scale(domain=shown, range=[_THIN, _THICK])
    title = detail_title(arrangement)
    return {"strokeWidth": alt.StrokeWidth("detail:O", sort=shown, title=title, scale=scale, legend=legend)}


def detail_title(arrangement: Layout) -> str:
    """Title of the widths of lines: the one factor, or the unit that all factors share."""
    details = [arrangement.factors[name] for name in arrangement.roles.detail]
    if len(details) == 1:
        return factor_title(details[0].name)
    return "duration" if details and all(one.unit is Unit.DURATION for one in details) else "configuration"


def _tip(arrangement: Layout, title: str) -> list[alt.Tooltip]:
    where = [alt.Tooltip("panel:N", title="panel")] if any(placed.panel for placed in arrangement.scenarios) else []
    axis = [alt.Tooltip("x_text:N", title=arrangement.axis.title.rsplit(" (", 1)[0])]
    return [alt.Tooltip("line:N", title="line"), *where, *axis, *_value_tip(title)]


def _value_tip(title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("median:Q", title="median", format=",.4~g"),
        alt.Tooltip("low:Q", title="from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("coverage:Q", title="confidence (%)", format=".3~g"),
        alt.Tooltip("rounds:Q", title="rounds"),
    ]


def _choices(arrangement: Layout) -> list[alt.Parameter]:
    """Let the legends choose strategies and details."""
    if not arrangement.axis.quantity:
        return []
    chosen = [alt.selection_point(name="strategies", fields=["strategy"], bind="legend")]
    if arrangement.details:
        chosen.append(alt.selection_point(name="details", fields=["detail"], bind="legend"))
    return chosen


def _faded(arrangement: Layout, chosen: float, other: float) -> alt.OpacityValue:
    """Fade what isn't selected in the legends. Without a selection nothing fades."""
    names = ["strategies", "details"] if arrangement.details else ["strategies"]
    test = {"and": [{"param": name} for name in names]}
    return alt.OpacityValue(condition={"test": test, "value": chosen}, value=other)


def _faceted(panels: alt.LayerChart, arrangement: Layout, narrow: bool, data: pd.DataFrame | str) -> _Drawn:
    with_data = _with_data(panels, data)
    rows = distinct(placed.row for placed in arrangement.scenarios)
    columns = distinct(placed.column for placed in arrangement.scenarios)
    titles = distinct(placed.panel for placed in arrangement.scenarios)
    header: Literal["top"] = "top"
    if narrow and len(titles) > 1:
        facet = alt.Facet("panel:N", title=None, sort=titles, header=alt.Header(labelOrient=header))
        return with_data.facet(facet=facet, columns=1)
    row = alt.Row("row:N", title=None, sort=rows) if len(rows) > 1 else alt.Undefined
    column = alt.Column("column:N", title=None, sort=columns) if len(columns) > 1 else alt.Undefined
    one_panel = row is alt.Undefined and column is alt.Undefined
    return with_data if one_panel else with_data.facet(row=row, column=column)


def _layered(*charts: alt.Chart) -> alt.LayerChart:
    layered = alt.layer(*charts)
    assert isinstance(layered, alt.LayerChart)  # a facet only if one of the charts is one
    return layered


def _with_data(chart: alt.LayerChart, data: pd.DataFrame | str) -> alt.LayerChart:
    return chart.properties(data=alt.NamedData(name=data) if isinstance(data, str) else alt.NamedData(name="points"))


def _finished(chart: _Drawn, data: pd.DataFrame | str) -> dict[str, object]:
    """Turn a chart into a specification that loads nothing from elsewhere."""
    drawn = spec(chart)
    kept = {key: value for key, value in drawn.items() if key not in ("$schema", "config")}
    if not isinstance(data, str):
        kept["datasets"] = {"points": data.to_dict(orient="records")}
    return kept


def _cycled(values: Sequence[str], count: int) -> list[str]:
    return [values[i % len(values)] for i in range(count)]
