"""CPU limit: the engine of its containers changes what a service may use, and changes it back."""

from __future__ import annotations

from patternbench.lab.containers.limits import Cores
from patternbench.lab.faults.act import Act, Site
from patternbench.lab.faults.in_containers import limited
from patternbench.study.faults import Fault


def act(fault: Fault, name: str, site: Site) -> Act:
    """By the engine of its containers."""
    return limited(fault, site, Cores(fault.chosen.cores.level))
