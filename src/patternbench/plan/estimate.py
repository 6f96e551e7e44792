"""How long a run will take, roughly, before anything has been measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from patternbench.plan.scenarios import Scenario
from patternbench.study.faults import Fault
from patternbench.study.model.levels import only
from patternbench.study.models import Strategy
from patternbench.study.workload import depends
from patternbench.study.workload.journeys import Journey, Step
from patternbench.study.workload.workloads import Closed
from patternbench.terms.units import Duration

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
    if workload.closed:
        return _counted(scenario, workload.closed)
    steps = workload.open.schedule.steps if workload.open and workload.open.schedule else None
    return sum(step.for_.level.seconds for step in steps) if steps else UNKNOWN_S


def _counted(scenario: Scenario, closed: Closed) -> float:
    """Return the duration of a closed workload that ends by a count of each user's calls."""
    together, journeys = (only(closed.calls) or 0) / closed.users.level, only(closed.journeys) or 0
    each = _journey(scenario) if journeys else JourneyEstimate(1, 0.0)
    calls = only(closed.successes) or only(closed.requests) or journeys * each.calls or together
    share = min(_failing(scenario.faults) / 100, LARGEST_FAULT)
    failures = calls * share / (1 - share)
    alone = (calls + failures) * ATTEMPT_S + failures * _pause(scenario.strategy)
    crowded = closed.users.level * calls / CAPACITY_PER_S
    return max(alone, crowded) + closed.think_time.level.seconds * (journeys or calls) + journeys * each.paused_s


class JourneyEstimate(NamedTuple):
    """A guess of what one journey takes: its calls, and the pauses of its steps in seconds."""

    calls: float
    paused_s: float


def _journey(scenario: Scenario) -> JourneyEstimate:
    """Return what a journey of a scenario takes: the mean of those that it may be."""
    workload, values = scenario.workload, depends.texts(scenario.system, scenario.workload)
    listed = [workload.journey] if workload.journey else workload.journeys or []
    walked = [_walked(journey, values) for _, journey in depends.remaining(listed, values)]
    count = len(walked)
    return (
        JourneyEstimate(*(sum(parts) / count for parts in zip(*walked, strict=True)))
        if count
        else JourneyEstimate(1, 0.0)
    )


def _walked(journey: Journey, values: Mapping[str, str]) -> JourneyEstimate:
    """Return what the steps of one journey take together."""
    made: dict[str, int] = {}
    calls, paused_s = 0, 0.0
    for step in journey.steps:
        if depends.applies(step.when, values):
            often = _often(step, made, values)
            made |= dict.fromkeys(step.capture or {}, often)
            calls, paused_s = (
                calls + often,
                paused_s + often * (depends.duration(only(step.pause), values) or Duration(0)).seconds,
            )
    return JourneyEstimate(calls, paused_s)


def _often(step: Step, made: Mapping[str, int], values: Mapping[str, str]) -> int:
    """Return how often a step is taken; for each captured value, as often as the step that captures it."""
    if step.for_each is not None:
        captured = made.get(step.for_each.of, 1)
        return min(captured, step.for_each.at_most or captured)
    repeat = depends.whole(only(step.repeat), values)
    return repeat if isinstance(repeat, int) else 1


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
