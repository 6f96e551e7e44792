"""Prints who hides what, from raw results: ``.venv/bin/python -m benchmarks.truth.tables [RESULT]``.

One rule for every generator. For each of p50, p99, p99.9 and max the gap between what a generator says and the truth
of the same run (for wrk2 of the engine's run in the same round) has an interval over runs (t, 95 %). It *agrees* when
all four intervals lie within the margin, 1 ms or 2 % of the truth, whichever is more. It *differs* at each percentile
whose interval, wide enough that all four hold together, lies wholly outside. What it did not send it can't agree about:
who has dropped arrivals, or sent 0.2 % less than was scheduled, *lost* them. Else it is *inconclusive*.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, machine_line, mean_of, names_of, stored

from patternbench.analyze.statements.verdict import Conclusion

PART = "truth/pathologies"
NAMES = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}
MARGIN_MS, MARGIN_SHARE = 1.0, 0.02
BORROWS, LENDS = "wrk2", "engine"
"""Whose truth is that of whom."""
LOST_SHARE = 0.002
"""What may be missing at the edges of a run without being called lost."""
HEADER = ["target", "who says so", *(f"{name}, ms" for name in NAMES.values()), "lost", "failed", "against the truth"]


def printed(result: Result) -> str:
    """Return the table of a result, what it was measured on, and who was absent."""
    rows, absent = result["rounds"], result["absent"]
    lines = [line for pathology in names_of(rows, "pathology") for line in lines_of(rows, pathology)]
    lacking = f"\n\nNot measured, since not installed: {', '.join(absent)}." if absent else ""
    return f"{machine_line(result)}{lacking}\n\n{table(HEADER, lines)}"


def lines_of(rows: Sequence[Result], pathology: str) -> list[list[str]]:
    """Return the lines of a pathology: for each generator the truth of its runs, then what it says."""
    lines: list[list[str]] = []
    of_it = with_truth([row for row in rows if row["pathology"] == pathology])
    for generator in names_of(of_it, "generator"):
        runs = [row for row in of_it if row["generator"] == generator]
        if generator != BORROWS:
            lines.append([pathology, f"truth of {generator}", *reported([row["truth"] for row in runs]), "", "", ""])
        for name in names_of_all(runs):
            counts = [
                f"{statistics.median(row.get(column, 0) for row in runs):.0f}" for column in ("missing", "failed")
            ]
            stated = [row["said"].get(name, {}) for row in runs]
            lines.append([pathology, name, *reported(stated), *counts, verdict(runs, name)])
    return lines


def with_truth(rows: Sequence[Result]) -> list[Result]:
    """Return the rows of one pathology, each with a truth: wrk2's is that of the engine's run in the same round."""
    lent = {row["round"]: row["truth"] for row in rows if row["generator"] == LENDS}
    return [{**row, "truth": lent[row["round"]]} if row["generator"] == BORROWS else row for row in rows]


def names_of_all(runs: Sequence[Result]) -> list[str]:
    """Who says something in any of these runs."""
    return list(dict.fromkeys(name for row in runs for name in row["said"]))


def reported(times: Sequence[dict[str, float | None]]) -> list[str]:
    """Return the median over runs of each percentile, with the smallest and largest."""
    return [cell([one[name] for one in times if one.get(name) is not None]) for name in NAMES]


def cell(values: Sequence[float | None]) -> str:
    """Median [smallest, largest]; a dash where nothing is said."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return f"{statistics.median(known):,.1f} [{min(known):,.1f}, {max(known):,.1f}]"


def verdict(runs: Sequence[Result], name: str) -> str:
    """Return the word for what a generator says of these runs."""
    if any(row.get("missing", 0) > LOST_SHARE * row.get("scheduled", 0) or row["dropped"] for row in runs):
        return "lost arrivals: not comparable"
    found = {percentile: against_truth(runs, name, percentile) for percentile in NAMES}
    apart = [NAMES[percentile] for percentile, word in found.items() if word == "outside"]
    if apart:
        return f"differs at {', '.join(apart)}"
    return "agrees" if set(found.values()) == {"within"} else Conclusion.INCONCLUSIVE


def against_truth(runs: Sequence[Result], name: str, percentile: str) -> str:
    """Whether the interval of the gap lies within the margin, outside, or neither."""
    pairs = [(row["said"].get(name, {}).get(percentile), row["truth"][percentile]) for row in runs]
    gaps = [stated - true for stated, true in pairs if stated is not None]
    if len(gaps) < len(runs):
        return "unknown"
    margin = max(MARGIN_MS, MARGIN_SHARE * statistics.median(true for _, true in pairs))
    gap, wider = mean_of(gaps), mean_of(gaps, len(NAMES))
    if wider.low > margin or wider.high < -margin:
        return "outside"
    return "within" if -margin <= gap.low and gap.high <= margin else "unknown"


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
