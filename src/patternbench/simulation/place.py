"""Where rounds are simulated: on all cores of this machine, several at once, each on one."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from patternbench.drivers.driver import DriverError, Task
from patternbench.drivers.simulated import NOWHERE, SimulatedDriver
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import at_capacity
from patternbench.records import inputs as copies
from patternbench.records.folder import RunFolder, digest
from patternbench.records.inputs import Inputs
from patternbench.records.journal import DONE, FAILED, Entry
from patternbench.records.stored import MeasuredCapacity
from patternbench.run.lanes.places import LaneTask, ReadyLanes
from patternbench.run.round import warnings
from patternbench.run.round.orders import RoundOrder, RoundResult
from patternbench.simulation.engine_model import acted, engine_model
from patternbench.simulation.model_file import SimulationModel
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.faults import by_name
from patternbench.study.models import Study
from patternbench.terms.problems import InputError

US_PER_S = 1e6
AHEAD = 4
"""How many orders are given for each core before the first result is taken, so that no core waits."""


class SimulatedExecutor:
    """Carries rounds out in simulated time, as many at once as there are ``cores``; results keep the order."""

    def __init__(self, folder: RunFolder, model: SimulationModel, cores: int = 0) -> None:
        self._folder, self._model = folder, model
        self._cores = cores or len(os.sched_getaffinity(0))

    def map(self, batches: Iterable[Iterable[RoundOrder]]) -> Iterator[RoundResult]:
        """Yield the result of each order, in their order; a batch is asked for when all before it are over."""
        pool = ThreadPoolExecutor(self._cores, thread_name_prefix="simulate")
        try:
            for batch in batches:
                yield from self._several(pool, batch)
        finally:
            pool.shutdown(cancel_futures=True)

    def _several(self, pool: ThreadPoolExecutor, batch: Iterable[RoundOrder]) -> Iterator[RoundResult]:
        begun: deque[Future[RoundResult]] = deque()
        for order in batch:
            begun.append(pool.submit(self.carry_out, order))
            if len(begun) > AHEAD * self._cores:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()

    def carry_out(self, order: RoundOrder) -> RoundResult:
        """Simulate a round. A failure is recorded in its entry."""
        known = (order.index, order.block, order.treatment.id, FAILED, order.file)
        blank, begun = Entry(*known, time.time(), 0.0), time.perf_counter()
        try:
            entry = self._simulated(order, blank)
        except (DriverError, InputError) as error:
            entry = replace(blank, seconds=time.perf_counter() - begun, cause=str(error))
        except OSError as error:
            entry = replace(blank, cause=f"the attempts could not be written: {error.strerror or error}")
        return RoundResult(entry, files=self._folder.files_of(entry.file), order=order.id)

    def _simulated(self, order: RoundOrder, blank: Entry) -> Entry:
        scenario = at_capacity(order.treatment, order.capacity)
        task = self._task(order, scenario)
        model = engine_model(self._model, scenario, task.warm_up, order.seed)
        file = self._folder.attempts_of(order.file)
        driven = SimulatedDriver(self._folder.load, self._folder.logs, model).drive(task, file)
        ended_us = task.warm_up.us + driven.lasted_us
        done = acted(scenario, task.warm_up, ended_us)
        entry = replace(blank, seconds=ended_us / US_PER_S, rows=driven.rows, cpu_seconds=driven.cpu_seconds)
        entry = replace(entry, faults=done)
        if driven.shortfall:
            return replace(entry, cause=driven.shortfall)
        found = [*(driven.warnings or []), *([] if driven.calls else [warnings.no_call()])]
        found += warnings.of_faults(by_name(scenario.faults), done, task.warm_up.us)
        return replace(entry, status=DONE, doubts=found, sha256=digest(file))

    def _task(self, order: RoundOrder, scenario: Scenario) -> Task:
        inputs = copies.by_hash(self._folder, order.inputs, Path(order.study_folder))
        limits = (order.time_limit, order.warm_up, order.seed, order.block)
        task = Task(scenario, (NOWHERE,), *limits, inputs, lateness=order.lateness)
        return replace(task, warm_up_on_top=order.warm_up_on_top)


@dataclass(frozen=True)
class SimulatedPlace:
    """The place of a run in simulated time."""

    model: SimulationModel
    cores: int = 0

    @contextmanager
    def ready(self, task: LaneTask) -> Iterator[ReadyLanes]:
        """Yield the only lane, which has no name."""
        yield ReadyLanes(SimulatedExecutor(task.folder, self.model, self.cores))

    def capacity(self, study: Study, plan: Plan, declared: DeclaredCapacity, inputs: Inputs) -> MeasuredCapacity:
        """Return the capacity of the model, which its rounds in simulated time show."""
        from patternbench.simulation.capacity import capacity_of  # noqa: PLC0415 - scipy is slow to load

        return capacity_of(self.model, study, plan, declared, inputs)
