"""Tries a study: one user goes through each of its journeys once, and every request is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from patternbench.drivers import engine, jobs
from patternbench.drivers.driver import Task
from patternbench.lab.host.accounts import scratch
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import ASSUMED, at_capacity
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import TracedAttempt
from patternbench.run.before import preflight
from patternbench.run.round.fixture import RoundFixture
from patternbench.study.load import StudyFile
from patternbench.study.model.system import Endpoint
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem


@dataclass(frozen=True)
class Trial:
    """One journey taken once: its group, its number from 1, and its attempts (contracts/load, ``trace.json``)."""

    group: str
    journey: int
    attempts: list[TracedAttempt]

    @property
    def good(self) -> bool:
        """Whether every request was answered as expected."""
        return bool(self.attempts) and all(attempt.success for attempt in self.attempts)

    def as_json(self) -> dict[str, object]:
        """Return the trial as plain data."""
        attempts = [attempt.model_dump(exclude_unset=True) for attempt in self.attempts]
        return {"group": self.group, "journey": self.journey, "attempts": attempts, "good": self.good}


def trials(file: StudyFile) -> Iterator[Trial]:
    """Each journey of a study's first scenario, without faults or policies; the system is down at the end.

    Raises InputError for what is wrong with the study, StartError or DriverError when it cannot be driven.
    """
    study, inputs = file.study(), Inputs(file.study_folder)
    with _ready(study, inputs, file) as (bare, folder):
        set_up = jobs.set_up(bare)
        if set_up:
            yield Trial(jobs.SET_UP, 1, _with_own_urls(engine.attempts_of(set_up.job, bare, folder), bare))
        task = engine.set_up(bare, folder)
        numbers: dict[str, int] = {}
        for group, job in jobs.once(task):
            numbers[group] = numbers.get(group, 0) + 1
            yield Trial(group, numbers[group], _with_own_urls(engine.attempts_of(job, task, folder), task))


def _with_own_urls(attempts: list[TracedAttempt], task: Task) -> list[TracedAttempt]:
    """Return the attempts with the URL of a system that already runs, instead of that of the fault proxy before it."""
    stated = zip(task.targets, task.treatment.system.addresses, strict=False)
    own = {_scheme_and_host(target.url): _scheme_and_host(address) for target, address in stated}
    return [
        attempt.model_copy(update={"url": _moved_to_own(attempt.url, own)}) if attempt.url else attempt
        for attempt in attempts
    ]


def _moved_to_own(url: str, own: Mapping[str, str]) -> str:
    return own.get(_scheme_and_host(url), _scheme_and_host(url)) + url.removeprefix(_scheme_and_host(url))


def _scheme_and_host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@contextmanager
def _ready(study: Study, inputs: Inputs, file: StudyFile) -> Iterator[tuple[Task, Path]]:
    """Yield the round to drive, with the system of the first scenario up, and a folder for what comes of it."""
    with scratch("patternbench-try-") as folder, RoundFixture(folder, inputs) as fixture:
        with file.placed():
            plan = preflight.expanded(study, inputs)
            _refuse(preflight.described_problems(study, plan, inputs))
            task = _task(study, plan.scenarios[0], (preflight.NOWHERE,), fixture)
            _refuse(engine.check(task, folder))
            preflight.check_system(study, inputs)
        environment = fixture.environment(plan.scenarios[0].system)
        targets = plan.scenarios[0].system.endpoints() or tuple(map(Endpoint, environment.targets))
        yield _task(study, plan.scenarios[0], targets, fixture), folder


def _task(study: Study, scenario: Scenario, targets: tuple[Endpoint, ...], fixture: RoundFixture) -> Task:
    scenario = at_capacity(scenario, ASSUMED)
    return Task(scenario, targets, study.time_limit, study.longest_warm_up, study.seed, 0, fixture.inputs, fixture.dead)


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise InputError(problems)
