"""Carries jobs out in two lanes, as there are two cores. What depends on time comes after all others, and runs alone.

What a job in a lane says is printed when it has ended, so that two of them never speak at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from scripts.checks import command

LANES = 2
T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """Something to carry out.

    Two jobs of one ``tool`` never run at once: it locks its folders. One that is ``alone`` has the whole machine.
    """

    name: str
    work: Callable[[], T]
    tool: str = ""
    alone: bool = False


@dataclass(frozen=True)
class Ended(Generic[T]):
    """What came of a job, how long it took, and how much CPU time its commands had, in seconds."""

    name: str
    result: T
    seconds: float
    cpu_s: float

    def __str__(self) -> str:
        """Write it as the heading of what the job said."""
        return f"{self.name} ({self.seconds:.0f} s, {self.cpu_s:.0f} s of CPU time)"


class _Lanes(Generic[T]):
    """Hands out jobs, the first of which no tool is at work, and gathers what came of them."""

    def __init__(self, jobs: Sequence[Job[T]]) -> None:
        self._left = list(jobs)
        self._tools: set[str] = set()
        self._changed = threading.Condition()
        self._speaks = threading.Lock()
        self.ended: dict[str, Ended[T]] = {}

    def carry_out(self) -> None:
        """Carry jobs out, one after another, until none is left."""
        while (job := self._next()) is not None:
            try:
                self._in_lane(job)
            finally:
                self._give_back(job)

    def _next(self) -> Job[T] | None:
        """Return the next job whose tool is free, and wait for it; None when all are begun, or stopped."""
        with self._changed:
            while self._left and not command.stopped():
                free = next((job for job in self._left if job.tool not in self._tools), None)
                if free is not None:
                    self._left.remove(free)
                    self._tools |= {free.tool} - {""}
                    return free
                self._changed.wait()
        return None

    def _give_back(self, job: Job[T]) -> None:
        with self._changed:
            self._tools.discard(job.tool)
            self._changed.notify_all()

    def _in_lane(self, job: Job[T]) -> None:
        command.tell(f"{job.name} begins\n")
        with command.kept() as file:
            with command.place(file) as place:
                self.keep(ended := carried_out(job, place))
            file.seek(0)
            with self._speaks:
                command.tell(f"\n== {ended}\n{file.read()}")

    def keep(self, ended: Ended[T]) -> None:
        """Keep what came of a job, unless it was cut off."""
        if not command.stopped():
            self.ended[ended.name] = ended


def carried_out(job: Job[T], place: command.Place) -> Ended[T]:
    """Carry one job out."""
    begun = time.monotonic()
    return Ended(job.name, job.work(), time.monotonic() - begun, place.cpu_s)


def carry_out(jobs: Sequence[Job[T]]) -> list[Ended[T]]:
    """Carry jobs out; return what came of each, as they are listed, without those that Ctrl-C prevented."""
    lanes = _Lanes([job for job in jobs if not job.alone])
    try:
        _both(lanes)
        for job in jobs:
            if job.alone:
                lanes.keep(_alone(job))
    except KeyboardInterrupt:
        command.stop()
    return [lanes.ended[job.name] for job in jobs if job.name in lanes.ended]


def _alone(job: Job[T]) -> Ended[T]:
    """Carry out a job that has the machine to itself; what it says is seen at once."""
    command.tell(f"\n== {job.name}\n")
    with command.place() as place:
        return carried_out(job, place)


def _both(lanes: _Lanes[T]) -> None:
    """Carry out in all lanes at once; what goes wrong with the checks themselves is raised."""
    with ThreadPoolExecutor(LANES) as pool:
        at_work = [pool.submit(lanes.carry_out) for _ in range(LANES)]
        try:
            wait(at_work)
        except KeyboardInterrupt:
            command.stop()
            raise
    for lane in at_work:
        lane.result()
