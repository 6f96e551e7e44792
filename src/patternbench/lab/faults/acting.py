"""Who carries a fault out: the file of its kind, or else the fault proxies on its link."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from patternbench.lab.faults import kinds
from patternbench.lab.faults.act import Act, ActGroup, FaultSetup
from patternbench.lab.faults.by_proxy import by_proxy
from patternbench.lab.faults.replicas import at_each
from patternbench.study.faults import Fault


def act_of(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """Injects the fault with a name of its scenario, at each place of its ``where``."""
    acts = [_act(located, name, setup) for located in at_each(fault, setup.environment.groups)]
    return acts[0] if len(acts) == 1 else ActGroup(acts)


def _act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    module = f"{kinds.__name__}.{fault.kind}"
    if find_spec(module) is None:
        return by_proxy(fault, name, setup, **fault.chosen.at_proxy)
    act: Act = import_module(module).act(fault, name, setup)
    return act
