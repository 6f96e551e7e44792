"""What the two drivers of the native client make of one machine: jobs of the load engine, and the client contract.

    .venv/bin/python -m benchmarks.drivers.run [--rounds 6] [--seconds 2] [--users 4]

Both drive the same closed rounds of one request against one nginx, as a study whose only client is native is driven,
and as one that compares it with clients of libraries. Rounds of the two take turns, and each begins every other time.
A round counts with all that its driver does: receiving rows and writing the file of attempts.

``.venv/bin/python -m benchmarks.drivers.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import nginx
from benchmarks.drivers.tables import CONTRACT, JOBS, PART, printed
from benchmarks.evidence import Result, store

from patternbench.drivers import registry
from patternbench.drivers.client import Client
from patternbench.drivers.driver import Driver, Task
from patternbench.drivers.engine import EngineDriver
from patternbench.drivers.library import LibraryDriver
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.study.load import loads
from patternbench.study.model.system import Endpoint
from patternbench.terms.units import Duration

STUDY = """\
patternbench: 1
name: drivers
system: target
workload: {{closed: {{users: {users}, duration: {seconds}s}}, request: {{path: /}}}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="What each driver of the native client makes of one machine.")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, nginx(Path(folder)) as (url, _):
        rows = list(measured(url, Path(folder), arguments))
    settings = {"rounds": arguments.rounds, "seconds": arguments.seconds, "users": arguments.users}
    print(printed(store(PART, settings, arguments.out, rounds=rows)))


def measured(url: str, folder: Path, arguments: argparse.Namespace) -> Iterator[Result]:
    """Yield the rounds of both drivers in turn, after one of each that does not count."""
    client = Client(registry.required("native", None), folder / "client")
    drivers: dict[str, Driver] = {
        JOBS: EngineDriver(folder / "load", folder / "logs"),
        CONTRACT: LibraryDriver(client),
    }
    try:
        for number in range(-1, arguments.rounds):
            for name in sorted(drivers, reverse=number % 2 == 0):
                row = driven(drivers[name], round_of(url, arguments, folder), folder / f"{name}.parquet")
                if number >= 0:
                    yield {"round": number, "driver": name, **row}
    finally:
        client.close()


def driven(driver: Driver, task: Task, into: Path) -> Result:
    """One round: its attempts, the CPU time of each, and how long the driver took beyond the round itself."""
    begun = time.monotonic()
    done = driver.drive(task, into)
    took = time.monotonic() - begun
    seconds = task.time_limit.seconds
    return {
        "per_s": done.rows / seconds,
        "cpu_us": 1e6 * done.cpu_seconds / done.rows,
        "beyond_s": took - seconds,
    }


def round_of(url: str, arguments: argparse.Namespace, folder: Path) -> Task:
    """Return a closed round without an end but its time."""
    study = loads(STUDY.format(users=arguments.users, seconds=arguments.seconds), "drivers.yaml")
    (scenario,) = expand(study).scenarios
    limit = Duration.parse(f"{arguments.seconds}s")
    return Task(scenario, (Endpoint(url.rstrip("/")),), limit, Duration(0), 1, 0, Inputs(folder))


if __name__ == "__main__":
    main()
