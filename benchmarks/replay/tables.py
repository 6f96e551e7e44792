"""Prints how many choices equal rounds show, and how many rounds that stop once the choice is known, from raw results.

.venv/bin/python -m benchmarks.replay.tables [RESULT]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, stored

PART = "replay/choices"
COLUMNS = (
    "study, objective",
    "choices",
    "rounds",
    "rounds of each configuration",
    "known and right",
    "known and wrong",
)


def printed(result: Result) -> str:
    """Return the table of a result."""
    lines = [line for _, rows in groupby(result["rows"], key=_study) for line in _lines(list(rows))]
    return table(list(COLUMNS), lines)


def _study(row: Result) -> tuple[str, str]:
    return row["study"], row["objective"]


def _lines(rows: Sequence[Result]) -> list[list[str]]:
    """Return the lines of one study, whose name is in the first."""
    return [_line(row, first=number == 0) for number, row in enumerate(rows)]


def _line(row: Result, first: bool) -> list[str]:
    name = f"{row['study']}, {row['objective']}" if first else ""
    choices = f"{row['choices']} of {row['configurations']} configurations, {row['draws']} draws" if first else ""
    return [name, choices, row["way"], f"{row['rounds']:.1f}", f"{row['right']:.0%}", f"{row['wrong']:.1%}"]


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
