"""How near the filter in shared memory comes to nginx's own limit_req: all variants run, and are visited in turn.

``.venv/bin/python -m benchmarks.ratelimit.shared_memory --visits 12``. What slows the
machine down for longer than a second slows all variants alike;
each visit is compared with limit_req's of the same turn. Worker and generator have a core each.
"""

import argparse
import os
import random
import re
from pathlib import Path
from typing import Any

from benchmarks.common import table
from benchmarks.evidence import NOT_MEASURED, Result, machine_line, mean_of, spread, store, stored
from benchmarks.ratelimit.run import CLIENTS, cpu_seconds, drive
from benchmarks.ratelimit.systems import BARE, EMPTY, NATIVE, Stores, backend, variants, workplace

PART = "ratelimit/shared_memory"
WANTED = f"^({BARE}|{NATIVE}|{EMPTY}|.*, memory.*)$"


def visit(system: Any, script: Path) -> float:
    """Return requests per second of the worker's CPU."""
    before = cpu_seconds(system.workers())
    requests, _ = drive(system.url, script, 1)
    return requests / (cpu_seconds(system.workers()) - before)


def turns(systems: dict[str, Any], script: Path, visits: int) -> dict[str, list[float]]:
    """Return each variant's share of limit_req's requests per CPU-second, in percent, by turn."""
    shares: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(visits + 1):
        order = list(systems)
        random.Random(number).shuffle(order)
        measured = {name: visit(systems[name], script) for name in order}
        for name in systems if number else ():  # the first turn warms up
            shares[name].append(100 * measured[name] / measured[NATIVE])
    return shares


def main() -> None:
    """Measure, store the raw results, and print their table."""
    parser = argparse.ArgumentParser(description="Shared memory compared with limit_req.")
    parser.add_argument("--visits", type=int, default=12)
    parser.add_argument("--only", default=WANTED, help="a regular expression on variants")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    with workplace("rls-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        script = folder / "clients.lua"
        script.write_text(CLIENTS, encoding="utf-8")
        stores = Stores(backend(folder / "backend"), None, None, None)
        every = variants(folder, stores)
        systems = {n: s for n, s in every.items() if re.search(options.only, n) or n == NATIVE}
        try:
            for system in systems.values():
                system.start()
                for pid in system.workers():
                    os.sched_setaffinity(pid, {0})
            shares = turns(systems, script, options.visits)
        finally:
            for system in systems.values():
                system.stop()
            stores.stop()
    print(printed(store(PART, {"visits": options.visits}, options.out, shares=shares)))


def printed(result: Result) -> str:
    """Return the table of a result: shares of limit_req's requests per CPU-second by turn."""
    rows = [[name, spread(values), mean_of(values).text(0)] for name, values in result["shares"].items()]
    header = ["variant", "% of limit_req's requests per CPU-second, median [smallest, largest]", "mean [95 % interval]"]
    return f"{machine_line(result)}\n\n{table(header, rows)}"


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


if __name__ == "__main__":
    main()
