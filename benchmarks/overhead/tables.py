"""Prints where a run's wall time goes, from raw results: ``.venv/bin/python -m benchmarks.overhead.tables [RESULT]``.

A goal is met when every run keeps it, and missed when the median does not; else not shown.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, machine_line, spread, stored

PART = "overhead/parts"
GOAL_SHARE, GOAL_GAP_MS = 95.0, 100.0
PARTS = {
    "before_s": "before the first round: start, preflight, bringing the system up",
    "warm_up_s": "warm-up",
    "measuring_s": "measuring: from the first attempt of each round to the end of its last",
    "in_rounds_s": "in rounds, not measuring: starting the client, decoding, writing and syncing records",
    "between_s": "between rounds",
    "after_s": "after the last round: the system's end, the report",
}


def printed(result: Result) -> str:
    """All parts, and the goals."""
    rows = result["rounds"]
    return "\n\n".join([machine_line(result), parts_table(rows), goals_table(rows)])


def parts_table(rows: Sequence[Result]) -> str:
    """Seconds and share of the command's time of each part."""
    whole = by_round(rows, "command_s")
    body = [[text, spread(by_round(rows, name), 2), spread(shares(rows, name), 1)] for name, text in PARTS.items()]
    body.append(["all of the command", spread(whole, 2), "100"])
    return table(["part", "s, median [smallest, largest]", "% of the command"], body)


def shares(rows: Sequence[Result], name: str) -> list[float]:
    """Return a part in percent of the command's time, by run."""
    return [100 * part / whole for part, whole in zip(by_round(rows, name), by_round(rows, "command_s"), strict=True)]


def goals_table(rows: Sequence[Result]) -> str:
    """Return the goals with what was measured, and the peer."""
    share, gap = shares(rows, "measuring_s"), by_round(rows, "median_gap_ms")
    restart = [1000 * seconds for seconds in by_round(rows, "restart_s")]
    body = [
        ["share of the command spent measuring, %", "at least 95", spread(share, 1), verdict(share, at_least)],
        ["median from one round to the next, ms", "under 100", spread(gap, 1), verdict(gap, under)],
        ["to compare: starting the system anew, ms", "–", spread(restart), ""],
    ]
    return table(["goal", "bound", "median [smallest, largest]", "verdict"], body)


def at_least(value: float) -> bool:
    return value >= GOAL_SHARE


def under(value: float) -> bool:
    return value < GOAL_GAP_MS


def verdict(values: Sequence[float], keeps: Callable[[float], bool]) -> str:
    """Whether every run keeps the bound, or the median does not."""
    if not keeps(statistics.median(values)):
        return "missed"
    return "met" if all(map(keeps, values)) else "not shown"


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
