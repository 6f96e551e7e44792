"""How long a system takes until all of it is ready, in CPU time and by the clock, and how much memory it has then.

    .venv/bin/python -m benchmarks.startup.run [SYSTEM] [--rounds 5]

Each round brings the system up (the insurance unless named) with nothing of it running, and takes it down. What is
made once and kept, such as archives of class data, is made by a start before the first round, which does not count.
CPU time is that of all processes of a component, user and system; memory is their proportional set sizes, so that
what processes share is counted once.

``.venv/bin/python -m benchmarks.startup.tables`` prints the tables of the committed rounds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from benchmarks.evidence import Result, store
from benchmarks.startup.tables import PART, printed

from patternbench.lab import environment, startable, systems
from patternbench.lab.environment import Environment
from patternbench.lab.systems import SystemFile

MIB = 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a system takes to be ready, and its memory then.")
    parser.add_argument("system", nargs="?", default="insurance")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    system = systems.load(arguments.system)
    startable.check_needs(system, {})
    measured(system, -1)
    rows = [row for number in range(arguments.rounds) for row in measured(system, number)]
    options = {"system": arguments.system, "rounds": arguments.rounds}
    print(printed(store(PART, options, arguments.out, rounds=rows)))


def measured(system: SystemFile, number: int) -> list[Result]:
    """Return a row for each component of a start, and one for the whole system, which has no component."""
    with tempfile.TemporaryDirectory(prefix="startup-") as folder:
        Path(folder).chmod(0o711)  # a server that runs as a user of its own must reach its folder
        began = time.monotonic()
        with environment.named(system, {}, Path(folder)) as up:
            seconds = time.monotonic() - began
            rows = list(components(up))
    whole = {"component": "", "seconds": seconds, **{name: sum(row[name] for row in rows) for name in ("cpu_s", "mib")}}
    return [{"round": number, **row} for row in (*rows, whole)]


def components(up: Environment) -> Iterator[Result]:
    """Yield what each component took until it was ready, and has of memory."""
    for start in up.started:
        family = up.running[start.component].process.family()
        memory = sum(member.memory_full_info().pss for member in family) / MIB
        yield {"component": start.component, "seconds": start.seconds, "cpu_s": sum(map(cpu, family)), "mib": memory}


def cpu(process: psutil.Process) -> float:
    """Return the CPU seconds of a process, and of those that it has waited for."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


if __name__ == "__main__":
    main()
