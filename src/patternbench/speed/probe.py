"""The speed probe: repeats a fixed piece of work before and after a load, and notes how much CPU time it takes."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

from patternbench.observe.seam import ObservationError

WORK = json.dumps([{"id": number, "name": f"item {number}", "tags": ["a", "b", str(number)]} for number in range(30)])
"""A text of JSON, which each sample reads and writes: branches and memory, as in a service."""


@dataclass
class Samples:
    """What a probe has noted: when (seconds), on which CPU, and how much CPU time (seconds) it took.

    It notes times of the monotonic clock: someone may set the other one during a round.
    """

    rows: list[tuple[float, int, float]] = field(default_factory=list)

    def in_unix_time(self) -> Samples:
        """Return them with times by the clock that the machine has now, as the times of the load are."""
        ahead = time.time() - time.monotonic()
        return Samples([(second + ahead, cpu, cpu_time) for second, cpu, cpu_time in self.rows])


@contextmanager
def probing(cpus: Sequence[int], every_s: float) -> Iterator[Samples]:
    """Repeat the work on these CPUs in turn; raises ObservationError where this process may not use one of them.

    CPU time, not time: waiting for others on the same CPU does not count. What changes it makes every program on that
    CPU slower or faster: a neighbour on the other thread of the core, in another virtual machine too, or another clock
    frequency. Load on the CPU itself changes it as well: next to a busy program the same work took 4 to 11 % less CPU
    time on one machine (no idle states to leave, a higher clock); where threads share a core it takes more. So only
    samples of an idle machine tell its speed apart from what a scenario does.
    """
    samples, over = Samples(), threading.Event()
    refuse_missing(cpus)
    thread = threading.Thread(target=_probe, args=(samples, over, cpus, every_s), daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def refuse_missing(cpus: Sequence[int]) -> None:
    """Raise ObservationError where this process may not use one of these CPUs."""
    missing = sorted({*cpus} - {*allowed()})
    if missing:
        named = ", ".join(map(str, missing))
        raise ObservationError(f"CPU {named} can't be probed: this process may use {', '.join(map(str, allowed()))}")


def allowed() -> list[int]:
    """Return the CPUs that this process may use, in order."""
    return sorted(os.sched_getaffinity(os.getpid()))


def _probe(samples: Samples, over: threading.Event, cpus: Sequence[int], every_s: float) -> None:
    """Run in its own thread, which alone moves from CPU to CPU: its time is not that of the system under test."""
    for cpu in cycle(cpus):
        os.sched_setaffinity(0, {cpu})
        samples.rows.append((time.monotonic(), cpu, _cpu_time_of_work()))
        if over.wait(every_s):
            return


def _cpu_time_of_work() -> float:
    """Return the CPU time of the second of two repetitions: the first one finds caches as others left them."""
    _work()
    begun = time.thread_time_ns()
    _work()
    return (time.thread_time_ns() - begun) / 1e9


def _work() -> None:
    json.dumps(json.loads(WORK))
