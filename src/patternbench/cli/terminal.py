"""The one console of the command line: what comes from outside is printed as it stands, never as markup."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Plain(Console):
    """A console on which no text means anything but itself: no markup, no emoji, no codes for the terminal.

    What is to be styled is given as a ``Text`` with a style, or with ``style=``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; what is too long for its column of a table is folded, so that nothing that tells rows apart is cut."""
        for column in (column for table in objects if isinstance(table, Table) for column in table.columns):
            column.overflow = "fold"
        super().print(*objects, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """The text as it will be printed; rich asks here for every string and every cell of a table."""
        return super().render_str(printable(text), **options)


def printable(text: str) -> str:
    """The text with what would command the terminal written out: ``\\x1b`` instead of an escape."""
    return CONTROLS.sub(lambda control: f"\\x{ord(control[0]):02x}", text)
