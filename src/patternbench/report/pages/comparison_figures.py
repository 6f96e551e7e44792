"""Figures of comparisons and recommendations: differences with intervals, trade-offs, shares of wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from patternbench.analyze.compare.comparison import Comparison, Difference, Interval
from patternbench.analyze.compare.words import ranked
from patternbench.analyze.recommend.recommendation import Choice, configuration
from patternbench.analyze.rounds import label
from patternbench.analyze.statements.verdict import Verdict
from patternbench.report.charts import COLOURS, Spec, alt, spec
from patternbench.report.labels import looks_of_changes
from patternbench.terms.factors import NO_UNITS
from patternbench.terms.quantities import titled, unit_of

_LOOKS = {"worse": COLOURS[1], "better": COLOURS[2], "": COLOURS[0]}
_OPEN = "#8a8f98"
SHOWN = 30
"""Scenarios to draw at most: those that changed most."""


def differences_figure(comparison: Comparison, response: str) -> Spec | None:
    """Draw the change of one response per scenario, its interval, and each scenario's noise floor behind."""
    chosen = drawn_differences(comparison, response)
    if not chosen:
        return None
    unit, factor = _unit(chosen)
    table = pd.DataFrame([_row(d, factor) for d in chosen])
    base = alt.Chart(table).encode(y=alt.Y("scenario:N", title=None, sort=None, axis=alt.Axis(labelLimit=460)))
    colour = alt.Color("verdict:N", scale=_colours(response))
    floors = base.mark_bar(opacity=0.15, color="#888", height=16).encode(
        x=alt.X("below:Q", title=f"change of {response}{f' in {unit}' if unit else ''}"), x2="above:Q"
    )
    bars = base.mark_rule(strokeWidth=2.5).encode(x="low:Q", x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=60).encode(x="change:Q", color=colour, tooltip=list(table.columns))
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(strokeDash=[4, 3], color="#888").encode(x="x:Q")
    return spec(alt.layer(floors, zero, bars, points).properties(width=430, height=alt.Step(22)))


def _colours(response: str) -> alt.Scale:
    """Return the colours of verdicts: that of what is better, of what is worse, or one for both directions."""
    looks = looks_of_changes(response)
    colours = {name: _LOOKS[looks.get(name, "")] for name in (Verdict.HIGHER.value, Verdict.LOWER.value)}
    colours[Verdict.INCONCLUSIVE.value] = _OPEN
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def drawn_differences(comparison: Comparison, response: str) -> list[Difference]:
    """Return the differences of one response to draw: those with an interval in one unit, the largest ``SHOWN``."""
    usable = [d for d in comparison.differences if d.response == response and _interval(d).low is not None]
    in_percent = any(d.in_percent for d in usable)
    return ranked([d for d in usable if d.in_percent == in_percent])[:SHOWN]


def _interval(d: Difference) -> Interval:
    return d.relative_interval if d.in_percent else d.interval


def _unit(chosen: Sequence[Difference]) -> tuple[str, float]:
    """Return the unit of a figure's changes and the factor to it."""
    if chosen[0].in_percent:
        return "%", 1.0
    unit, factor = unit_of(chosen[0].response, max(abs(d.difference) for d in chosen), chosen[0].unit)
    return unit.replace("%", "points"), factor


def _row(d: Difference, factor: float) -> dict[str, object]:
    ends, floor = _interval(d), (d.floor or 0.0) * factor
    return {
        "scenario": d.scenario,
        "change": ((d.relative if d.in_percent else d.difference) or 0.0) * factor,
        "low": (ends.low or 0.0) * factor,
        "high": (ends.high or 0.0) * factor,
        "below": -floor,
        "above": floor,
        "verdict": d.verdict.value,
        "rounds": min(d.rounds),
    }


def trade_off_figure(choice: Choice, conditions: tuple[str, ...], units: Mapping[str, str] = NO_UNITS) -> Spec | None:
    """Draw the first two responses of every configuration, the Pareto front joined and the choice ringed."""
    names = list(choice.candidates[0].means)
    if len(names) < 2:  # noqa: PLR2004 - a trade-off has two sides
        return None
    x, y = names[:2]
    table = pd.DataFrame([_point(choice, i, x, y, conditions) for i in range(len(choice.candidates))])
    if table["x"].nunique() == 1 or table["y"].nunique() == 1:
        return None
    titles = {}
    for axis, name in (("x", x), ("y", y)):
        titles[axis], factor = titled(name, float(table[axis].abs().max()), units.get(name, ""))
        table[axis] *= factor
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=titles["x"], scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", title=titles["y"], scale=alt.Scale(zero=False)),
    )
    kind = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["on the front", "beaten", "breaks a limit"], range=[COLOURS[0], "#8a8f98", COLOURS[1]]),
    )
    dots = base.mark_circle(size=70).encode(color=kind, tooltip=["configuration", "x", "y", "wins"])
    front = (
        base.transform_filter("datum.front")
        .mark_line(color=COLOURS[0], opacity=0.5, interpolate="step-after")
        .encode(order="x:Q")
    )
    ring = base.transform_filter("datum.chosen").mark_point(size=260, strokeWidth=2.5, color=COLOURS[2])
    layers = [layer for layer, kept in ((front, "front"), (ring, "chosen")) if table[kept].any()]
    return spec(alt.layer(*layers, dots).properties(width=340, height=220))


def _point(choice: Choice, i: int, x: str, y: str, conditions: tuple[str, ...]) -> dict[str, object]:
    c = choice.candidates[i]
    kind = "breaks a limit" if not c.feasible else "on the front" if c.on_front else "beaten"
    return {
        "x": c.means[x],
        "y": c.means[y],
        "configuration": configuration(c.scenario, conditions),
        "kind": kind,
        "front": c.on_front,
        "chosen": c is choice.chosen,
        "wins": c.wins,
    }


def wins_figure(choices: tuple[Choice, ...], conditions: tuple[str, ...]) -> Spec:
    """Draw the share of redrawn blocks in which each configuration comes first, a bar per condition."""
    rows = [
        {
            "given": label(choice.conditions),
            "configuration": configuration(c.scenario, conditions),
            "wins": c.wins,
        }
        for choice in choices
        for c in choice.candidates
        if c.wins > 0
    ]
    table = pd.DataFrame(rows or [{"given": "all", "configuration": "nothing keeps the limits", "wins": 1.0}])
    x = alt.X(
        "wins:Q",
        title="share of redrawn blocks in which it comes first",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    many = table["configuration"].nunique() > len(COLOURS)
    scale = alt.Scale(scheme="tableau20") if many else alt.Scale(range=COLOURS)
    colour = alt.Color("configuration:N", scale=scale, legend=alt.Legend(labelLimit=340))
    y = alt.Y("given:N", title=None, sort=None, axis=alt.Axis(labelLimit=340))
    bars = alt.Chart(table).mark_bar().encode(x=x, y=y, color=colour, tooltip=list(table.columns))
    return spec(bars.properties(width=430, height=alt.Step(24)))
