"""Prints what the engine's benchmark measured, from raw results.

    .venv/bin/python -m benchmarks.engine.tables [PART [RESULT]]      PART: engine/compare or engine/promises

Ratios are taken within each round; brackets hold intervals over rounds that are true of one case's table together with
95 %. "More" and "less" stand where the interval excludes one.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, machine_line, names_of, ratio, spread, stored

COMPARE, PROMISES = "engine/compare", "engine/promises"
ENGINE, NO_LOG = "engine", "engine, no log"
HEADER = ["generator", "requests per CPU-second", "engine's, as a ratio to it", "the engine drives", "requests/s"]


def printed(part: str, result: Result) -> str:
    """Return the tables of a part."""
    return compared(result) if part == COMPARE else promised(result)


def compared(result: Result) -> str:
    """One table per case, and what the log costs."""
    rows, absent = result["rounds"], result["absent"]
    lacking = [f"Not measured, since not installed: {', '.join(absent)}."] if absent else []
    parts = [machine_line(result), *lacking]
    for case in names_of(rows, "case"):
        parts += [f"**{case}**", case_table([row for row in rows if row["case"] == case])]
    return "\n\n".join([*parts, cost_of_the_log(rows)])


def per_cpu(rows: Sequence[Result], generator: str) -> list[float]:
    """Return requests per CPU-second by round."""
    counts, seconds = (by_round(rows, column, generator=generator) for column in ("requests", "cpu_s"))
    return [count / cpu for count, cpu in zip(counts, seconds, strict=True)]


def case_table(rows: Sequence[Result]) -> str:
    """Every generator next to the engine."""
    names = names_of(rows, "generator")
    ordered = sorted(names, key=lambda name: -statistics.median(per_cpu(rows, name)))
    return table(HEADER, [line(rows, name, len(names) - 1) for name in ordered])


def line(rows: Sequence[Result], name: str, among: int) -> list[str]:
    """Return a generator: its requests per CPU-second and per second, and how the engine compares with it."""
    counts, seconds = (by_round(rows, column, generator=name) for column in ("requests", "elapsed_s"))
    rates = [count / elapsed for count, elapsed in zip(counts, seconds, strict=True)]
    found = ratio(per_cpu(rows, name), per_cpu(rows, ENGINE), among)
    other = [found.text(), found.word(1.0, "less", "more")] if name != ENGINE else ["–", "–"]
    return [name, spread(per_cpu(rows, name)), *other, spread(rates)]


def cost_of_the_log(rows: Sequence[Result]) -> str:
    """Return what the log of attempts costs, from the same rounds."""
    reported = []
    cases = names_of(rows, "case")
    for case in cases:
        of_it = [row for row in rows if row["case"] == case]
        found = ratio(per_cpu(of_it, ENGINE), per_cpu(of_it, NO_LOG), len(cases))
        ends = ", ".join(f"{100 * (end - 1):+.1f}" for end in (found.low, found.high))
        reported.append(f"{case} {100 * (found.value - 1):+.1f} % [{ends}]")
    return f"CPU per request that the log of attempts adds: {'; '.join(reported)}."


def promised(result: Result) -> str:
    """Return the table of promises."""
    return f"{machine_line(result)}\n\n{table(['promise', 'bound', 'measured', 'verdict'], promise_rows(result))}"


def promise_rows(result: Result) -> list[list[str]]:
    """Return what is promised, what was measured, and whether it was kept."""
    long, many, late = result["long_run"], result["many_connections"], result["punctuality"]
    p99 = [one["late_p99_ms"] for one in late]
    sent, dropped = (int(sum(one[name] for one in late)) for name in ("requests", "dropped"))
    failures = f"{many['failed']:,} of {many['requests']:,} requests failed"
    return [
        _row(
            "bytes per request on disk",
            "at most 20",
            f"{long['bytes_per_request']:.2f}",
            long["bytes_per_request"] <= 20,
        ),
        _row(
            f"peak memory of {long['requests']:,} requests",
            "64 MB",
            f"{long['peak_mib']:.0f} MiB",
            long["peak_mib"] < 61,
        ),
        _row(
            "open connections",
            "10,000",
            f"{many['opened']:,} opened, {failures}",
            many["opened"] >= 10_000 and not many["failed"],
        ),
        _row("20,000 arrivals per second: lateness at p99", "1 ms", f"{spread(p99, 3)} ms", max(p99) < 1),
        _row("20,000 arrivals per second: dropped", "0", f"{dropped:,} of {sent + dropped:,}", not dropped),
        ["CPU time of the log's thread", "–", f"{long['log_thread_percent']:.1f} %", ""],
        ["20,000 arrivals per second: share of one CPU", "–", spread([one["cpu_share"] for one in late], 2), ""],
    ]


def _row(promise: str, bound: str, measured: str, kept: bool) -> list[str]:
    return [promise, bound, measured, "met" if kept else "missed"]


def committed(part: str) -> str:
    """Return the tables of a committed result."""
    result = stored(part)
    return printed(part, result) if result else NOT_MEASURED


def main() -> None:
    """Print one part or both."""
    if len(sys.argv) > 2:
        print(printed(sys.argv[1], json.loads(Path(sys.argv[2]).read_text())))
    else:
        print("\n\n".join(committed(part) for part in sys.argv[1:] or (COMPARE, PROMISES)))


if __name__ == "__main__":
    main()
