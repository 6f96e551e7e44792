"""Prints safe loads of graphs in simulated time: ``.venv/bin/python -m benchmarks.simulation.maps_tables [RESULT]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, stored

PART = "simulation/maps"
CONFIGURATION = "configuration"


def printed(result: Result) -> str:
    """Return the table of each graph, with what was simulated."""
    head = f"Simulated, not measured: study {result['options']['study']}."
    maps = [{"code": result["code"], **one} for one in result["maps"]]
    return "\n\n".join([head, *(part for one in maps for part in of_graph(one))])


def of_graph(one: Result) -> list[str]:
    """Return the words on a graph, and its safe loads."""
    lengths = [name for name in one["safe"][0] if name != CONFIGURATION]
    rows = [[row[CONFIGURATION], *(row[length] for length in lengths)] for row in one["safe"]]
    words = (
        f"**{one['graph']}**, whose service {one['frozen']} freezes: safe loads in percent of its capacity of "
        f"{one['capacity']:,.0f} requests per second, by length of the freeze, from {one['rounds']} rounds of commit "
        f"{one['code']['commit']}, {one['code']['date']}."
    )
    return [words, table(["callers", *lengths], rows)]


def committed() -> str:
    """Return the tables of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    print(printed(json.loads(Path(sys.argv[1]).read_text())) if sys.argv[1:] else committed())
