"""Shares of the capacity as rates: what a scenario is when it runs, and whether a plan has shares at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from patternbench.plan.scenarios import Scenario
from patternbench.study.model.levels import Levels, only
from patternbench.study.model.share import ShareOfCapacity
from patternbench.study.workload.workloads import Arrivals, Group, Workload

_DIGITS = 3
ASSUMED = 100.0
"""The capacity, per second, with which rounds are only checked."""


def at_capacity(scenario: Scenario, capacity: float | None) -> Scenario:
    """Return a scenario whose shares are rates; one without shares as it is. Raises ValueError without a capacity."""
    if not has_shares(scenario):
        return scenario
    if capacity is None:
        raise ValueError("a share of a capacity that is not known")
    return replace(scenario, workload=_with_rates(scenario.workload, capacity))


def has_shares(scenario: Scenario) -> bool:
    """Whether a rate of a scenario is a share of the capacity."""
    workload = scenario.workload
    every = [workload.open, *(group.open for group in workload.groups or [])]
    return any(one is not None and isinstance(only(one.rate), ShareOfCapacity) for one in every)


def any_shares(scenarios: Iterable[Scenario]) -> bool:
    """Whether a rate of any scenario is a share of the capacity."""
    return any(map(has_shares, scenarios))


def _with_rates(workload: Workload, capacity: float) -> Workload:
    groups = [_group(group, capacity) for group in workload.groups or []]
    opened = workload.open and _arrivals(workload.open, capacity)
    return workload.model_copy(update={"open": opened, "groups": groups or None})


def _group(group: Group, capacity: float) -> Group:
    return group.model_copy(update={"open": _arrivals(group.open, capacity)}) if group.open else group


def _arrivals(arrivals: Arrivals, capacity: float) -> Arrivals:
    share = only(arrivals.rate)
    if not isinstance(share, ShareOfCapacity):
        return arrivals
    return arrivals.model_copy(update={"rate": Levels.one(round(share.of(capacity), _DIGITS))})
