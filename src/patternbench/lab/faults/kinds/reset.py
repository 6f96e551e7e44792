"""Reset: the fault proxy resets both connections of a request in the middle of its answer."""

from __future__ import annotations

from patternbench.lab.faults.act import Act, Site
from patternbench.lab.faults.by_proxy import by_proxy
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, site: Site) -> Act:
    """By the proxies on the way."""
    return by_proxy(fault, name, site, percentage=fault.chosen.percentage.level)
