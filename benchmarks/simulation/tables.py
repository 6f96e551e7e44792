"""Prints what simulated time costs, from raw results: ``.venv/bin/python -m benchmarks.simulation.tables [RESULT]``.

A goal is met when every round keeps it, and missed when the median does not; else not shown.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, machine_line, names_of, ratio, spread, stored

PART = "simulation/cost"
OURS, SIMPY, NEXOSIM = "the engine", "SimPy", "nexosim"
GRAPH = "graph"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
GOAL_EVENTS, GOAL_GRAPH_S = 3e6, 10.0
EVEN = 1.1
"""The greatest exponent of growth that counts as even: ten times the customers cost at most 12.6 times as much."""


def printed(result: Result) -> str:
    """Return all tables of a result, and what it was measured on."""
    rows = result["rounds"]
    return "\n\n".join([machine_line(result), queue_table(rows), size_table(rows), goals_table(rows)])


def of_case(rows: Sequence[Result], case: str) -> list[Result]:
    """Return the rows of a case."""
    return [row for row in rows if row["case"] == case]


def queue_table(rows: Sequence[Result]) -> str:
    """Show customers per CPU-second of each tool on one queue, and the engine's as a ratio to them."""
    of_it = of_case(rows, "queue")
    tools = sorted(
        names_of(of_it, "tool"), key=lambda name: -statistics.median(by_round(of_it, "per_cpu_s", tool=name))
    )
    lines = [_tool_line(of_it, name, len(tools) - 1) for name in tools]
    absent = [name for name in (SIMPY, NEXOSIM) if name not in tools]
    note = f"\n\nAbsent: {', '.join(absent)}." if absent else ""
    return table(["tool", "customers per CPU-second", "engine's, as a ratio to it", "MiB at most"], lines) + note


def _tool_line(rows: Sequence[Result], name: str, others: int) -> list[str]:
    mine = by_round(rows, "per_cpu_s", tool=name)
    ours = by_round(rows, "per_cpu_s", tool=OURS)
    against = "–" if name == OURS else ratio(mine, ours, among=others).text()
    return [name, spread(mine), against, spread(by_round(rows, "peak_mib", tool=name))]


def size_table(rows: Sequence[Result]) -> str:
    """CPU time and memory by the number of customers."""
    of_it = of_case(rows, "size")
    lines = [
        [f"{size:,}", *(spread(by_round(of_it, name, customers=size), digits) for name, digits in COLUMNS.items())]
        for size in SIZES
    ]
    return table(["customers", "CPU s", "events", "MiB at most"], lines)


COLUMNS = {"cpu_s": 2, "events": 0, "peak_mib": 0}


def goals_table(rows: Sequence[Result]) -> str:
    """Show the goals of events per second, of the graph, of memory and of growth."""
    largest = [row for row in of_case(rows, "size") if row["customers"] == SIZES[-1]]
    queue_events, graph_events = events_per_s(largest), events_per_s(of_case(rows, GRAPH))
    graph = [row["cpu_s"] for row in of_case(rows, GRAPH)]
    growth = exponents(rows)
    lines = [
        *(
            [
                f"events per second and core, {what}",
                "at least 3 million",
                spread(events),
                _met(events, lambda one: one >= GOAL_EVENTS),
            ]
            for what, events in (("one queue", queue_events), ("the graph", graph_events))
        ),
        [
            "1,000 services, 1,000 requests/s, 40 calls each, 60 s",
            "under 10 s",
            f"{spread(graph, 1)} s",
            _met(graph, lambda one: one < GOAL_GRAPH_S),
        ],
        [
            "growth with customers, as an exponent",
            f"at most {EVEN}",
            spread(growth, 2),
            _met(growth, lambda one: one <= EVEN),
        ],
        *(
            ahead_line(rows, peer)
            for peer in (SIMPY, NEXOSIM)
            if by_round(of_case(rows, "queue"), "per_cpu_s", tool=peer)
        ),
    ]
    return table(["what", "goal", "median [smallest, largest]", "goal is"], lines)


def ahead_line(rows: Sequence[Result], peer: str) -> list[str]:
    """Return whether the engine is ahead of a peer on the same queue."""
    of_it = of_case(rows, "queue")
    both = zip(by_round(of_it, "per_cpu_s", tool=OURS), by_round(of_it, "per_cpu_s", tool=peer), strict=True)
    found = [mine / theirs for mine, theirs in both]
    what = f"customers per CPU-second on one queue, as a ratio to {peer}"
    return [what, "above 1", spread(found, 2), _met(found, lambda one: one > 1)]


def events_per_s(rows: Sequence[Result]) -> list[float]:
    """Return the events of each row per second of CPU time."""
    return [row["events"] / row["cpu_s"] for row in rows]


def exponents(rows: Sequence[Result]) -> list[float]:
    """Return by round how cost grows from 10,000 to 1,000,000 customers, without the process's start."""
    found = []
    for number in sorted({row["round"] for row in of_case(rows, "size")}):
        cost = {row["customers"]: row["cpu_s"] for row in of_case(rows, "size") if row["round"] == number}
        start, low, high = cost[SIZES[0]], cost[SIZES[1]], cost[SIZES[-1]]
        found.append(math.log(max(high - start, 1e-9) / max(low - start, 1e-9)) / math.log(SIZES[-1] / SIZES[1]))
    return found


def _met(values: Sequence[float], keeps: object) -> str:
    assert callable(keeps)
    if all(keeps(value) for value in values):
        return "met"
    return "not shown" if keeps(statistics.median(values)) else "missed"


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
