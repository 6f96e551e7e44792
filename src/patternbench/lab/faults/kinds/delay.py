"""Delay: Envoy holds requests back for whole milliseconds, the fault proxy for microseconds."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, FaultSetup
from patternbench.lab.faults.by_envoy import EnvoyFault
from patternbench.lab.faults.by_proxy import by_proxy
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By the proxies on the link, where there are any, else by Envoy."""
    if not setup.proxies(fault):
        return EnvoyFault(fault, setup)
    delay = fault.chosen
    held = {"duration_us": delay.duration.level.us, "spread_us": delay.spread.level.us if delay.spread else 0}
    return by_proxy(fault, name, setup, percentage=delay.percentage.level, **held)
