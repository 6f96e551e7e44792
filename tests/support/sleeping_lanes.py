"""Lanes that sleep through their rounds, on real nodes: what is dealt to whom, without any load."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.lanes.sleeping import BYTES, delivery_of
from tests.support.studies import study

from patternbench.lab.host.processes import Process
from patternbench.plan.expand import expand
from patternbench.plan.order import rounds_of
from patternbench.run.lanes.worker import LaneDelivery, LaneWorker
from patternbench.run.round.orders import Orders, RoundOrder

ROUNDS = 2
"""The rounds of each block."""
SYSTEM = "sleep 31536001"
"""What each lane keeps up, as a process and as the child of one: its command line is that of nothing else."""
SAID = "said"


class Statement(NamedTuple):
    """What a lane said of an order: that it ``begins`` or has ``done`` it, its lane, and the process that it is."""

    what: str
    order: str
    lane: str
    process: int


def said(folder: Path) -> list[Statement]:
    """All that lanes said, in its order."""
    file = folder / SAID
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [Statement(what, order, lane, int(process)) for what, order, lane, process in lines]


def sleeps(folder: Path, order: str, seconds: float) -> None:
    """Have the lane that carries out this order sleep for so long, whatever its time limit is."""
    (folder / f"sleeps-{order}").write_text(str(seconds))


class SleepingLane(LaneWorker):
    """Sleeps for the time limit of each order, and says before and after it in the folder of the study."""

    def __init__(self, inputs: Mapping[str, bytes], engine_only: bool) -> None:
        super().__init__(inputs, engine_only)
        forks = ["sh", "-c", f"{SYSTEM} & {SYSTEM}"]
        self._system = Process("system", forks, self._folder.logs, piped=False)

    def carry_out(self, plain: Mapping[str, object]) -> LaneDelivery:
        order = RoundOrder.from_json(plain)
        self._say("begins", order)
        other = Path(order.study_folder) / f"sleeps-{order.id}"
        time.sleep(float(other.read_text()) if other.exists() else order.time_limit.seconds)
        self._say("done", order)
        return delivery_of(order, os.urandom(BYTES))

    def close(self) -> Mapping[str, bytes]:
        self._system.close()
        return super().close()

    def _say(self, what: str, order: RoundOrder) -> None:
        with (Path(order.study_folder) / SAID).open("a") as file:
            file.write(f"{what} {order.id} {order.lane} {os.getpid()}\n")


class StrayingLane(SleepingLane):
    """One of them hands over what it made of its first order for its second as well."""

    def __init__(self, inputs: Mapping[str, bytes], engine_only: bool) -> None:
        super().__init__(inputs, engine_only)
        self._first: LaneDelivery | None = None

    def carry_out(self, plain: Mapping[str, object]) -> LaneDelivery:
        made = super().carry_out(plain)
        self._first = self._first or made
        again = self._first is not made and _first_to_make(Path(str(plain["study_folder"])) / "strays")
        return self._first if again else made


def _first_to_make(file: Path) -> bool:
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def sleeping_orders(blocks: int, folder: Path, each: str) -> Iterator[RoundOrder]:
    """The orders of blocks of two rounds that take this long."""
    declared = study(time_limit=each, warm_up="50ms")
    scenarios = {scenario.id: scenario for scenario in expand(declared).scenarios[:ROUNDS]}
    orders = Orders(declared, {}, folder)
    for one in rounds_of(list(scenarios.values()), blocks, 7, "shuffled"):
        yield orders.of(one, scenarios[one.scenario], f"{one.index:05d}", "warm-up-000")
