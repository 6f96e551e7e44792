"""How near the filter in shared memory comes to nginx's own limit_req: all variants run, and are visited in turn.

`python benchmarks/ratelimit/shared_memory.py --visits 12`. What slows the machine down for longer than a second slows
all variants alike; each visit is compared with limit_req's of the same turn. Worker and generator have a core each.
"""

import argparse
import os
import random
import re
import statistics
from pathlib import Path
from typing import Any

from run import CLIENTS, cpu_seconds, drive
from systems import BARE, EMPTY, NATIVE, Stores, backend, variants, workplace

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
    """Print a table."""
    parser = argparse.ArgumentParser(description="Shared memory beside limit_req.")
    parser.add_argument("--visits", type=int, default=12)
    parser.add_argument("--only", default=WANTED, help="a regular expression on variants")
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
    print("| variant | % of limit_req's requests per CPU-second, median [quartiles] |\n|---|---|")
    for variant, values in shares.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"| {variant} | {middle:.0f} [{low:.0f}, {high:.0f}] |")
    print(f"\nLoad average at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
