"""Prints how long a system takes to start, from raw results: ``.venv/bin/python -m benchmarks.startup.tables
[RESULT]``.

A goal is met when every round keeps it, and missed when the median does not; else not shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, machine_line, names_of, spread, stored
from benchmarks.overhead.tables import verdict

PART = "startup/insurance"
GOAL_S, GOAL_GIB = 40.0, 3.0
MIB_PER_GIB = 1024
WHOLE = ""
"""The component of the rows that are about all of them together."""


def printed(result: Result) -> str:
    """Each component and all together, and the goals."""
    rows = result["rounds"]
    return "\n\n".join([machine_line(result), parts_table(rows), goals_table(rows)])


def parts_table(rows: Sequence[Result]) -> str:
    """Seconds, CPU time and memory of each component; they start side by side, so that their seconds overlap."""
    body = [[name or "all of it", *measured(rows, name)] for name in names_of(rows, "component")]
    return table(["component", "ready after, s", "CPU time, s", "memory, MiB"], body)


def measured(rows: Sequence[Result], name: str) -> list[str]:
    digits = {"seconds": 1, "cpu_s": 1, "mib": 0}
    return [spread(by_round(rows, column, component=name), places) for column, places in digits.items()]


def goals_table(rows: Sequence[Result]) -> str:
    """Return the goals with what was measured."""
    seconds = by_round(rows, "seconds", component=WHOLE)
    memory = [mib / MIB_PER_GIB for mib in by_round(rows, "mib", component=WHOLE)]
    quick, small = verdict(seconds, lambda value: value < GOAL_S), verdict(memory, lambda value: value < GOAL_GIB)
    body = [
        ["ready, s", f"under {GOAL_S:.0f}", spread(seconds, 1), quick],
        ["memory then, GiB", f"under {GOAL_GIB:.0f}", spread(memory, 2), small],
    ]
    return table(["goal", "bound", "median [smallest, largest]", "verdict"], body)


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
