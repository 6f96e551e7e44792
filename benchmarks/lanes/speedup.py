"""How many times the rounds of one lane four lanes do, where rounds only sleep, on a real cluster of this machine.

    .venv/bin/python -m benchmarks.lanes.speedup [--lanes 4] [--seconds 1.5] [--blocks 3] [--rounds 4]

Sleeping takes no CPU, so lanes do not take each other's: with as many lanes as blocks at a time, what is missing from
as many times the rounds is the time in which a lane waits for its next order, while Ray and the coordinator carry,
check and write what it made. The peer is one lane, on the same nodes, in turn. Bringing lanes up is not counted.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.evidence import Result, ratio, store
from benchmarks.lanes.run import SCENARIOS, orders_of
from benchmarks.lanes.sleeping import SleepingLane

from patternbench.lab.software.ray_cluster import own_cluster
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Journal
from patternbench.run.lanes import ray_lanes
from patternbench.run.lanes.places import LaneTask
from patternbench.run.lanes.ray_lanes import RayPlace

PART = "lanes/speedup"


def main() -> None:
    parser = argparse.ArgumentParser(description="How many times the rounds of one lane several lanes do.")
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.5, help="how long each round sleeps")
    parser.add_argument("--blocks", type=int, default=3, help="how many blocks of three rounds each lane runs")
    parser.add_argument("--rounds", type=int, default=4, help="how often both are measured")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="speedup-") as name:
        rows = list(measured(Path(name), arguments))
    settings = {key: value for key, value in vars(arguments).items() if key != "out"}
    print(printed(store(PART, settings, arguments.out, rounds=rows)))


def measured(folder: Path, arguments: argparse.Namespace) -> Iterator[Result]:
    """Yield rounds per second with one lane and with all, in turn."""
    ray_lanes.LaneWorker = SleepingLane  # type: ignore[misc]
    with own_cluster(arguments.lanes, folder / "cluster") as (address, env):
        os.environ.update(env)
        for number in range(arguments.rounds):
            for lanes in sorted([1, arguments.lanes], reverse=number % 2 == 1):
                run = folder / f"{number}-{lanes}"
                run.mkdir()
                yield {"round": number, "lanes": lanes, "per_s": done_per_s(address, lanes, run, arguments)}


def done_per_s(address: str, lanes: int, folder: Path, arguments: argparse.Namespace) -> float:
    """How many rounds per second lanes do, from the first order to the last line of the journal."""
    orders = list(orders_of(lanes * arguments.blocks, folder, f"{arguments.seconds:g}s"))
    run = RunFolder(folder / "run")
    run.create()
    journal = Journal(run.journal)
    with RayPlace(address, lanes, trusting=True).ready(LaneTask(run, True)) as ready:
        assert len(ready.up()) == lanes
        begun = time.monotonic()
        for result in ready.executor.map([orders]):
            journal.append(result.entry)
        took = time.monotonic() - begun
    assert len(journal.entries()) == lanes * arguments.blocks * SCENARIOS
    return len(journal.entries()) / took


def printed(result: Result) -> str:
    """Return the table of the raw results."""
    lanes, seconds = result["options"]["lanes"], result["options"]["seconds"]
    one, all_ = ([row["per_s"] for row in result["rounds"] if row["lanes"] == count] for count in (1, lanes))
    waits = [1e3 * (lanes / per_s - seconds) for per_s in all_]
    head = f"| rounds of | {lanes} lanes against one | a lane waits between rounds |\n|---|---|---|"
    return f"{head}\n| {seconds:g} s | {ratio(one, all_).text()} times | {sum(waits) / len(waits):.0f} ms |"


if __name__ == "__main__":
    main()
