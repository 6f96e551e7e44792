"""Prints what reading and fitting cost, from raw results: ``.venv/bin/python -m benchmarks.analysis.tables [PART]``.

``analysis/sizes`` is cost against size next to who computes part of it by hand; ``analysis/rounds`` is a run of ever
more rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, machine_line, names_of, ratio, spread, stored

PART, OF_ROUNDS = "analysis/sizes", "analysis/rounds"
OURS, DUCKDB, STATSMODELS = "patternbench", "DuckDB by hand", "statsmodels by hand"
READ = "a round's responses"
SQUARES = "least squares of a table, `fit --estimates`"
FIVE = "five models of two responses with MANOVA and all diagnostics, `fit`"
REPORT, ESTIMATES = "report", "fit --estimates"


def printed(result: Result) -> str:
    """Return a table for each thing that was measured, and what it was measured on."""
    rows, absent = result["rounds"], result["absent"]
    lacking = [f"Not measured, since not installed: {', '.join(absent)}."] if absent else []
    among = sum(len(shared(rows, what)) for what in names_of(rows, "what"))
    parts = [f"**{what}**\n\n{of_one(rows, what, among)}" for what in names_of(rows, "what")]
    return "\n\n".join([machine_line(result), *lacking, *parts])


def peer(rows: Sequence[Result], what: str) -> str | None:
    """Return who else does it, if anybody."""
    return next((row["who"] for row in rows if row["what"] == what and row["who"] != OURS), None)


def shared(rows: Sequence[Result], what: str) -> list[int]:
    """Return the sizes at which both were measured."""
    return sorted({row["size"] for row in rows if row["what"] == what and row["who"] == peer(rows, what)})


def of_one(rows: Sequence[Result], what: str, among: int) -> str:
    """Return the table of one thing: CPU time and peak memory at each size, and the ratio of the CPU times."""
    other, common = peer(rows, what), shared(rows, what)
    of_both = [name for who in (OURS, other) if who for name in (f"{who}, CPU s", "MiB at the peak")]
    header = ["rows", *of_both, *(["CPU time, as a ratio to ours"] if other else [])]
    lines = []
    for size in sorted({row["size"] for row in rows if row["what"] == what}):
        cells = [*cost(rows, what, OURS, size), *(cost(rows, what, other, size) if other else [])]
        ratios = [compared(rows, what, size, among) if size in common else ""] if other else []
        lines.append([f"{size:,}", *cells, *ratios])
    return table(header, lines)


def cost(rows: Sequence[Result], what: str, who: str, size: int) -> list[str]:
    """Return CPU time and peak memory, as medians with the smallest and the largest."""
    found = {name: by_round(rows, name, what=what, who=who, size=size) for name in ("cpu_s", "memory_mib")}
    return [spread(found["cpu_s"], 2), spread(found["memory_mib"])] if found["cpu_s"] else ["", ""]


def compared(rows: Sequence[Result], what: str, size: int, among: int) -> str:
    """Return the ratio of the CPU times over paired rounds, with its interval."""
    ours, theirs = (by_round(rows, "cpu_s", what=what, who=who, size=size) for who in (OURS, peer(rows, what)))
    return ratio(ours, theirs, among).text()


def rounds_printed(result: Result) -> str:
    """Return what a run of ever more rounds takes."""
    rows = result["rounds"]
    of_each = [text for one in (REPORT, ESTIMATES) for text in (f"`{one}`, CPU s", "MiB at the peak")]
    header = ["attempts", "rounds", *of_each]
    lines = []
    for size in sorted({row["of_run"] for row in rows}):
        cells = [cell for one in (REPORT, ESTIMATES) for cell in of_command(rows, one, size)]
        lines.append([f"{size * result['options']['attempts per round']:,}", f"{size:,}", *cells])
    return f"{machine_line(result)}\n\n{table(header, lines)}"


def of_command(rows: Sequence[Result], command: str, size: int) -> list[str]:
    """Return CPU time and peak memory of a command on a run of that many rounds."""
    found = {name: by_round(rows, name, command=command, of_run=size) for name in ("cpu_s", "memory_mib")}
    return [spread(found["cpu_s"], 1), spread(found["memory_mib"])] if found["cpu_s"] else ["–", "–"]


def committed(part: str = PART) -> str:
    """Return the tables of the committed result."""
    result = stored(part)
    if result is None:
        return NOT_MEASURED
    return printed(result) if part == PART else rounds_printed(result)


if __name__ == "__main__":
    print("\n\n".join(map(committed, sys.argv[1:] or [PART, OF_ROUNDS])))
