"""A fault while a round runs: it begins and ends, and records when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from patternbench.lab.environment import Environment
from patternbench.lab.faults.admin import Admin
from patternbench.lab.faults.links import links_of
from patternbench.lab.host.processes import StartError
from patternbench.lab.topologies import proxy_name
from patternbench.study.faults import Fault

FaultCounters = Mapping[str, float]
"""The effects of a fault, as far as its injector counts them: numbers by name."""
LATE = "late_"
"""How the names of counters begin that tell how much too late something happened."""


class Act(Protocol):
    """A fault of a round. Times are nanoseconds of the machine's monotonic clock, read by the one who acts."""

    def begin(self) -> int:
        """Let it act; returns the moment from which it does. Raises StartError when it cannot."""

    def end(self) -> tuple[int, FaultCounters]:
        """Undo it; returns the moment from which it is undone, and what it did. Raises StartError when it cannot."""


@dataclass
class FaultSetup:
    """Where the faults of a round act: a system that is up. ``clock`` is monotonic, in nanoseconds."""

    environment: Environment
    clock: Callable[[], int]
    by_envoy: list[Fault] = field(default_factory=list)
    """The faults that Envoy injects at the moment; it gets all of them at once."""
    _admins: dict[str, Admin] = field(default_factory=dict)

    def proxies(self, fault: Fault) -> list[Admin]:
        """Return the proxies on the links that a fault acts on."""
        proxied = links_of(fault, self.environment.links)
        return [self._admin(proxy_name(link), url) for link in proxied for url in self.environment.proxies(link)]

    def _admin(self, name: str, url: str) -> Admin:
        if url not in self._admins:
            self._admins[url] = Admin(name, url)
        return self._admins[url]

    def leave(self) -> None:
        """Close what was opened; the proxies end what faults are left."""
        for admin in self._admins.values():
            admin.close()
        self._admins.clear()


@dataclass(frozen=True)
class ActGroup:
    """A fault at several replicas: it has begun, or ended, when it has at all of them."""

    acts: Sequence[Act]

    def begin(self) -> int:
        """Let all act; the last one's moment counts."""
        return max([act.begin() for act in self.acts])

    def end(self) -> tuple[int, FaultCounters]:
        """Undo all, also where one of them fails; what they did adds up, and of what was late the latest counts."""
        moments, all_counters, failures = [], list[FaultCounters](), list[str]()
        for act in self.acts:
            try:
                moment, counters = act.end()
            except StartError as error:
                failures.append(str(error))
                continue
            moments.append(moment)
            all_counters.append(counters)
        if failures:
            raise StartError("; ".join(failures))
        return max(moments), _added(all_counters)


def _added(all_counters: Sequence[FaultCounters]) -> FaultCounters:
    names = dict.fromkeys(name for counters in all_counters for name in counters)
    numbers = {name: [counters[name] for counters in all_counters if name in counters] for name in names}
    return {name: max(values) if name.startswith(LATE) else sum(values) for name, values in numbers.items()}
