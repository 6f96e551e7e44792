"""How long a run will take, roughly, before anything has been measured."""

from __future__ import annotations

from patternbench.plan.scenarios import Scenario
from patternbench.study.faults import Fault
from patternbench.study.model.levels import only
from patternbench.study.models import Strategy
from patternbench.study.workload.workloads import Closed

ATTEMPT_S = 0.02
"""Duration of an attempt without queueing: a guess for a small service on one machine."""
CAPACITY_PER_S = 600.0
"""Attempts that such a service answers per second at most: also a guess."""
OVERHEAD_S = 0.1
"""Time between two rounds on a system that stays up."""
CHANGEOVER_S = 1.0
"""Additional time before a round for which components are started, all at once: also a guess."""
UNKNOWN_S = 30.0
"""Duration of a schedule whose length is only in its file: a guess."""
LARGEST_FAULT = 0.99


def seconds(scenarios: tuple[Scenario, ...], rounds: int, warming_s: float, reconfigurations: int = 0) -> float:
    """Return a guess of the whole run's duration in seconds: attempts needed, at the guessed pace, plus back-off.

    ``warming_s`` is how long all warm-ups take together, ``reconfigurations`` is how many rounds components are started
    for.
    """
    durations_s = (round_seconds(one) + OVERHEAD_S for one in scenarios)
    return sum(durations_s) * rounds + warming_s + reconfigurations * CHANGEOVER_S


def round_seconds(scenario: Scenario) -> float:
    """Return a guess of one round's duration in seconds."""
    workload = scenario.workload
    lasting = only(workload.lasting)
    if lasting:
        return lasting.seconds
    return _counted(scenario, workload.closed) if workload.closed else UNKNOWN_S


def _counted(scenario: Scenario, closed: Closed) -> float:
    """Return the duration of a closed workload that ends by a count of each user's calls."""
    together = (only(closed.calls) or 0) / closed.users.level
    calls = only(closed.successes) or only(closed.requests) or only(closed.journeys) or together
    share = min(_failing(scenario.faults) / 100, LARGEST_FAULT)
    failures = calls * share / (1 - share)
    alone = (calls + failures) * ATTEMPT_S + failures * _pause(scenario.strategy)
    crowded = closed.users.level * calls / CAPACITY_PER_S
    return max(alone, crowded) + closed.think_time.level.seconds * calls


def _failing(faults: tuple[Fault, ...]) -> float:
    return sum((float(fault.chosen.failing) for fault in faults if not fault.when), 0.0)


def _pause(strategy: Strategy) -> float:
    """Return the wait after a failure in seconds: the first back-off, or half of the time that a breaker is open."""
    stack = strategy.stack or []
    breaker = strategy.circuit_breaker or next((one.circuit_breaker for one in stack if one.circuit_breaker), None)
    if breaker:
        return breaker.open_for.level.seconds / 2
    retry = strategy.retry or next((one.retry for one in stack if one.retry), None)
    return retry.backoff.first.level.seconds if retry else 0.0
