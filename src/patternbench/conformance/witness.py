"""A witness of the machine: how late its own pauses are while a client's are measured."""

from __future__ import annotations

import statistics
import threading
import time
from dataclasses import dataclass, field

P95 = 0.95


@dataclass(frozen=True)
class PauseLateness:
    """By how much pauses were longer than asked for, in microseconds; ``least`` below 0 is a pause that was short."""

    pauses: int
    least: int
    median: int
    p95: int

    @classmethod
    def of(cls, late_us: list[int]) -> PauseLateness:
        """Sum up what each pause took beyond its length; there is at least one."""
        ordered = sorted(late_us)
        p95 = ordered[min(len(ordered) - 1, int(P95 * len(ordered)))]
        return cls(len(ordered), ordered[0], round(statistics.median(ordered)), p95)

    def is_within(self, median_us: int, p95_us: int) -> bool:
        """Whether the pauses were in the median and in their 95th percentile no later than that."""
        return self.median <= median_us and self.p95 <= p95_us

    def __str__(self) -> str:
        return f"{self.median} us late in the median, {self.p95} us in the 95th percentile"


@dataclass
class Witness:
    """Sleeps on its own thread, pause after pause, as long as the context lasts.

    It does what a client does that keeps time as well as this machine allows. When it is late itself, the machine is
    busy, and says nothing about the client.
    """

    pause_us: int
    _late_us: list[int] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Witness:
        self._thread = threading.Thread(target=self._sleep, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _sleep(self) -> None:
        while not self._over.is_set():
            began = time.monotonic_ns()
            time.sleep(self.pause_us / 1e6)
            self._late_us.append((time.monotonic_ns() - began) // 1000 - self.pause_us)

    @property
    def lateness(self) -> PauseLateness:
        """How late it was, once the context has ended."""
        return PauseLateness.of(self._late_us)
