"""What the cinema's tables say of each pattern: rows of the page's own tables, for the catalogue in docs/patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reproductions.markdown import table

NOT_MEASURED = "Not measured yet on a machine with nothing else to do."
SPOT = ("fault", "architecture", "failed, %", "late, %", "lost", "doubled", "recovered after, s")


@dataclass(frozen=True)
class Choice:
    """Rows of one of the page's tables, by the beginning of their first cell and by other cells, in some columns."""

    table: str
    begins: Sequence[str]
    columns: Sequence[str]
    where: Mapping[str, str] = field(default_factory=dict)

    def of(self, lines: Sequence[str]) -> str:
        """Return the chosen cells as a table of their own; empty where the page's table has no such row."""
        head, *rows = [dict(enumerate(_cells(line))) for line in lines if line.startswith("| ")]
        at = {name: number for number, name in head.items()}
        kept = [[row[at[name]] for name in self.columns] for row in rows if self._holds(row, at)]
        return table(self.columns, kept) if kept else ""

    def _holds(self, row: Mapping[int, str], at: Mapping[str, int]) -> bool:
        begins = any(row[0].startswith(beginning) for beginning in self.begins)
        return begins and all(row[at[name]] == expected for name, expected in self.where.items())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


OTHER_WAY, OTHER_BY_PUBLISHED = "other way: p50, ms", "other ÷ published"
MESSAGES_BY_GATEWAY = "time with messages ÷ time with the gateway"
"""Columns of the page's tables."""
WAYS = ("another way", "published: p50, ms", OTHER_WAY, OTHER_BY_PUBLISHED, "faster")
FASTER = ("operation", "users", MESSAGES_BY_GATEWAY, "faster")
CHOICES: Mapping[str, Choice] = {
    "api-gateway.md": Choice("ways", ["it calls the cinemas directly"], WAYS),
    "aggregator.md": Choice("ways", ["the aggregator calls", "it calls", "its connections", "all three"], WAYS),
    "asynchronous-messaging.md": Choice("faster", ["list", "make"], FASTER),
    "service-discovery.md": Choice("faults", ["crash registry"], SPOT),
    "database-per-service.md": Choice("faults", ["freeze db"], SPOT),
    "circuit-breaker.md": Choice(
        "faults",
        ["freeze cinema-cineworld"],
        ("fault", "breaker", "failed, %", "late, %", "a failure took, ms", "recovered after, s"),
        {"architecture": "gateway"},
    ),
}
"""What each page of the catalogue shows."""


def parts(tables: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the part ``measured`` of each page, from the page's tables by name; what has no rounds says so."""
    shown = {
        page: choice.of(tables[choice.table]) if choice.table in tables else "" for page, choice in CHOICES.items()
    }
    return {page: text or NOT_MEASURED for page, text in shown.items()}
