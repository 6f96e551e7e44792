"""Partition: the fault proxies between two components pass nothing on."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, Site
from patternbench.lab.faults.by_proxy import by_proxy
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, site: Site) -> Act:
    """By the proxies on the way."""
    return by_proxy(fault, name, site)
