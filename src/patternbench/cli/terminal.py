"""The one console of the command line. Text from outside is printed unchanged, never read as markup."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from patternbench.terms.visible import visible

FILE_WIDTH = 1_000
"""Columns of a file or a pipe, which have no width that a row must fit: each row stays on its line."""
LEAST_HUNG = 8
"""Columns that the further lines of an item of a list need at least, to be indented."""
MOST_DIGITS = 6
"""More than any terminal's number of columns has."""
MARK = re.compile(r" *(?:[-!] )?")
"""The blanks and the mark of a list's item, below which its further lines are not written."""


class PlainConsole(Console):
    """A console that prints text unchanged: no markup, no emoji, no codes for the terminal.

    Styled text is a ``Text`` with a style, or printed with ``style=``.
    """

    def __init__(self, **options: Any) -> None:
        told = _told_width()
        if told is None and "COLUMNS" in os.environ:  # the library would take it
            options |= {"_environ": {name: value for name, value in os.environ.items() if name != "COLUMNS"}}
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        if not (self.is_terminal or "width" in options or told):
            self.width = FILE_WIDTH

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; what is too long for its column of a table is folded, so that nothing that tells rows apart is cut.

        The further lines of an item of a list are indented like its text.
        A column that must not wrap, such as one of numbers, keeps its ellipsis: a cropped number would be a wrong one.
        """
        for column in (column for table in _tables(objects) for column in table.columns):
            column.overflow = "ellipsis" if column.no_wrap else "fold"
        hung = objects if options.get("soft_wrap") else [self._hung(one) for one in objects]
        super().print(*hung, **options)

    def _hung(self, one: object) -> object:
        """Return a text that is longer than a line, with its further lines indented; anything else unchanged."""
        if not isinstance(one, str) or len(one) <= self.width or "\n" in one:
            return one
        mark = MARK.match(one)
        indent = len(mark[0]) if mark else 0
        if self.width - indent < LEAST_HUNG:
            return one
        lines = self.render_str(one)[indent:].wrap(self, self.width - indent)
        for line in lines:
            line.rstrip()
        return Text(one[:indent]) + Text("\n" + " " * indent).join(lines)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text as it will be printed; rich asks here for every string and every cell of a table."""
        return super().render_str(printable(text), **options)


def _told_width() -> int | None:
    """Return the width that the environment tells; None where that isn't one, as 0 of some terminals of containers."""
    told = os.environ.get("COLUMNS", "")
    return int(told) or None if told.isascii() and told.isdigit() and len(told) < MOST_DIGITS else None


def _tables(objects: Iterable[object]) -> Iterator[Table]:
    """Yield the tables among what is printed, those within groups too."""
    for one in objects:
        if isinstance(one, Table):
            yield one
        elif isinstance(one, Group):
            yield from _tables(one.renderables)


def printable(text: str) -> str:
    """Return the text with what would act on the terminal written out: ``\\x1b`` instead of an escape."""
    return visible(text)
