"""Drives the search for the rate that a service takes: one system up, one round of open load after another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from patternbench.analyze.load.rate_search import RateObjective, RateStep
from patternbench.analyze.metrics import round_metrics
from patternbench.drivers import engine, jobs
from patternbench.drivers.driver import Task
from patternbench.lab import systems
from patternbench.lab.environment import Environment
from patternbench.lab.faults import links
from patternbench.lab.faults.schedule import FaultSchedule
from patternbench.lab.host.accounts import scratch
from patternbench.plan.expand import expand
from patternbench.plan.scenarios import Scenario
from patternbench.records import attempts
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import ATTEMPTS, LoadSummary
from patternbench.run.before import preflight
from patternbench.run.round.fixture import RoundFixture
from patternbench.run.single.subjects import checked
from patternbench.study.load import StudyFile
from patternbench.study.model.levels import Levels
from patternbench.study.model.system import Endpoint
from patternbench.study.models import Study
from patternbench.study.text.places import LITERAL
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration
from patternbench.terms.urls import encoded


@dataclass(frozen=True)
class RateRound:
    """One round of the search: its missed share, median and p95 (s), and why it isn't a result, if so."""

    step: RateStep
    p50: float
    p95: float
    doubt: str


@dataclass
class RateFixture:
    """A system that is up, and the load that is put on it at any rate."""

    scenario: Scenario
    targets: tuple[Endpoint, ...]
    fixture: RoundFixture
    environment: Environment
    study: Study
    duration: Duration
    objective: RateObjective
    folder: Path
    number: int = 0

    def measure(self, rate: float) -> RateRound:
        """One round at this rate (calls per second). Raises DriverError if it can't be driven."""
        self.number += 1
        seed = self.study.seed * 1_000_003 + self.number
        limit, warm_up = Duration(self.duration.us * 2 + self.study.time_limit.us), self.study.longest_warm_up
        schedule = FaultSchedule(self.scenario.faults, self.environment)
        task = Task(
            self._at(rate), self.targets, limit, warm_up, seed, self.number, self.fixture.inputs, self.fixture.dead
        )
        task = replace(task, begun=schedule.start, generators=self.study.generators)
        task = engine.set_up(task, self.folder)
        out = self.folder / f"{self.number:03d}"
        with schedule:
            summary = engine.run(jobs.job(task).job, out, self.folder, task.died, engine.telling(task))
        return self._round(rate, out, summary)

    def _at(self, rate: float) -> Scenario:
        workload = self.scenario.workload
        assert workload.open is not None
        requested = {
            "rate": Levels.one(rate),
            "duration": Levels.one(self.duration),
            "arrivals": None,
            "schedule": None,
        }
        arrivals = workload.open.model_copy(update=requested)
        return replace(self.scenario, workload=workload.model_copy(update={"open": arrivals}))

    def _round(self, rate: float, out: Path, summary: LoadSummary) -> RateRound:
        frame = attempts.read(out / ATTEMPTS)
        length_s = self.duration.seconds
        metrics = round_metrics(frame, self.objective.seconds, length_s)
        any_time = round_metrics(frame, length_s=length_s)
        calls, good = int(metrics["TotalCalls"]), metrics["SuccessfulCalls"]
        within = round(good * metrics["goodput"] / any_time["goodput"]) if good else 0
        doubt = next((doubt.message for doubt in summary.doubts if doubt.invalidates), self._why_ended_early(summary))
        return RateRound(RateStep(rate, calls, max(calls - within, 0)), metrics["p50"], metrics["p95"], doubt)

    def _why_ended_early(self, summary: LoadSummary) -> str:
        """Return why a round was ended before its time, if it was; its few calls say little of its rate."""
        if not summary.interrupted:
            return ""
        return f"the round was ended early: {'; '.join(self.fixture.dead()) or 'it was interrupted'}"


@contextmanager
def rate_fixture(requested: StudyFile, duration: Duration, objective: RateObjective) -> Iterator[RateFixture]:
    """Yield the system of an open study, or a URL, up and ready for rounds; everything is down on leaving."""
    study, inputs = requested.study(), Inputs(requested.study_folder)
    with requested.placed():
        scenario = _one_scenario(study)
        preflight.check_system(study, inputs)
    with scratch("patternbench-capacity-") as folder, RoundFixture(folder, inputs) as fixture:
        file = systems.file_of(scenario.system, inputs.study_folder)
        environment = fixture.environment(scenario.system, file, tuple(links.of_scenario(study, scenario.system, file)))
        targets = scenario.system.endpoints() or tuple(map(Endpoint, environment.targets))
        yield RateFixture(scenario, targets, fixture, environment, study, duration, objective, folder)


def of_url(url: str) -> StudyFile:
    """Return a study of one URL: ``GET`` of its path, at the rates of the search."""
    parts = checked(url, "URL")
    plain = encoded((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
    path = plain.replace("${", LITERAL)  # a URL is sent as it is, nothing in it is filled in
    study = {
        "patternbench": 1,
        "name": "capacity",
        "system": {"urls": [f"{parts.scheme}://{parts.netloc}"], "ready": encoded(parts.path or "/")},
        "warm_up": "1s",
        "workload": {"open": {"rate": 1, "duration": "1s", "in_flight": 10_000}, "request": {"path": path}},
        "strategies": [{"client": "native", "baseline": {}}],
    }
    return StudyFile(url, json.dumps(study), Path.cwd())


def _one_scenario(study: Study) -> Scenario:
    """Return the only scenario, whose rate is searched instead of given; raises InputError when that is not so."""
    scenarios = expand(study).scenarios
    if len(scenarios) > 1:
        allowed = "one scenario; give each field one value"
        raise InputError(Problem(f"the study has {len(scenarios)} scenarios", path="workload", allowed=allowed))
    (scenario,) = scenarios
    if scenario.workload.open is None or scenario.client != "native":
        raise InputError(Problem("has no rate to search", path="workload", allowed="`open`, by client native"))
    return scenario
