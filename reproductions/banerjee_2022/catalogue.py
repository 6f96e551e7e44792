"""What the cinema's tables say of each pattern: rows of the page's own tables, for the catalogue in docs/patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from reproductions.markdown import table

NOT_MEASURED = "Not measured yet on a machine with nothing else to do."
SPOT = ("fault", "architecture", "failed, %", "late, %", "lost", "doubled", "recovered after, s")
Rows = list[list[str]]


@dataclass(frozen=True)
class Choice:
    """Rows of one of the page's tables, by the beginning of their first cell and by other cells, in some columns."""

    source: str
    begins: Sequence[str]
    columns: Sequence[str]
    where: Mapping[str, str] = field(default_factory=dict)

    def of(self, lines: Sequence[str]) -> str:
        """Return the chosen cells as a table of their own; empty where no table has such a row."""
        for head, *rows in _tables(lines):
            at = {name: number for number, name in enumerate(head)}
            if {*self.columns, *self.where} <= at.keys():
                kept = [[row[at[name]] for name in self.columns] for row in rows if self._holds(row, at)]
                return table(self.columns, kept) if kept else ""
        return ""

    def _holds(self, row: Sequence[str], at: Mapping[str, int]) -> bool:
        begins = any(row[0].startswith(beginning) for beginning in self.begins)
        return begins and all(row[at[name]] == expected for name, expected in self.where.items())


def _tables(lines: Sequence[str]) -> Iterator[Rows]:
    """Yield the cells of each table among lines."""
    for is_table, rows in groupby(lines, lambda line: line.startswith("|")):
        if is_table:
            yield [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("| ")]


WITH_A_PAUSE = ("operation", "users", "longer with messages", "less the pauses")
CLAIMED = ("claim", "least and largest change", "verdict")
"""Columns of the page's tables."""
BY_AGGREGATOR = "An aggregator that"
CHOICES: Mapping[str, Sequence[Choice]] = {
    "api-gateway.md": [Choice("ways", [f"{BY_AGGREGATOR} calls the cinemas directly"], CLAIMED)],
    "aggregator.md": [Choice("ways", [BY_AGGREGATOR], CLAIMED)],
    "asynchronous-messaging.md": [
        Choice("waiting", ["A, ", "B, ", "Who "], CLAIMED),
        Choice("paused", ["list", "make"], WITH_A_PAUSE),
    ],
    "service-discovery.md": [Choice("faults", ["crash registry"], SPOT)],
    "database-per-service.md": [Choice("faults", ["freeze db"], SPOT)],
    "circuit-breaker.md": [
        Choice(
            "faults",
            ["freeze cinema-cineworld"],
            ("fault", "breaker", "failed, %", "late, %", "a failure took, ms", "recovered after, s"),
            {"architecture": "gateway"},
        )
    ],
}
"""What each page of the catalogue shows: the first of these that was measured."""


def parts(sources: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the part ``measured`` of each page, from the page's lines by name; what has no rounds says so."""
    shown = {
        page: (choice.of(sources.get(choice.source, ())) for choice in choices) for page, choices in CHOICES.items()
    }
    return {page: next(filter(None, texts), NOT_MEASURED) for page, texts in shown.items()}
