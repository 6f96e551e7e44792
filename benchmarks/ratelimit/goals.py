"""What the filter promises, and whether a run of the benchmark kept it.

``.venv/bin/python -m benchmarks.ratelimit.goals [RESULT...]`` prints the tables over the rounds of
several runs together; without a name those of the committed run.
Values are differences and ratios within rounds; brackets hold the 95 % interval of
their mean (t over rounds). A goal is met when the whole interval keeps the bound, missed when the mean does not keep
it, and else not shown.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, difference, machine_line, mean_of, spread, stored
from benchmarks.ratelimit.systems import (
    ALGORITHMS,
    BACKEND,
    BARE,
    EMPTY,
    ENVOY,
    LEASING,
    NATIVE,
    PING,
    SERVICE,
    SILENT,
    leased_by,
    near_limit,
)

Rows = list[dict[str, Any]]
PART = "ratelimit/filter"

LATENCY = {
    "gcra, redis": 100,
    "gcra, redis-unix": 100,
    leased_by("redis", "eager"): 100,
    "gcra, crdt": 50,
    leased_by("crdt", "eager"): 50,
    "gcra, mariadb": 500,
}
"""What a variant may add to the latency at p50, in microseconds."""
ONE_CALL = ("gcra, redis", "gcra, redis-unix", "gcra, crdt")
"""Those of them that make one call to another process for every request."""


def of(rows: Rows, variant: str, column: str) -> dict[int, float]:
    """Return a column of a variant by round."""
    return {row["round"]: row[column] for row in rows if row["variant"] == variant and column in row}


def paired(rows: Rows, one: str, other: str, column: str, combine: Callable[[float, float], float]) -> list[float]:
    """Combine two variants of the same round: what slows down all of a round cancels out.

    A round of ``one`` without ``other`` is an error: a difference that is left out in silence would not be missed.
    """
    first, second = of(rows, one, column), of(rows, other, column)
    if lonely := [number for number in first if number not in second]:
        raise ValueError(f"{one}: rounds {lonely} have no {column} of {other} to compare with")
    return [combine(value, second[number]) for number, value in first.items()]


def added(rows: Rows, variant: str, column: str) -> list[float]:
    """Return the microseconds a variant adds to its baseline, by round."""
    return paired(rows, variant, baseline(variant), column, lambda a, b: a - b)


def baseline(variant: str) -> str:
    """Return what a variant's added latency is measured against."""
    return ENVOY if variant.startswith("envoy") else BARE


def reported(values: Sequence[float], digits: int = 0) -> str:
    """Return the mean with its interval."""
    return mean_of(values).text(digits) if values else "not measured"


@dataclass(frozen=True)
class Goal:
    """One promise: what is looked at, its values by round, the bound, and on which side of it to be."""

    text: str
    values: list[float]
    bound: float
    at_least: bool = False

    def verdict(self) -> str:
        """Say whether the whole interval keeps the bound, the mean does not, or neither."""
        if not self.values:
            return "not measured"
        found = mean_of(self.values)
        if not self._keeps(found.value):
            return "missed"
        return "met" if self._keeps(found.low) and self._keeps(found.high) else "not shown"

    def _keeps(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value < self.bound

    def row(self) -> list[str]:
        """Return the goal as a row of a table."""
        sign = "at least" if self.at_least else "under"
        return [self.text, f"{sign} {self.bound:g}", reported(self.values, 1), self.verdict()]


def share(rows: Rows, variant: str) -> list[float]:
    """Return a variant's requests per CPU-second in percent of limit_req's, by round."""
    return paired(rows, variant, NATIVE, "requests_per_cpu_second", lambda a, b: 100 * a / b)


def goals(rows: Rows) -> list[Goal]:
    """Return every promise with what was measured."""
    out = [
        Goal(f"{name}: requests per CPU-second, % of {NATIVE}", share(rows, name), 97, at_least=True)
        for name in [f"{a}, memory" for a in ALGORITHMS] + [SILENT, EMPTY]
    ]
    out += [Goal(f"{name}: added at p50, µs", added(rows, name, "p50_us"), bound) for name, bound in LATENCY.items()]
    for store, mode in product(sorted(LEASING), ("lazy", "eager")):
        values = list(of(rows, leased_by(store, mode), "off_the_path").values())
        text = f"{mode} leases, {store}, far from the limit: requests that no store call delays or follows, %"
        out.append(Goal(text, values, 90, at_least=True))
    return out


def goals_table(rows: Rows) -> str:
    """Return all goals as Markdown."""
    return table(["goal", "bound", "mean [95 % interval]", "verdict"], [goal.row() for goal in goals(rows)])


def pings_table(rows: Rows) -> str:
    """Return the time that one call adds, and a PING's in the same round to explain it: no goal uses the difference."""
    body = []
    for name in ONE_CALL:
        pings = of(rows, PING, "p50_us")
        beyond = beyond_a_ping(rows, name) if pings else []
        body.append([name, reported(added(rows, name, "p50_us")), reported(list(pings.values())), reported(beyond)])
    return table(["variant", "added at p50, µs", "a PING of Redis, µs", "added beyond a PING, µs"], body)


def beyond_a_ping(rows: Rows, variant: str) -> list[float]:
    """Return what a variant adds beyond a PING of the same round."""
    pings, bare = of(rows, PING, "p50_us"), of(rows, BARE, "p50_us")
    return [value - bare[number] - pings[number] for number, value in of(rows, variant, "p50_us").items()]


def quickest(rows: Rows, variants: Sequence[str] = ONE_CALL) -> str:
    """Name the variant that adds least, when each paired difference to it excludes zero."""
    values = {name: list(of(rows, name, "p50_us").values()) for name in variants}
    values = {name: found for name, found in values.items() if found}
    pairs = len(list(combinations(values, 2)))
    if not pairs:
        return "Which call is the quickest was not measured."
    best = min(values, key=lambda name: mean_of(values[name]).value)
    gaps = {name: difference(values[best], found, pairs) for name, found in values.items() if name != best}
    named = "; ".join(f"{name} {gap.text(0)} µs above" for name, gap in gaps.items())
    if all(gap.low > 0 for gap in gaps.values()):
        return f"{best} is the quickest call: {named}."
    return f"Which call is the quickest is inconclusive. Relative to {best}: {named}."


def leases_table(rows: Rows) -> str:
    """Return what leases do where clients come near their limit: a tenth more is asked for than it allows."""
    body = []
    for store in sorted(LEASING):
        plain = near_limit(store, None)
        for name in (plain, near_limit(store, "lazy"), near_limit(store, "eager")):
            columns = {c: list(of(rows, name, c).values()) for c in ("p50_us", "rejected", "off_the_path")}
            saved = paired(rows, name, plain, "p50_us", lambda a, b: a - b) if name != plain else []
            found = reported(saved) if saved else "–"
            off = reported(columns["off_the_path"], 1) if columns["off_the_path"] else "–"
            body.append([name, reported(columns["p50_us"]), found, reported(columns["rejected"], 1), off])
    header = ["variant", "p50, µs", "against no lease, µs", "rejected, %", "no store call delays or follows, %"]
    return table(header, body)


def comparison(rows: Rows) -> str:
    """Return all variants as Markdown."""
    header = ["variant", "p50, µs", "added p50, µs", "added p99, µs", "requests / CPU-second", "% of no filter's"]
    full = [row for row in rows if "requests_per_cpu_second" in row]
    body = []
    for name in dict.fromkeys(row["variant"] for row in sorted(full, key=order)):
        part = paired(rows, name, baseline(name), "requests_per_cpu_second", lambda a, b: 100 * a / b)
        columns = [list(of(rows, name, c).values()) for c in ("p50_us", "requests_per_cpu_second")]
        more = [reported(added(rows, name, q)) for q in ("p50_us", "p99_us")]
        body.append([name, spread(columns[0]), *more, spread(columns[1]), reported(part)])
    return table(header, body)


def order(row: dict[str, Any]) -> tuple[int, str]:
    """Sort: the ends of the scale, shared memory, stores, then Envoy."""
    name = str(row["variant"])
    first = [BACKEND, BARE, NATIVE, EMPTY, SILENT]
    if name in first:
        return first.index(name), name
    return (30 if name == SERVICE else 20 if name.startswith("envoy") else 8 if "memory" in name else 10), name


def printed(rows: Rows) -> str:
    """Return all tables as Markdown."""
    return "\n\n".join(
        [
            goals_table(rows),
            "The time that a call to another process adds, next to a round trip to an idle Redis in the same round:",
            pings_table(rows),
            quickest(rows),
            "Where clients come near their limit (20 clients ask for a tenth more than it allows):",
            leases_table(rows),
            "All variants; p50 and requests per CPU-second: median [smallest, largest]; others: mean [95 % interval]:",
            comparison(rows),
        ]
    )


def committed() -> str:
    """Return the tables of the committed run."""
    result = stored(PART)
    return f"{machine_line(result)}\n\n{printed(result['rounds'])}" if result else NOT_MEASURED


def together(results: list[str]) -> Rows:
    """Return the rounds of several runs, none of them with another's number."""
    runs = [json.loads(Path(name).read_text(encoding="utf-8"))["rounds"] for name in results]
    return [{**row, "round": (place, row["round"])} for place, run in enumerate(runs) for row in run]


if __name__ == "__main__":
    print(printed(together(sys.argv[1:])) if sys.argv[1:] else committed())
