"""What each result of a lane costs the coordinator, with 10, 100 and 1,000 lanes that answer at once.

    .venv/bin/python -m benchmarks.lanes.run [--bytes 100000] [--blocks 1]

Lanes are scripted: nothing is measured on them, so that all of the time is the coordinator's: it deals orders, checks
what comes (order, try, lane, SHA-256), writes the records into the run's folder and the line into the journal, both
synced. The peer is the least that any coordinator must do, in the same run: it writes as many files and as many lines
of the same sizes, and syncs them. Their ratio says what dealing, checking and describing cost.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common import own_peak_mib
from benchmarks.lanes.sleeping import delivery_of

from patternbench.plan.expand import expand
from patternbench.plan.order import rounds_of
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Journal
from patternbench.run.lanes.dealing import DealingExecutor, LaneResult
from patternbench.run.round.orders import Orders, RoundOrder
from patternbench.study.load import StudyFile

LANES = (10, 100, 1000)
SCENARIOS = 3
STUDY = """\
patternbench: 1
name: lanes
system: {url: "http://127.0.0.1:1"}
warm_up: 50ms
time_limit: LIMIT
workload: {closed: {users: [1, 2, 3], requests: 1}, request: {path: /}}
"""


@dataclass
class ImmediateLanes:
    """Lanes that hand over the result of an order as soon as they have it."""

    names: list[str]
    content: bytes
    ready: deque[LaneResult] = field(default_factory=deque)

    def up(self) -> list[str]:
        return self.names

    def begin(self, lane: str, order: RoundOrder) -> None:
        self.ready.append(LaneResult(lane, delivery_of(order, self.content)))

    def drop(self, lane: str) -> None:
        raise AssertionError(f"nothing that {lane} handed over was damaged")

    def event(self, within_s: float) -> LaneResult | None:
        return self.ready.popleft() if self.ready else None


def orders_of(blocks: int, folder: Path, limit: str = "2m") -> Iterator[RoundOrder]:
    """Yield the orders of this many blocks of three scenarios, whose rounds have a time limit."""
    file = folder / "study.yaml"
    file.write_text(STUDY.replace("LIMIT", limit), encoding="utf-8")
    study = StudyFile.read(file).study()
    by_id = {scenario.id: scenario for scenario in expand(study).scenarios}
    orders = Orders(study, {}, folder)
    for one in rounds_of(list(by_id.values()), blocks, 7, "shuffled"):
        yield orders.of(one, by_id[one.scenario], f"{one.index:05d}", "warm-up-000")


def dealt(lanes: int, orders: list[RoundOrder], content: bytes, folder: Path) -> float:
    """CPU seconds of the coordinator for all results."""
    run = RunFolder(folder / f"run-{lanes}")
    run.create()
    journal, names = Journal(run.journal), [f"lane-{number:04d}" for number in range(lanes)]
    began = time.process_time()
    for result in DealingExecutor(ImmediateLanes(names, content), run).map([orders]):
        journal.append(result.entry)
    spent = time.process_time() - began
    assert len(journal.entries()) == len(orders)
    return spent


def bare(count: int, line: int, content: bytes, folder: Path) -> float:
    """CPU seconds of writing as many files and lines, each of them synced."""
    folder.mkdir()
    began = time.process_time()
    for number in range(count):
        with (folder / f"{number:05d}.parquet").open("wb") as file:
            file.write(content)
            os.fsync(file.fileno())
        with (folder / "journal.jsonl").open("ab") as file:
            file.write(b"x" * line)
            os.fsync(file.fileno())
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description="What a result of a lane costs the coordinator.")
    parser.add_argument("--bytes", type=int, default=100_000, help="the size of a round's records")
    parser.add_argument("--blocks", type=int, default=1, help="how many blocks each lane runs")
    arguments = parser.parse_args()
    content = os.urandom(arguments.bytes)
    print("| lanes | results | CPU per result | against bare writes | peak memory |\n|---|---|---|---|---|")
    for lanes in LANES:
        with tempfile.TemporaryDirectory(prefix="lanes-") as name:
            folder = Path(name)
            orders = list(orders_of(lanes * arguments.blocks, folder))
            ours = dealt(lanes, orders, content, folder)
            line = (folder / f"run-{lanes}" / "journal.jsonl").stat().st_size // len(orders)
            peer = bare(len(orders), line, content, folder / "bare")
        each, peak = 1e3 * ours / len(orders), own_peak_mib()
        print(f"| {lanes:,} | {len(orders):,} | {each:.2f} ms | {ours / peer:.1f} times | {peak:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
