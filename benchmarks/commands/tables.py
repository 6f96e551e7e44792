"""Prints how long a user waits for a command, from raw results: ``.venv/bin/python -m benchmarks.commands.tables
[RESULT]``.

A goal that is a ratio is met when the whole interval keeps it, and missed when none of it does. One in seconds is met
when every round keeps it, and missed when the median does not. Else it is not shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Change, Result, by_round, machine_line, ratio, spread, stored
from benchmarks.overhead.tables import verdict

PART = "commands/waiting"
NOW, BEFORE = "now", "before"
HELP, VERSION, OF_RUN, PLAN = "`--help`", "`--version`", "`run --help`", "`plan` of the quickstart"
MISTAKE, REPORT = "a mistake in a study", "`report` of 144 rounds"
SHARES = {HELP: 1 / 4, VERSION: 1 / 4, OF_RUN: 1 / 4, PLAN: 1 / 3, MISTAKE: 1 / 3}
"""The share of the time before that each may take."""
REPORT_S = 3.0
ALL = (*SHARES, REPORT)
COLUMNS = ("command", "s now", "s before", "now, as a ratio to before", "goal", "verdict")


def printed(result: Result) -> str:
    """Return the table of a result, and what it was measured on."""
    return f"{machine_line(result)}\n\n{table(list(COLUMNS), [line_of(result['rounds'], name) for name in ALL])}"


def line_of(rows: Sequence[Result], name: str) -> list[str]:
    """Return what one command took, now and before, and whether it keeps its goal."""
    now, before = (by_round(rows, "elapsed_s", command=name, sources=which) for which in (NOW, BEFORE))
    change = ratio(before, now, len(ALL))
    goal, kept = goal_of(name, now, change)
    return [name, spread(now, 2), spread(before, 2), change.text(), goal, kept]


def goal_of(name: str, now: Sequence[float], change: Change) -> tuple[str, str]:
    """Return the goal of a command in words, and whether it is met."""
    if name not in SHARES:
        return f"under {REPORT_S:.0f} s", verdict(now, lambda value: value < REPORT_S)
    goal = SHARES[name]
    kept = "met" if change.high <= goal else "missed" if change.low > goal else "not shown"
    return f"1/{1 / goal:.0f} of before", kept


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
