"""How a table with a long first column is printed in a terminal that is too narrow for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.style import StyleType
from rich.table import Column, Table
from rich.text import Text

from patternbench.cli.terminal import FILE_WIDTH, printable

GAPS = (2, 1)
"""Blanks before each column; fewer where more leave no room."""
Row: TypeAlias = "tuple[tuple[RenderableType, ...], StyleType | None]"


def fitting(table: Table, console: Console) -> RenderableType:
    """Return the table if the console has room for it; else each text of its first column as a heading above its rows.

    Rows with the same heading come together, in the order in which they were. Columns keep their widths from heading to
    heading. If the others have no room without the first either, the widest is wrapped. Titles of columns are wrapped.
    """
    options = console.options.update(max_width=FILE_WIDTH)
    if len(table.columns) == 1 or Measurement.get(console, options, table).maximum <= console.width:
        return table
    rows = _by_heading(table)
    widths, gap = _widths(table.columns[1:], console)
    parts: list[RenderableType] = [Text(str(table.title), "italic")] if table.title else []
    parts.append(_part(table.columns[1:], widths, gap, []))
    for heading, own in rows.items():
        parts += [Text(printable(heading)), _part(table.columns[1:], widths, gap, own)]
    return Group(*parts)


def _by_heading(table: Table) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for number, (heading, *cells) in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        rows.setdefault(str(heading), []).append((tuple(cells), table.rows[number].style))
    return rows


def _widths(columns: Sequence[Column], console: Console) -> tuple[list[int], int]:
    """Return a width for each column that together fit the console, and the blanks before each."""
    widths = [max(_lengths(column, console)) for column in columns]
    room = console.width - sum(widths)
    gap = next((gap for gap in GAPS if gap * len(widths) <= room), GAPS[-1])
    excess = gap * len(widths) - room
    widest = widths.index(max(widths))
    widths[widest] = max(widths[widest] - max(excess, 0), 1)
    return widths, gap


def _lengths(column: Column, console: Console) -> Iterator[int]:
    yield Measurement.get(console, console.options, column.header).minimum
    for cell in column.cells:
        yield Measurement.get(console, console.options, cell).maximum


def _part(columns: Sequence[Column], widths: Sequence[int], gap: int, rows: Sequence[Row]) -> Table:
    """Return the rows below one heading; without rows, the titles of the columns."""
    part = Table(box=None, padding=(0, 0, 0, gap), show_header=not rows)
    for column, width in zip(columns, widths, strict=True):
        part.add_column(column.header, justify=column.justify, width=width)
    for cells, style in rows:
        part.add_row(*cells, style=style)
    return part
