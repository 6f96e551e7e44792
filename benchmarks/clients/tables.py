"""Prints what each client costs by itself, from raw results: ``.venv/bin/python -m benchmarks.clients.tables
[RESULT]``.

The harness is what a baseline round costs. The library is what the same round costs more with a retry that never has
to retry, pair by pair, with an interval over rounds (t, 95 % for all clients together). The table names a cost where
that interval excludes zero.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, by_round, difference, machine_line, names_of, spread, stored

from patternbench.analyze.statements.verdict import Conclusion

PART = "clients/cost"
BASELINE, RETRY = "baseline", "retry"
HEADER = [
    "client",
    "runtime",
    "harness: CPU us per attempt",
    "its median response time, us",
    "library: CPU us per call more, mean [95 %]",
]


def printed(result: Result) -> str:
    """Return the table of a result, what it was measured on, and who was absent."""
    rows, absent = result["rounds"], result["absent"]
    lacking = f"\n\nNot measured, since not built: {', '.join(absent)}." if absent else ""
    clients = names_of(rows, "client")
    lines = [line_of(rows, client, len(clients)) for client in clients]
    return f"{machine_line(result)}{lacking}\n\n{table(HEADER, lines)}"


def line_of(rows: Sequence[Result], client: str, among: int) -> list[str]:
    """One client's costs; ``among`` differences are reported together."""
    plain, retried = (by_round(rows, "cpu_us", client=client, strategy=strategy) for strategy in (BASELINE, RETRY))
    more = difference(plain, retried, among)
    times = by_round(rows, "p50_us", client=client, strategy=BASELINE)
    (language,) = {row["language"] for row in rows if row["client"] == client}
    shown = more.text(1) if more.excludes(0) else f"{more.text(1)}: {Conclusion.INCONCLUSIVE}"
    return [client, str(language), spread(plain, 1), spread(times), shown]


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
