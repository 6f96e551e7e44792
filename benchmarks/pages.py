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
from benchmarks.commands import tables as commands
from benchmarks.drivers import tables as drivers
from benchmarks.engine import tables as engine
from benchmarks.gate import tables as gate
from benchmarks.overhead import tables as overhead
from benchmarks.precision import tables as precision
from benchmarks.ratelimit import goals, known, memory, mysql_client, redis_client, shared_memory
from benchmarks.replay import tables as replay
from benchmarks.simulation import accuracy_tables as accuracy
from benchmarks.simulation import maps_tables as maps
from benchmarks.simulation import tables as simulation
from benchmarks.startup import tables as startup
from benchmarks.truth import tables as truth
from benchmarks.watching import tables as watching
from scripts.site.marks import part, with_part

ROOT = Path(__file__).resolve().parents[1]
PERFORMANCE, RATELIMIT = Path("docs/performance.md"), Path("benchmarks/ratelimit/README.md")
INSURANCE = Path("docs/systems/insurance.md")
PREDICT = Path("docs/predict.md")
GATE = Path("docs/gate.md")
WATCH = Path("docs/watch.md")

PARTS: dict[tuple[Path, str], Callable[[], str]] = {
    (PERFORMANCE, engine.COMPARE): lambda: engine.committed(engine.COMPARE),
    (PERFORMANCE, engine.PROMISES): lambda: engine.committed(engine.PROMISES),
    (PERFORMANCE, truth.PART): truth.committed,
    (PERFORMANCE, overhead.PART): overhead.committed,
    (PERFORMANCE, commands.PART): commands.committed,
    (PERFORMANCE, clients.PART): clients.committed,
    (PERFORMANCE, drivers.PART): drivers.committed,
    (PERFORMANCE, precision.PART): precision.committed,
    (PERFORMANCE, replay.PART): replay.committed,
    (PERFORMANCE, analysis.PART): lambda: analysis.committed(analysis.PART),
    (PERFORMANCE, analysis.OF_ROUNDS): lambda: analysis.committed(analysis.OF_ROUNDS),
    (PREDICT, accuracy.PART): accuracy.committed,
    (GATE, gate.PART): gate.committed,
    (PREDICT, maps.PART): maps.committed,
    (WATCH, watching.PART): watching.committed,
    (PERFORMANCE, simulation.PART): simulation.committed,
    (INSURANCE, startup.PART): startup.committed,
    (RATELIMIT, goals.PART): goals.committed,
    (RATELIMIT, shared_memory.PART): shared_memory.committed,
    (RATELIMIT, redis_client.COMPARISON.part): redis_client.committed,
    (RATELIMIT, mysql_client.COMPARISON.part): mysql_client.committed,
    (RATELIMIT, memory.PART): memory.committed,
    (RATELIMIT, known.COMPARISON.part): known.committed,
}
"""What stands in which page under which name."""


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
