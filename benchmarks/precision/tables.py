"""Prints how small a difference a minute of measuring shows in each way, from raw results.

    .venv/bin/python -m benchmarks.precision.tables [RESULT]

The noise floor is 1.96 standard deviations of the difference of two configurations that are alike, each measured for a
minute. A ratio of variances says how many minutes of the first way show as much as one of another; its interval is that
of F, at a confidence at which all intervals of the table hold together.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.common import table
from benchmarks.evidence import LEVEL, NOT_MEASURED, Change, Result, machine_line, stored
from scipy import stats

from patternbench.analyze.statements.family import together

PART = "precision/ways"
BEFORE = "rounds of 1 s, paired by block, 95th percentile"
COLUMNS = ("way of measuring", "noise floor of a minute", "minutes of the first way that show as much [95 %]")


def printed(result: Result) -> str:
    """Return the table of a result, and what it was measured on."""
    rows = result["rows"]
    lines = [line_of(row, rows[0], len(rows) - 1) for row in rows]
    return f"{machine_line(result)}\n\n{table(list(COLUMNS), lines)}"


def line_of(row: Result, before: Result, among: int) -> list[str]:
    """Return what one way shows, against the first."""
    return [row["way"], f"{floor_of(row):.2g} %", "1" if row is before else said(gain_of(row, before, among))]


def floor_of(row: Result) -> float:
    """Return the noise floor of a minute in percent."""
    return 100 * float(np.expm1(1.96 * np.sqrt(row["variance"])))


def gain_of(row: Result, before: Result, among: int) -> Change:
    """How many times the variance of the first way is that of another; one of ``among`` that are reported together."""
    ratio, alpha = before["variance"] / row["variance"], (1 - together(LEVEL, among)) / 2
    low, high = (float(stats.f.ppf(p, before["df"], row["df"])) for p in (1 - alpha, alpha))
    return Change(ratio, ratio / low, ratio / high)


def said(change: Change) -> str:
    """Return the ratio, and that it is inconclusive where its interval holds 1."""
    return change.text() if change.excludes(1) else f"{change.text()}: inconclusive"


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


def main(arguments: Sequence[str]) -> None:
    print(printed(json.loads(Path(arguments[0]).read_text())) if arguments else committed())


if __name__ == "__main__":
    main(sys.argv[1:])
