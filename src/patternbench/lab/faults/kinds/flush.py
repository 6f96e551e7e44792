"""Flush: a cache is told to remove all its keys; it is filled again by those who use it."""

from __future__ import annotations

from dataclasses import dataclass, field

from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.faults.cache import CacheConnection
from patternbench.study.faults import Fault


@dataclass
class CacheFlush:
    """A cache; after the command, when all keys were gone and how many they were."""

    name: str
    url: str
    setup: FaultSetup
    _gone: tuple[int, FaultCounters] | None = field(default=None, init=False)

    def begin(self) -> int:
        """Tell it; returns the moment just before, so that the first request that finds nothing comes after it."""
        with CacheConnection(self.name, self.url) as cache:
            began = self.setup.clock()
            keys = cache.flushed()
        self._gone = (self.setup.clock(), {"keys": keys})
        return began

    def end(self) -> tuple[int, FaultCounters]:
        """Return when all keys were gone, and how many: there is nothing to undo."""
        return self._gone or (self.setup.clock(), {})


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By a command to the cache, at the address that its users have."""
    return CacheFlush(fault.where, setup.environment.running[fault.where].url, setup)
