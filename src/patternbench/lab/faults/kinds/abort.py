"""Abort: Envoy or the fault proxy answers in the service's place."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, FaultSetup
from patternbench.lab.faults.by_envoy import EnvoyFault
from patternbench.lab.faults.by_proxy import by_proxy
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By the proxies on the link, where there are any, else by Envoy."""
    if not setup.proxies(fault):
        return EnvoyFault(fault, setup)
    abort = fault.chosen
    return by_proxy(fault, name, setup, percentage=abort.percentage.level, status=abort.status.level)
