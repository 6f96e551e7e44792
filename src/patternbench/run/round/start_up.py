"""The warm-up of what was started, apart from a round's: a few users take the round's journeys before it begins.

A round's own warm-up offers the round's load. A service that has just started may be unable to carry that: what piles
up then is still there when measuring begins.
"""

from __future__ import annotations

from dataclasses import replace

from patternbench.drivers.driver import Task
from patternbench.plan.scenarios import Scenario
from patternbench.study.model.levels import Levels
from patternbench.study.models import AfterStart, Strategy
from patternbench.study.workload.policies import Baseline
from patternbench.study.workload.workloads import Closed
from patternbench.terms.units import Duration

LAST_CALL = Duration.parse("10s")
"""How long the one call may take that ends it: calls of a warm-up end nothing."""


def task_of(task: Task, scenario: Scenario, calls: AfterStart) -> Task:
    """Return the task that warms what was started for a round's task: without a pattern, and no one hears of it."""
    closed = Closed.model_validate({"users": calls.users, "think_time": calls.think_time, "calls": 1})
    workload = scenario.workload.model_copy(update={"open": None, "closed": closed})
    strategy = Strategy(client=Levels.one(scenario.client), baseline=Baseline())
    return replace(
        task,
        treatment=replace(scenario, workload=workload, strategy=strategy),
        warm_up=calls.at_most,
        warm_up_requests=calls.requests,
        settles=False,
        warm_up_on_top=False,
        time_limit=Duration(calls.at_most.us + LAST_CALL.us),
        generators=1,
        on_progress=lambda _: None,
        begun=lambda _: None,
    )
