"""What a container may use, as options of an engine's ``update``: a limit while it runs, and back to what it had.

Docker takes a limit of processors either as a number (``--cpus``) or as a quota per period, whichever the container was
made with, and knows only of the quota how to take it away. It can't take a limit of memory away: a container that had
none gets one of all the machine's memory, and as much swap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import psutil

PERIOD_US = 100_000
_NANO = 1_000_000_000
UNLIMITED = -1


@dataclass(frozen=True)
class ContainerLimits:
    """The limits of a container: ``nano_cpus`` or ``quota_us``, memory in bytes alone and with swap; 0: no limit."""

    nano_cpus: int = 0
    quota_us: int = 0
    period_us: int = 0
    memory: int = 0
    with_swap: int = 0


NO_LIMITS = ContainerLimits()


class Limit(Protocol):
    """A limit as options of ``update``, given the limits that a container has."""

    def options(self, now: ContainerLimits) -> list[str]:
        """Return the options that set it."""

    def back(self, before: ContainerLimits) -> list[str]:
        """Return the options that restore the limit of before."""


@dataclass(frozen=True)
class Cores:
    """A limit of CPU time, in processors."""

    cores: float

    def options(self, now: ContainerLimits) -> list[str]:
        """Return the options that set it."""
        return _cores(self.cores) if now.nano_cpus else _quota(PERIOD_US, round(self.cores * PERIOD_US))

    def back(self, before: ContainerLimits) -> list[str]:
        """Return the options that restore the limit of before."""
        if before.nano_cpus:
            return _cores(before.nano_cpus / _NANO)
        return _quota(before.period_us or PERIOD_US, before.quota_us or UNLIMITED)


@dataclass(frozen=True)
class Memory:
    """A limit of memory in bytes, without swap in addition."""

    size: int

    def options(self, now: ContainerLimits) -> list[str]:
        """Return the options that set it."""
        return ["--memory", str(self.size), "--memory-swap", str(self.size)]

    def back(self, before: ContainerLimits) -> list[str]:
        """Return the options that restore the limit of before."""
        memory = before.memory or psutil.virtual_memory().total
        # With swap without a limit, the kernel refuses the larger memory: it writes that first.
        return ["--memory", str(memory), "--memory-swap", str(before.with_swap or 2 * memory)]


def _cores(cores: float) -> list[str]:
    return ["--cpus", f"{cores:g}"]


def _quota(period_us: int, quota_us: int) -> list[str]:
    return ["--cpu-period", str(period_us), "--cpu-quota", str(quota_us)]
