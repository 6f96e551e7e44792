"""Finds the few numbers of a model that a run shows only indirectly, by simulating the rounds that are used.

Given the times at the lowest load, what is left open is how many workers there are, which part of the times is the
network's round trip (it takes no worker), how much longer work takes on several requests at once, and how much of the
times at the lowest load was already waiting. For each number of workers that is possible, Nelder and Mead's method
looks for the other three, which bring simulated quantiles nearest to the measured ones. Every trial simulates with the
same seeds (common random numbers), so that it differs from the others by its numbers alone.

Source: Nelder and Mead, A simplex method for function minimization, The Computer Journal 7 (1965).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import optimize

from patternbench.drivers import choice
from patternbench.drivers.driver import Task
from patternbench.drivers.simulated import NOWHERE, job, run, without_answers
from patternbench.plan.scenarios import Scenario
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import LoadSummary
from patternbench.simulation.engine_model import engine_model
from patternbench.simulation.model_file import SimulationModel
from patternbench.study.models import Study
from patternbench.terms.arrays import Floats

TRIALS = 40
"""How many trials each number of workers gets at most."""
MOST_OF_SHORTEST = 0.95
"""Which part of the shortest time may be the network's round trip."""
MOST_SLOWDOWN = 4.0
_START = (0.0, 0.3, 0.0)
_STEPS = ((0.03, 0.3, 0.0), (0.0, 0.6, 0.0), (0.0, 0.3, 0.15))
FEWEST_ROUNDS = 2
"""How many rounds of each scenario a trial simulates."""
CLEARLY = 1.1
"""How many times as far off the second best number of workers must be for the best one to be known."""


@dataclass(frozen=True)
class ObservedScenario:
    """What the rounds of a scenario came to, on a log scale: quantiles of response times, and successes per second."""

    scenario: Scenario
    logs: Floats


@dataclass(frozen=True)
class Numbers:
    """The numbers of a model that are looked for.

    ``scale`` is a factor of the times at the lowest load, ``rtt`` the part of the shortest of them that is the
    network's round trip, ``slowdown`` how much longer a request takes when all workers are busy (0: not at all).
    """

    workers: int
    scale: float
    rtt: float
    slowdown: float


@dataclass(frozen=True)
class FittedNumbers:
    """The best numbers, how far off they are (the root of the mean square of logs), and whether workers are known."""

    numbers: Numbers
    error: float
    workers_known: bool


Build = Callable[[Numbers], SimulationModel]
"""Makes the model of some numbers."""


def observed(scenario: Scenario, summaries: Sequence[LoadSummary]) -> ObservedScenario:
    """Return what the rounds of a scenario came to, their mean on a log scale."""
    return ObservedScenario(scenario, np.nanmean([logs_of(one) for one in summaries], axis=0))


def logs_of(summary: LoadSummary) -> Floats:
    """Return the logs of p50, p90 and p99 of response times and of successes per second; NaN where there are none."""
    goodput = summary.successes / summary.duration_s if summary.duration_s > 0 else 0.0
    times = summary.response_ms
    values = np.array([value or np.nan for value in (times.p50, times.p90, times.p99, goodput)], dtype=float)
    logs: Floats = np.log(values)
    return logs


def fit(candidates: Sequence[int], build: Build, trials: Trials) -> FittedNumbers:
    """Return the best numbers over all candidates of workers."""
    found = sorted((_best(workers, build, trials) for workers in candidates), key=lambda one: one.error)
    best = found[0]
    known = len(found) > 1 and found[1].error > CLEARLY * best.error
    return replace(best, workers_known=known)


def _best(workers: int, build: Build, trials: Trials) -> FittedNumbers:
    """Return the best numbers for a number of workers."""

    def error(x: Floats) -> float:
        return trials.error(build(numbers_of(workers, x)))

    simplex = np.array([_START, *_STEPS])
    bounds = [(-0.7, 0.3), (0.0, MOST_OF_SHORTEST), (0.0, MOST_SLOWDOWN)]
    found = optimize.minimize(
        error,
        np.array(_START),
        method="Nelder-Mead",
        bounds=bounds,
        options={"maxfev": TRIALS, "initial_simplex": simplex, "xatol": 0.005, "fatol": 1e-4},
    )
    return FittedNumbers(numbers_of(workers, found.x), float(found.fun), workers_known=False)


def numbers_of(workers: int, x: Floats) -> Numbers:
    """Return the numbers at a point of the search."""
    return Numbers(workers, float(np.exp(x[0])), float(x[1]), float(x[2]))


@dataclass(frozen=True)
class Trials:
    """Simulates the used scenarios with any model, on all cores, always with the same seeds."""

    study: Study
    inputs: Inputs
    seen: Sequence[ObservedScenario]
    rounds: int = FEWEST_ROUNDS

    def error(self, model: SimulationModel) -> float:
        """How far a model is off: the root of the mean square of the differences of all logs."""
        apart = np.array([mine - one.logs for mine, one in zip(self.logs(model), self.seen, strict=True)])
        return float(np.sqrt(np.nanmean(apart**2)))

    def logs(self, model: SimulationModel) -> list[Floats]:
        """Return what the scenarios come to with a model."""
        rounds = [(one.scenario, number) for one in self.seen for number in range(self.rounds)]
        with TemporaryDirectory(prefix="patternbench-fit-") as scratch, ThreadPoolExecutor(_cores()) as pool:
            found = list(pool.map(lambda one: self._logs(model, one[0], one[1], Path(scratch)), rounds))
        each = [found[at : at + self.rounds] for at in range(0, len(found), self.rounds)]
        return [np.nanmean(of_it, axis=0) for of_it in each]

    def _logs(self, model: SimulationModel, scenario: Scenario, number: int, scratch: Path) -> Floats:
        seed = number + 1
        task = without_answers(self._task(scenario, seed))
        driven = {**job(task), "log_attempts": False}
        out = scratch / f"{scenario.id}-{number}"
        return logs_of(run(driven, engine_model(model, scenario, task.warm_up, seed), out, scratch))

    def _task(self, scenario: Scenario, seed: int) -> Task:
        limits = (self.study.time_limit, self.study.longest_warm_up, seed, 0)
        task = Task(scenario, (NOWHERE,), *limits, self.inputs)
        return replace(task, warm_up_on_top=choice.adds_warm_up(self.study))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def candidates(busiest_per_s: float, mean_s: float, reached: bool) -> list[int]:
    """Return the numbers of workers to try: by Little's law, the requests that were worked on at once at the busiest.

    Where no level of load ``reached`` the capacity there may be any number above it.
    """
    busy = max(busiest_per_s * mean_s, 0.5)
    if reached:
        return sorted({max(1, round(busy) + more) for more in (-2, -1, 0, 1)})
    least = max(1, int(np.ceil(busy)))
    return sorted({least, least + 1, round(1.5 * least) + 1, 2 * least + 1, 4 * least})
