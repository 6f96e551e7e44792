"""What the cinema's tables say of each pattern: rows of the page's own tables, for the catalogue in docs/patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pydantic import TypeAdapter

from reproductions.markdown import table
from reproductions.pages import written

NOT_MEASURED = "Not measured yet on a machine with nothing else to do."
Rows = list[list[str]]


@dataclass(frozen=True)
class Choice:
    """Rows of one of the page's tables, by the beginning of their first cell and by other cells, in some columns."""

    source: str
    begins: Sequence[str]
    columns: Sequence[str]
    where: Mapping[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        """Return the chosen cells as a table of their own; empty where no table has such a row."""
        for head, *rows in _tables(text):
            at = {name: number for number, name in enumerate(head)}
            if {*self.columns, *self.where} <= at.keys():
                kept = [[row[at[name]] for name in self.columns] for row in rows if self._holds(row, at)]
                return table(self.columns, kept) if kept else ""
        return ""

    def _holds(self, row: Sequence[str], at: Mapping[str, int]) -> bool:
        begins = any(row[0].startswith(beginning) for beginning in self.begins)
        return begins and all(row[at[name]] == expected for name, expected in self.where.items())


def _tables(text: str) -> Iterator[Rows]:
    """Yield the cells of each table of a text."""
    for is_table, rows in groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            yield [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("| ")]


CHOICES = TypeAdapter(dict[str, list[Choice]]).validate_python(written("banerjee_2022/catalogue.yaml"))


def parts(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the part ``measured`` of each page, from the page's own parts; what has no rounds says so."""
    shown = {
        page: (choice.of(sources.get(choice.source, "")) for choice in choices) for page, choices in CHOICES.items()
    }
    return {page: next(filter(None, texts), NOT_MEASURED) for page, texts in shown.items()}
