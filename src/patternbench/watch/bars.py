"""Numbers as characters: values over time, and an interval on a scale around no change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.:-=+*#"
"""The same for a terminal that has no characters but those of ASCII."""


def sparkline(values: Sequence[float | None], width: int, bars: str = BARS) -> str:
    """Return values as bars from 0 to the largest; a blank where there is no value."""
    drawn = [value for value in values if value is not None]
    top = max(drawn, default=0.0)
    text = "".join(" " if value is None else _bar(value, top, bars) for value in values)
    return text.rjust(width)


def _bar(value: float, top: float, bars: str) -> str:
    return bars[min(int(value / top * len(bars)), len(bars) - 1)] if top > 0 else bars[0]


def resampled(values: Sequence[float | None], columns: int) -> list[float | None]:
    """Return as many values as there are columns: means of several, or each of a few several times."""
    count = len(values)
    if not count:
        return [None] * columns
    places = [(column * count // columns, (column + 1) * count // columns) for column in range(columns)]
    return [_mean(values[start : max(end, start + 1)]) for start, end in places]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class Marks:
    """The characters of an interval: its line, its ends, ends beyond the scale, no change, and its estimate's marks."""

    line: str
    ends: tuple[str, str]
    beyond: tuple[str, str]
    zero: str
    better: str
    worse: str
    open: str


DRAWN = Marks("─", ("├", "┤"), ("◂", "▸"), "│", "●", "◆", "○")
PLAIN = Marks("-", ("[", "]"), ("<", ">"), "|", "*", "#", "o")


def interval(
    ends: tuple[float | None, float | None],
    value: float | None,
    look: str,
    reach: float,
    width: int,
    *,
    marks: Marks = DRAWN,
) -> str:
    """Return an interval on a scale from ``-reach`` to ``reach``; ``look`` says on which side it wholly lies."""
    cells = [" "] * width
    cells[width // 2] = marks.zero
    low, high = ends
    if low is not None and high is not None:
        left, right = _column(low, reach, width), _column(high, reach, width)
        cells[left : right + 1] = marks.line * (right - left + 1)
        cells[left] = marks.ends[0] if low >= -reach else marks.beyond[0]
        cells[right] = marks.ends[1] if high <= reach else marks.beyond[1]
    if value is not None:
        mark = {"better": marks.better, "worse": marks.worse}.get(look, marks.open)
        cells[_column(value, reach, width)] = mark if abs(value) <= reach else marks.beyond[value > 0]
    return "".join(cells)


def _column(value: float, reach: float, width: int) -> int:
    share = (max(-reach, min(reach, value)) + reach) / (2 * reach)
    return min(width - 1, int(share * width))
