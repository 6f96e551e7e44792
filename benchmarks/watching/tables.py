"""Prints whether a viewer changes what a run measures, from raw results.

    .venv/bin/python -m benchmarks.watching.tables [RESULT]

Both kinds of rounds are equivalent in a response where the 90 % interval of the mean ratio of a pair lies within 2 %
on both sides: two one-sided tests at 5 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Change, Result, by_round, machine_line, stored

from patternbench.analyze.statements.estimate import paired_counts
from patternbench.analyze.statements.verdict import Conclusion

PART = "watching/viewer"
RESPONSES = {
    "p50": "median response time",
    "p99": "99th percentile",
    "Throughput": "attempts per second",
    "system_cpu_s": "CPU time of the system",
}
MARGIN = 1.02
BOTH_TESTS = 0.90
"""The confidence of an interval that two one-sided tests at 5 % go with."""
COLUMNS = ("response", "pairs", "watched, as a ratio to not watched [90 %]", "within 2 %")


def printed(result: Result) -> str:
    """Return the table of a result, and what it was measured on."""
    lines = [line_of(result["rows"], name) for name in RESPONSES]
    return f"{machine_line(result)}\n\n{table(list(COLUMNS), lines)}"


def line_of(rows: Sequence[Result], response: str) -> list[str]:
    """Return what is shown of a response."""
    watched, alone = (by_round(rows, column, response=response) for column in ("watched", "alone"))
    change = ratio_of(alone, watched)
    return [RESPONSES[response], str(len(alone)), change.text(3), verdict(change)]


def ratio_of(alone: Sequence[float], watched: Sequence[float]) -> Change:
    """Return the mean ratio of watched rounds to the others of their pairs, with the interval of both tests."""
    estimate = paired_counts(np.log(np.asarray(alone)), np.log(np.asarray(watched)))
    return Change(*(float(np.exp(one)) for one in (estimate.value, *estimate.ends(BOTH_TESTS))))


def verdict(change: Change) -> str:
    """Say whether both are shown to be equivalent, or shown not to be."""
    if change.low > 1 / MARGIN and change.high < MARGIN:
        return "yes"
    return "no" if change.low > MARGIN or change.high < 1 / MARGIN else str(Conclusion.INCONCLUSIVE)


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
