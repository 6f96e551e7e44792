"""A section of the report as Markdown, for a page or a comment of a review: its words, its lists, then its tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from patternbench.observe.section import Section, Table
from patternbench.terms.quantities import number
from patternbench.terms.visible import visible

_ACTS = re.compile(r"([\\|<>*_\[\]#])")
"""What Markdown or HTML reads as more than a character."""


def markdown(section: Section) -> str:
    """Return the section as Markdown, with a heading of the second level."""
    lists = [
        "\n".join(f"- {escaped(one)}" for one in listed) for listed in (section.points, section.warnings) if listed
    ]
    parts = [f"## {escaped(section.title)}", *map(escaped, section.words), *lists, *_tables(section.tables)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return a text on one line as Markdown shows it."""
    return _ACTS.sub(r"\\\1", visible(" ".join(text.split())))


def _tables(tables: Sequence[Table]) -> Iterable[str]:
    for table in tables:
        if len(tables) > 1:
            yield f"**{escaped(table.title)}**"
        yield rows_of(table)
        if table.note:
            yield escaped(table.note)


def rows_of(table: Table) -> str:
    """Return the heads and the rows of a table as Markdown."""
    heads, rows = table.frame.columns, table.frame.itertuples(index=False)
    return "\n".join([_line(heads), f"|{'---|' * len(heads)}", *map(_line, rows)])


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else escaped(str(value))
