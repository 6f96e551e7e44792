"""Puts the tables of the committed raw results into the pages, or says that a page tells something else.

    .venv/bin/python -m benchmarks.pages [--write]

Each part of a page stands between ``<!-- NAME -->`` and ``<!-- end of NAME -->``, next to the command that prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.analysis import tables as analysis
from benchmarks.clients import tables as clients
from benchmarks.drivers import tables as drivers
from benchmarks.engine import tables as engine
from benchmarks.overhead import tables as overhead
from benchmarks.ratelimit import goals, memory, mysql_client, redis_client, shared_memory
from benchmarks.startup import tables as startup
from benchmarks.truth import tables as truth
from reproductions.markdown import part, with_part

ROOT = Path(__file__).resolve().parents[1]
PERFORMANCE, RATELIMIT = Path("docs/performance.md"), Path("benchmarks/ratelimit/README.md")
INSURANCE = Path("docs/systems/insurance.md")

#: What stands in which page under which name.
PARTS: dict[tuple[Path, str], Callable[[], str]] = {
    (PERFORMANCE, engine.COMPARE): lambda: engine.committed(engine.COMPARE),
    (PERFORMANCE, engine.PROMISES): lambda: engine.committed(engine.PROMISES),
    (PERFORMANCE, truth.PART): truth.committed,
    (PERFORMANCE, overhead.PART): overhead.committed,
    (PERFORMANCE, clients.PART): clients.committed,
    (PERFORMANCE, drivers.PART): drivers.committed,
    (PERFORMANCE, analysis.PART): lambda: analysis.committed(analysis.PART),
    (PERFORMANCE, analysis.OF_ROUNDS): lambda: analysis.committed(analysis.OF_ROUNDS),
    (INSURANCE, startup.PART): startup.committed,
    (RATELIMIT, goals.PART): goals.committed,
    (RATELIMIT, shared_memory.PART): shared_memory.committed,
    (RATELIMIT, redis_client.COMPARISON.part): redis_client.committed,
    (RATELIMIT, mysql_client.COMPARISON.part): mysql_client.committed,
    (RATELIMIT, memory.PART): memory.committed,
}


def main() -> None:
    """Write all parts, or name those that differ and end with 1."""
    differ = []
    for (place, name), printed in PARTS.items():
        page, text = (ROOT / place).read_text(encoding="utf-8"), printed()
        if part(page, name) != text:
            differ.append(f"{place}: {name}")
            if "--write" in sys.argv:
                (ROOT / place).write_text(with_part(page, name, text), encoding="utf-8")
    if differ:
        print("\n".join(differ))
        sys.exit(0 if "--write" in sys.argv else "these differ from the committed raw results: add --write")


if __name__ == "__main__":
    main()
