"""What components are still seen to do when no one asks them anything: the work that a round has left behind.

Two things show it, whatever a service is written in: the CPU time that its processes take, and connections that their
callers have closed and that the service has not (the kernel's state CLOSE_WAIT). Behind each of these is a request that
it has still to read or to answer. A service that waits for something else, such as a timer, and has closed such
connections already, is not seen to work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from patternbench.lab import machine
from patternbench.terms.data_problems import plural

NETWORK = Path("/proc/net")
CLOSED_BY_CALLER = "08"
"""The state CLOSE_WAIT, as the kernel writes it into its list of connections."""
SPAN_S = 0.25
"""How long processes are watched at a time: their CPU time has a grain of 10 ms."""
BUSY_CPUS = 0.2
"""From how many CPUs on components count as busy: above what several idle JVMs, a database and a broker take."""
WITHIN_S = 30.0
"""How long a round waits for a system that still works on requests of the round before."""


@dataclass(frozen=True)
class Work:
    """What components were seen to do: how many CPUs they kept busy, and how many requests their callers have left."""

    cpus: float
    left: int

    @property
    def is_none(self) -> bool:
        """Whether nothing was seen of it."""
        return self.cpus < BUSY_CPUS and not self.left

    def __str__(self) -> str:
        text = f"it kept {self.cpus:.1f} CPUs busy"
        return f"{text} and had {plural(self.left, 'request')} whose callers had left" if self.left else text


NOTHING = Work(0.0, 0)


def seen(
    pids: Collection[int],
    ports: Collection[int],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Work:
    """Return what is seen of all that descends from these processes, and of what listens at these ports, in a span."""
    began, before = clock(), _cpu_s(pids)
    pause(SPAN_S)
    return Work(max(_cpu_s(pids) - before, 0.0) / max(clock() - began, 1e-9), left_at(ports))


def once_done(look: Callable[[], Work], clock: Callable[[], float] = time.monotonic) -> Work:
    """Return what is last seen: nothing, as soon as nothing is, or what is still done when the wait is over."""
    until = clock() + WITHIN_S
    work = look()
    while not work.is_none and clock() < until:
        work = look()
    return work


def left_at(ports: Collection[int], network: Path = NETWORK) -> int:
    """Return how many connections to these ports of this machine were closed by their callers alone."""
    wanted = {f"{port:04X}" for port in ports}
    return sum(_is_left(line.split(), wanted) for name in ("tcp", "tcp6") for line in _lines(network / name))


def _lines(table: Path) -> list[str]:
    """Return the connections of a table of the kernel; none where it keeps no such table."""
    try:
        return table.read_text("utf-8", "replace").splitlines()[1:]
    except OSError:
        return []


def _is_left(fields: list[str], ports: Collection[str]) -> bool:
    """Whether a line (number, own address, other address, state, ...) is a connection that only its caller closed."""
    return fields[3] == CLOSED_BY_CALLER and fields[1].rpartition(":")[2] in ports


def _cpu_s(pids: Collection[int]) -> float:
    """Return the CPU time of all that descends from these processes; nothing of those that are gone."""
    taken = map(machine.seconds_below, pids)
    return sum(seconds for seconds in taken if not math.isnan(seconds))
