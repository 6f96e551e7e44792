"""Drives the search for the rate that a service takes: one system up, one round of open load after another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from patternbench.analyze import unanswered
from patternbench.analyze.load.rate_search import Limits, RateObjective, RateStep, search
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


class MeasuresRates(Protocol):
    """Something that load can be put on at any rate."""

    def measure(self, rate: float) -> RateRound:
        """One round at this rate (calls per second). Raises DriverError if it can't be driven."""


@dataclass
class RateFixture:
    """A system that is up, and the load that is put on it at any rate.

    ``renewed`` gives the system as the next round of a run would find it, done with the round before.
    """

    scenario: Scenario
    targets: tuple[Endpoint, ...]
    fixture: RoundFixture
    renewed: Callable[[], Environment]
    environment: Environment
    study: Study
    duration: Duration
    objective: RateObjective
    folder: Path
    number: int = 0

    def measure(self, rate: float) -> RateRound:
        """One round at this rate (calls per second). Raises DriverError if it can't be driven."""
        if self.number:
            self._renew()
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
        self.fixture.unfinished = _unfinished(out)
        return self._round(rate, out, summary)

    def _renew(self) -> None:
        """Have the system done with the round before: what that left waiting would count against the next rate."""
        self.environment = self.renewed()
        self.targets = _targets(self.scenario, self.environment)

    def _at(self, rate: float) -> Scenario:
        return at_rate(self.scenario, rate, self.duration)

    def _round(self, rate: float, out: Path, summary: LoadSummary) -> RateRound:
        why = next((warning.message for warning in summary.doubts if warning.invalidates), "")
        return as_round(rate, out, self.duration, self.objective, why or self._why_ended_early(summary))

    def _why_ended_early(self, summary: LoadSummary) -> str:
        """Return why a round was ended before its time, if it was; its few calls say little of its rate."""
        if not summary.interrupted:
            return ""
        return f"the round was ended early: {'; '.join(self.fixture.dead()) or 'it was interrupted'}"


def at_rate(scenario: Scenario, rate: float, duration: Duration) -> Scenario:
    """Return a scenario of an open workload at another rate, for another time."""
    workload = scenario.workload
    assert workload.open is not None
    requested = {"rate": Levels.one(rate), "duration": Levels.one(duration), "arrivals": None, "schedule": None}
    arrivals = workload.open.model_copy(update=requested)
    return replace(scenario, workload=workload.model_copy(update={"open": arrivals}))


def as_round(rate: float, out: Path, duration: Duration, objective: RateObjective, doubt: str) -> RateRound:
    """Return what the attempts of a round in a folder come to; ``doubt`` says why it isn't a result, if so."""
    frame, length_s = attempts.read(out / ATTEMPTS), duration.seconds
    metrics = round_metrics(frame, objective.seconds, length_s)
    any_time = round_metrics(frame, length_s=length_s)
    calls, good = int(metrics["TotalCalls"]), metrics["SuccessfulCalls"]
    within = round(good * metrics["goodput"] / any_time["goodput"]) if good else 0
    return RateRound(RateStep(rate, calls, max(calls - within, 0)), metrics["p50"], metrics["p95"], doubt)


@contextmanager
def rate_fixture(requested: StudyFile, duration: Duration, objective: RateObjective) -> Iterator[RateFixture]:
    """Yield the system of an open study, or a URL, up and ready for rounds; everything is down on leaving."""
    study, inputs = requested.study(), Inputs(requested.study_folder)
    with requested.placed():
        scenario = _one_scenario(study)
        preflight.check_system(study, inputs)
    with fixture_of(study, inputs, scenario, duration, objective) as up:
        yield up


@contextmanager
def fixture_of(
    study: Study, inputs: Inputs, scenario: Scenario, duration: Duration, objective: RateObjective
) -> Iterator[RateFixture]:
    """Yield the system of a scenario, up and ready for rounds at any rate; everything is down on leaving."""
    with scratch("patternbench-capacity-") as folder, RoundFixture(folder, inputs) as fixture:
        file = systems.file_of(scenario.system, inputs.study_folder)
        proxied = tuple(links.of_scenario(study, scenario.system, file))
        renewed = partial(fixture.environment, scenario.system, file, proxied)
        environment = renewed()
        targets = _targets(scenario, environment)
        yield RateFixture(scenario, targets, fixture, renewed, environment, study, duration, objective, folder)


def _targets(scenario: Scenario, environment: Environment) -> tuple[Endpoint, ...]:
    return scenario.system.endpoints() or tuple(map(Endpoint, environment.targets))


def _unfinished(out: Path) -> str:
    """Why the system may not be done with the round whose records are in a folder; empty where nothing says so."""
    behind = unanswered.left_behind(attempts.read(out / ATTEMPTS, unanswered.COLUMNS))
    return "the last attempts of the round before got no answer in time" if behind else ""


def driven(
    up: MeasuresRates, objective: RateObjective, limits: Limits, report: Callable[[RateRound], None] = lambda _: None
) -> list[RateRound]:
    """Measure the rates that the search asks for. A round without a result is repeated once."""
    made: list[RateRound] = []
    asking = search(objective, limits)
    rate = next(asking, None)
    while rate is not None:
        one = up.measure(rate)
        one = up.measure(rate) if one.doubt else one
        made.append(one)
        report(one)
        try:
            rate = asking.send(one.step)
        except StopIteration:
            rate = None
    return made


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
