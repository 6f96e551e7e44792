"""What the filter promises, and whether a run of the benchmark kept it.

`python benchmarks/ratelimit/goals.py RESULT...` prints the tables over the rounds of several runs together.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from systems import ALGORITHMS, BACKEND, BARE, EMPTY, ENVOY, LEASING, NATIVE, SERVICE, SILENT, leased_by

Rows = list[dict[str, Any]]

#: What a variant may add to the latency at p50, in microseconds.
LATENCY = {
    "gcra, redis": 100,
    "gcra, redis-unix": 100,
    leased_by("redis", "eager"): 100,
    "gcra, crdt": 50,
    leased_by("crdt", "eager"): 50,
    "gcra, mariadb": 500,
}
#: Those of them that make one call to another process for every request.
ONE_CALL = ("gcra, redis", "gcra, redis-unix", "gcra, crdt")


def of(rows: Rows, variant: str, column: str) -> dict[int, float]:
    """Return a column of a variant by round."""
    return {row["round"]: row[column] for row in rows if row["variant"] == variant}


def paired(rows: Rows, one: str, other: str, column: str, combine: Callable[[float, float], float]) -> list[float]:
    """Combine two variants of the same round: what slows down all of a round cancels out."""
    first, second = of(rows, one, column), of(rows, other, column)
    return [combine(first[number], second[number]) for number in first if number in second]


def added(rows: Rows, variant: str, column: str) -> list[float]:
    """Return the microseconds a variant adds to its baseline, by round."""
    return paired(rows, variant, baseline(variant), column, lambda a, b: a - b)


def baseline(variant: str) -> str:
    """Return what a variant's added latency is measured against."""
    return ENVOY if variant.startswith("envoy") else BARE


def spread(values: list[float], digits: int = 0) -> str:
    """Return median [smallest, largest]."""
    if not values:
        return "not measured"
    return f"{median(values):.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


@dataclass(frozen=True)
class Goal:
    """One promise: what is looked at, its values by round, the bound, and on which side of it to be."""

    text: str
    values: list[float]
    bound: float
    at_least: bool = False

    def verdict(self) -> str:
        """Say whether the median keeps the bound."""
        if not self.values:
            return "not measured"
        middle = median(self.values)
        return "met" if (middle >= self.bound if self.at_least else middle < self.bound) else "missed"

    def line(self) -> str:
        """Return the goal as a row of a Markdown table."""
        sign = "at least" if self.at_least else "under"
        return f"| {self.text} | {sign} {self.bound:g} | {spread(self.values, 1)} | {self.verdict()} |"


def share(rows: Rows, variant: str) -> list[float]:
    """Return a variant's requests per CPU-second in percent of limit_req's, by round."""
    return paired(rows, variant, NATIVE, "requests_per_cpu_second", lambda a, b: 100 * a / b)


def over_one_round_trip(rows: Rows, variant: str) -> list[float]:
    """Return what is added beyond one loopback round trip: the one that "no filter" adds to the backend alone."""
    hops = paired(rows, BARE, BACKEND, "p50_us", lambda a, b: a - b)
    return [a - hop for a, hop in zip(added(rows, variant, "p50_us"), hops, strict=False)]


def goals(rows: Rows) -> list[Goal]:
    """Return every promise with what was measured."""
    out = [
        Goal(f"{name}: requests per CPU-second, % of {NATIVE}", share(rows, name), 97, at_least=True)
        for name in [f"{a}, memory" for a in ALGORITHMS] + [SILENT, EMPTY]
    ]
    for name, bound in LATENCY.items():
        out.append(Goal(f"{name}: added at p50, µs", added(rows, name, "p50_us"), bound))
        if name in ONE_CALL:
            values = over_one_round_trip(rows, name)
            out.append(Goal(f"{name}: added at p50 over one loopback round trip, µs", values, bound))
    for store, mode in product(sorted(LEASING), ("lazy", "eager")):
        values = list(of(rows, leased_by(store, mode), "off_the_path").values())
        text = f"{mode} leases, {store}: requests that no store call delays or follows, %"
        out.append(Goal(text, values, 90, at_least=True))
    return out


def goals_table(rows: Rows) -> str:
    """Return all goals as Markdown."""
    lines = ["| goal | bound | median [smallest, largest] | |", "|---|---|---|---|"]
    return "\n".join([*lines, *(goal.line() for goal in goals(rows))])


def comparison(rows: Rows) -> str:
    """Return all variants as Markdown."""
    lines = [
        "| variant | p50, µs | added p50, µs | added p99, µs | requests / CPU-second | % of no filter's |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["variant"] for row in sorted(rows, key=order)):
        cpu = list(of(rows, name, "requests_per_cpu_second").values())
        part = paired(rows, name, baseline(name), "requests_per_cpu_second", lambda a, b: 100 * a / b)
        p50 = spread(list(of(rows, name, "p50_us").values()))
        more = [spread(added(rows, name, q)) for q in ("p50_us", "p99_us")]
        lines.append(f"| {name} | {p50} | {more[0]} | {more[1]} | {spread(cpu)} | {spread(part)} |")
    return "\n".join(lines)


def order(row: dict[str, Any]) -> tuple[int, str]:
    """Sort: the ends of the scale, shared memory, stores, then Envoy."""
    name = str(row["variant"])
    first = [BACKEND, BARE, NATIVE, EMPTY, SILENT]
    if name in first:
        return first.index(name), name
    return (30 if name == SERVICE else 20 if name.startswith("envoy") else 8 if "memory" in name else 10), name


def together(results: list[str]) -> Rows:
    """Return the rounds of several runs, none of them with another's number."""
    runs = [json.loads(Path(name).read_text(encoding="utf-8"))["rounds"] for name in results]
    return [{**row, "round": (place, row["round"])} for place, run in enumerate(runs) for row in run]


if __name__ == "__main__":
    found = together(sys.argv[1:])
    print(goals_table(found), comparison(found), sep="\n\n")
