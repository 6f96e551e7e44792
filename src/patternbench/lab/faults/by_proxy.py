"""Faults on a link, injected by its fault proxies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.faults.admin import Admin, ProxyCounters
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import Fault
from patternbench.terms.units import NS_PER_US


@dataclass(frozen=True)
class ProxyFault:
    """A fault that proxies act: it has begun, or ended, when all of them say so."""

    name: str
    order: dict[str, object]
    admins: Sequence[Admin]

    def begin(self) -> int:
        """Tell every proxy; the last one's moment counts."""
        return max([admin.begin(self.name, self.order) for admin in self.admins])

    def end(self) -> tuple[int, FaultCounters]:
        """Tell every proxy; the last one's moment counts, and what all of them did."""
        ended = [admin.end(self.name) for admin in self.admins]
        return max(moment for moment, _ in ended), _together([one for _, one in ended])


def by_proxy(fault: Fault, name: str, setup: FaultSetup, **settings: object) -> Act:
    """Return a fault on a link, with its settings in the proxy's form. Raises StartError if the link has no proxy."""
    admins = setup.proxies(fault)
    if not admins:
        raise StartError(f"there is no fault proxy at {fault.where}, so {fault.kind} cannot be injected there")
    return ProxyFault(name, {fault.kind: settings}, admins)


def _together(all_counters: Sequence[ProxyCounters]) -> FaultCounters:
    """Return the effects at several proxies: requests add up, and the latest release of a request counts."""
    late = [one.late for one in all_counters if one.late]
    counters: dict[str, float] = {"requests": sum(one.requests for one in all_counters)}
    if late:
        counters["late_mean_us"] = max(times.mean_ns for times in late) / NS_PER_US
        counters["late_max_us"] = max(times.max_ns for times in late) / NS_PER_US
    return counters
