"""The capacity of a model: the same search for the highest rate as on a system, with rounds in simulated time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from patternbench.analyze.load.rate_search import RateObjective
from patternbench.drivers.driver import DriverError, Task
from patternbench.drivers.load import JobError
from patternbench.drivers.simulated import NOWHERE, job, of_the_model, run, without_answers
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import Scenario
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import LoadSummary
from patternbench.records.stored import MeasuredCapacity
from patternbench.run.single import capacity_of_run
from patternbench.run.single.rate_rounds import RateRound, as_round, at_rate
from patternbench.simulation.engine_model import engine_model
from patternbench.simulation.model_file import SimulationModel
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.models import Study
from patternbench.terms.units import Duration


@dataclass
class SimulatedRates:
    """A scenario of a model at any rate; each round has a seed of its own, the same in each search."""

    scenario: Scenario
    model: SimulationModel
    study: Study
    inputs: Inputs
    duration: Duration
    objective: RateObjective
    folder: Path
    number: int = 0

    def measure(self, rate: float) -> RateRound:
        """One round at this rate (calls per second). Raises DriverError or JobError if it can't be simulated."""
        self.number += 1
        scenario = at_rate(self.scenario, rate, self.duration)
        task = without_answers(self._task(scenario))
        out = self.folder / f"{self.number:03d}"
        model = engine_model(self.model, scenario, task.warm_up, task.seed)
        summary = of_the_model(run(job(task), model, out, self.folder))
        return as_round(rate, out, self.duration, self.objective, _doubt(summary))

    def _task(self, scenario: Scenario) -> Task:
        seed = self.study.seed * 1_000_003 + self.number
        limit = Duration(self.duration.us * 2 + self.study.time_limit.us)
        return Task(scenario, (NOWHERE,), limit, self.study.longest_warm_up, seed, self.number, self.inputs)


def _doubt(summary: LoadSummary) -> str:
    """Return why a round isn't a result, if so."""
    return next((warning.message for warning in summary.doubts if warning.invalidates), "")


def capacity_of(
    model: SimulationModel, study: Study, plan: Plan, declared: DeclaredCapacity, inputs: Inputs
) -> MeasuredCapacity:
    """Return the capacity of a model, that of its first scenario without faults and without a pattern.

    A note says why there is none.
    """
    asked, scenario = capacity_of_run.asked_of(declared), capacity_of_run.bare(plan.scenarios[0])
    with TemporaryDirectory(prefix="patternbench-capacity-") as folder:
        parts = (declared.duration, asked.objective, Path(folder))
        try:
            return capacity_of_run.searched(SimulatedRates(scenario, model, study, inputs, *parts), asked)
        except (DriverError, JobError) as error:
            return MeasuredCapacity(rate=None, note=str(error))
