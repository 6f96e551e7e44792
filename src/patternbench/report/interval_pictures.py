"""Intervals as small pictures: one line for each change, on a scale around no change, or of amounts from nothing on.

They are SVG that takes its colours from the page, so that they fit the light theme, the dark one and paper. What lies
wholly on one side has a mark of its own as well as a colour: a dot is better, a diamond worse, a ring neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from markupsafe import Markup, escape

from patternbench.analyze.statements.sentences import size
from patternbench.report.first_screen import PERCENT, Contender, DrawnChange, FirstScreen, rounded_up, widest
from patternbench.terms.quantities import MINUS, number
from patternbench.terms.visible import all_visible

SMALL_WIDTH, SMALL_LINE = 96, 9
ROW, HEADING, BELOW = 25, 22, 26
WIDTH, LABELS, VALUES, MARGIN = 540, 190, 70, 12
LONGEST = 29
"""Characters of a name that fit left of its interval; the title of the row has all."""
_RADIUS = 4.0
_COLOURS = {"better": "var(--gain, #04795a)", "worse": "var(--loss, #b3470f)", "open": "var(--muted, #5a6472)"}


class _Ruler:
    """A scale from ``low`` to ``high``, drawn from ``left`` to ``right``."""

    def __init__(self, low: float, high: float, left: float, right: float) -> None:
        self.low, self.high, self.left, self.right = low, high, left, right

    def at(self, value: float) -> float:
        """Return where a value is; what is off the scale is at its end."""
        share = (max(self.low, min(self.high, value)) - self.low) / (self.high - self.low)
        return round(self.left + share * (self.right - self.left), 1)

    def holds(self, value: float) -> bool:
        """Whether a value is on the scale."""
        return self.low <= value <= self.high


def small(changes: Sequence[DrawnChange], reach: float) -> Markup:
    """Return a picture of a few changes, a line each, for a cell of a table; its words stand next to it."""
    height = max(16, SMALL_LINE * len(changes) + 6)
    scale = _Ruler(-reach, reach, 4, SMALL_WIDTH - 4)
    zero = f'<path class="zero" d="M{scale.at(0)} 1V{height - 1}"/>'
    lines = "".join(
        _interval(change, scale, (height - SMALL_LINE * (len(changes) - 1)) / 2 + SMALL_LINE * place)
        for place, change in enumerate(changes)
    )
    box = f'width="{SMALL_WIDTH}" height="{height}" viewBox="0 0 {SMALL_WIDTH} {height}"'
    return Markup(f'<svg class="interval" {box} aria-hidden="true" focusable="false">{zero}{lines}</svg>')


def with_words(change: DrawnChange, reach: float) -> Markup:
    """Return a picture of a change with its words, for a cell of a table."""
    text = str(all_visible(change.text))
    return Markup('<span class="change {}">{}<span>{}</span></span>').format(change.look, small([change], reach), text)


def contenders(screen: FirstScreen) -> Markup:
    """Return the figure of the contenders against what they are compared with, with a heading for each condition."""
    return rows(screen.contenders, f"{screen.response} against {screen.against}")


def rows(drawn: Sequence[Contender], title: str) -> Markup:
    """Return a figure with an interval in each row, below headings of conditions; all are in one unit."""
    reach = widest([one.change for one in drawn])
    scale = _Ruler(-reach, reach, LABELS + MARGIN, WIDTH - MARGIN - 4)
    parts, y = _below_headings(drawn, 4.0, lambda one, y: _row(one, scale, y))
    far = _size(drawn, reach)
    ticks = ((-reach, f"{MINUS}{far}", "start"), (0.0, "no change", "middle"), (reach, f"+{far}", "end"))
    return _picture(title, drawn, [_upright(scale.at(0), 0, y), *parts, *_axis(scale, ticks, y)], y)


def amounts(drawn: Sequence[Contender], title: str, enough: float | None = None) -> Markup:
    """Return a figure with an amount in each row, below headings: its interval, or a bar where it has none.

    All are in one unit, and none is below zero. A dashed line is where there is ``enough``.
    """
    ends = [end for one in drawn for end in one.change.ends]
    reach = rounded_up(max([*ends, enough or 0.0], default=0.0) or 1.0)
    scale = _Ruler(0.0, reach, LABELS + MARGIN, WIDTH - VALUES)
    parts, y = _below_headings(drawn, 4.0 if enough is None else HEADING, lambda one, y: _amount(one, scale, y))
    lines = [_upright(scale.at(0), 4 if enough is None else HEADING, y)]
    if enough is not None:
        text = f'<text class="axis" x="{scale.at(enough)}" y="13" text-anchor="middle">{_size(drawn, enough)}</text>'
        lines += [text, _upright(scale.at(enough), HEADING - 4, y)]
    ticks = ((0.0, "0", "middle"), (reach, _size(drawn, reach), "middle"))
    return _picture(title, drawn, [*lines, *parts, *_axis(scale, ticks, y)], y)


def _below_headings(
    drawn: Sequence[Contender], y: float, row: Callable[[Contender, float], str]
) -> tuple[list[str], float]:
    """Return the rows below the headings of their conditions, from a height on, and the height at which they end."""
    parts = []
    for where, group in groupby(drawn, key=lambda one: one.condition):
        if where:
            parts.append(f'<text class="where" x="0" y="{y + 15:g}">{_safe(where)}</text>')
            y += HEADING
        for one in group:
            parts.append(row(one, y))
            y += ROW
    return parts, y


def _picture(title: str, drawn: Sequence[Contender], parts: Sequence[str], height: float) -> Markup:
    label = _safe(f"{title}: {_told(drawn)}")
    box = f'viewBox="0 0 {WIDTH} {height + BELOW:g}"'
    return Markup(f'<svg class="interval wide" {box} role="img" aria-label="{label}">{"".join(parts)}</svg>')


def _upright(x: float, top: float, bottom: float) -> str:
    return f'<path class="zero" d="M{x} {top:g}V{bottom:g}"/>'


def _size(drawn: Sequence[Contender], value: float) -> str:
    """Write a value of a scale in the unit of what is drawn on it."""
    unit = drawn[0].change.unit if drawn else PERCENT
    return f"{number(value)}\u00a0%" if unit == PERCENT else size(unit, value, False)


def _safe(text: str) -> Markup:
    """Return a text as it may stand in the page: what would act on it is written out."""
    return escape(str(all_visible(text)))


def _told(drawn: Sequence[Contender]) -> str:
    """Say all intervals of a figure, for those who do not see it."""
    places = (f"{one.condition}, " if one.condition else "" for one in drawn)
    return "; ".join(f"{place}{one.name} {one.change.text}" for place, one in zip(places, drawn, strict=True))


def _amount(one: Contender, scale: _Ruler, y: float) -> str:
    """Return the row of an amount, which is written at its end."""
    change = one.change
    text = f'<text x="{WIDTH}" y="{y + 16:g}" text-anchor="end">{_safe(change.text)}</text>'
    has_interval = change.value is None or change.low is not None
    return _row(one, scale, y, "" if has_interval else _bar(change, scale, y)) + text


def _bar(change: DrawnChange, scale: _Ruler, y: float) -> str:
    left, colour = scale.at(0), _COLOURS[change.look]
    width = scale.at(change.value or 0.0) - left
    return f'<rect class="bar" x="{left}" y="{y + 7:g}" width="{width:.1f}" height="10" fill="{colour}"/>'


def _row(one: Contender, scale: _Ruler, y: float, drawn: str = "") -> str:
    name = one.name if len(one.name) <= LONGEST else f"{one.name[: LONGEST - 1]}…"
    weight = ' class="chosen"' if one.chosen else ""
    mark = "▸ " if one.chosen else ""
    text = f'<text{weight} x="{LABELS}" y="{y + 16:g}" text-anchor="end">{_safe(mark + name)}</text>'
    title = _safe(f"{one.name}: {one.change.text}")
    return f"<g><title>{title}</title>{text}{drawn or _interval(one.change, scale, y + 12)}</g>"


def _interval(change: DrawnChange, scale: _Ruler, y: float) -> str:
    """Return the line of an interval with the mark of its estimate; arrows where it leaves the scale."""
    if change.value is None:
        return ""
    colour = _COLOURS[change.look]
    ends = "" if change.low is None or change.high is None else _line(change.low, change.high, scale, y, colour)
    if not scale.holds(change.value):
        return ends + _arrow(scale.at(change.value), y, change.value > 0, colour)
    return ends + _mark(scale.at(change.value), y, change.look, colour)


def _arrow(x: float, y: float, right: bool, colour: str) -> str:
    """Return what stands for an estimate that is off the scale: where it would be found."""
    back = -6 if right else 6
    return f'<path class="mark" fill="{colour}" d="M{x} {y:g}l{back} -4v8z"/>'


def _line(low: float, high: float, scale: _Ruler, y: float, colour: str) -> str:
    left, right = scale.at(low), scale.at(high)
    path = f'<path class="ends" stroke="{colour}" d="M{left} {y:g}H{right}'
    path += f"M{left} {y - 3:g}v6" if scale.holds(low) else f"M{left + 4:g} {y - 3:g}l-4 3l4 3"
    path += f"M{right} {y - 3:g}v6" if scale.holds(high) else f"M{right - 4:g} {y - 3:g}l4 3l-4 3"
    return f'{path}"/>'


def _mark(x: float, y: float, look: str, colour: str) -> str:
    """Return the mark of an estimate: a dot is better, a diamond worse, a ring neither."""
    if look == "worse":
        corners = f"M{x} {y - _RADIUS:g}l{_RADIUS:g} {_RADIUS:g}l-{_RADIUS:g} {_RADIUS:g}l-{_RADIUS:g} -{_RADIUS:g}z"
        return f'<path class="mark" fill="{colour}" d="{corners}"/>'
    filled = colour if look == "better" else "var(--card, #fff)"
    return f'<circle class="mark {look}" cx="{x}" cy="{y:g}" r="3.4" fill="{filled}" stroke="{colour}"/>'


def _axis(scale: _Ruler, ticks: Iterable[tuple[float, str, str]], y: float) -> Iterator[str]:
    """Yield the words below the scale: each where its value is, and how it lies to that."""
    for value, text, anchor in ticks:
        place = scale.at(value)
        yield f'<text class="axis" x="{place}" y="{y + 17:g}" text-anchor="{anchor}">{text}</text>'
