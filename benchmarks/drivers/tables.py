"""Prints what the two drivers of the native client make of one machine, from raw results.

    .venv/bin/python -m benchmarks.drivers.tables [RESULT]

The last line is the ratio of jobs to the contract, pair by pair, with an interval over rounds (t, 95 % for all columns
together).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, machine_line, ratio, spread, stored

from patternbench.analyze.statements.verdict import Conclusion

PART = "drivers/requests"
JOBS, CONTRACT = "jobs of the load engine", "the client contract"
COLUMNS = {"per_s": "requests per second", "cpu_us": "CPU us per attempt", "beyond_s": "s beyond the round"}
DIGITS = {"per_s": 0, "cpu_us": 1, "beyond_s": 2}


def printed(result: Result) -> str:
    """Return the table of a result, and what it was measured on."""
    rows = result["rounds"]
    lines = [line_of(rows, driver) for driver in (JOBS, CONTRACT)]
    ratios = [ratio_of(rows, column) for column in ("per_s", "cpu_us")]
    lines.append(["ratio, mean [95 %]", *ratios, ""])
    return f"{machine_line(result)}\n\n{table(['driver', *COLUMNS.values()], lines)}"


def line_of(rows: Sequence[Result], driver: str) -> list[str]:
    """Return what one driver made of the rounds."""
    return [driver, *(spread(by_round(rows, column, driver=driver), DIGITS[column]) for column in COLUMNS)]


def ratio_of(rows: Sequence[Result], column: str) -> str:
    """How many times as much jobs make as the contract; one of two ratios that are reported together."""
    change = ratio(*(by_round(rows, column, driver=driver) for driver in (CONTRACT, JOBS)), among=2)
    return change.text() if change.excludes(1) else f"{change.text()}: {Conclusion.INCONCLUSIVE}"


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
