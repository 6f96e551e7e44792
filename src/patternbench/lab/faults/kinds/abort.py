"""Abort: Envoy or the fault proxy answers in the service's place."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, Site
from patternbench.lab.faults.by_envoy import ByEnvoy
from patternbench.lab.faults.by_proxy import by_proxy
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, site: Site) -> Act:
    """By the proxies on the link, where there are any, else by Envoy."""
    if not site.proxies(fault):
        return ByEnvoy(fault, site)
    abort = fault.chosen
    return by_proxy(fault, name, site, percentage=abort.percentage.level, status=abort.status.level)
