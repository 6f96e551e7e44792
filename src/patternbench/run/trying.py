"""Tries a study out: one user takes each of its journeys once, and every request is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from patternbench.drivers import engine, jobs
from patternbench.drivers.driver import Target, Task, direct_targets
from patternbench.drivers.origins import Job
from patternbench.plan.scenarios import Scenario
from patternbench.records.inputs import Inputs
from patternbench.run import preflight
from patternbench.run.stage import Stage
from patternbench.study.files import read_text
from patternbench.study.load import loads, placed
from patternbench.study.models import Study
from patternbench.study.problems import InputError, Problem


@dataclass(frozen=True)
class Trial:
    """One journey taken once: its group, its number from 1, and its attempts (contracts/load, ``trace.json``)."""

    group: str
    journey: int
    attempts: list[dict[str, Any]]

    @property
    def good(self) -> bool:
        """Whether every request was answered as expected."""
        return bool(self.attempts) and all(attempt["success"] for attempt in self.attempts)

    def as_json(self) -> dict[str, Any]:
        """The trial as plain data."""
        return {**asdict(self), "good": self.good}


def trials(study_file: str) -> Iterator[Trial]:
    """Each journey of a study's first scenario, without faults or policies; the system is down at the end.

    Raises InputError for what is wrong with the study, StartError or DriverError when it cannot be driven.
    """
    text = read_text(study_file)
    study, inputs = loads(text, study_file), Inputs(Path(study_file).resolve().parent)
    with _ready(study, inputs, text, study_file) as (task, folder):
        numbers: dict[str, int] = {}
        for job in jobs.once(jobs.job(task).job, task.time_limit.us):
            group = str(job["groups"][0]["name"])
            numbers[group] = numbers.get(group, 0) + 1
            yield Trial(group, numbers[group], _told(job, task, folder))


def _told(job: Job, task: Task, folder: Path) -> list[dict[str, Any]]:
    engine.run(job, folder, folder, task.died)
    told: list[dict[str, Any]] = json.loads((folder / engine.TRACE).read_text())["attempts"]
    return told


@contextmanager
def _ready(study: Study, inputs: Inputs, text: str, file: str) -> Iterator[tuple[Task, Path]]:
    """The round to drive, with the system of the first scenario up, and a folder for what comes of it."""
    with TemporaryDirectory(prefix="patternbench-try-") as name, Stage(Path(name), inputs) as stage:
        folder = Path(name)
        with placed(text, file):
            plan = preflight.expanded(study, inputs)
            _refuse(preflight.described_problems(study, plan, inputs))
            task = _task(study, plan.scenarios[0], (preflight.NOWHERE,), stage)
            _refuse(engine.check(task, folder))
            preflight.check_system(study, inputs)
        bench = stage.bench(plan.scenarios[0].system)
        targets = direct_targets(plan.scenarios[0].system) or tuple(map(Target, bench.targets))
        yield _task(study, plan.scenarios[0], targets, stage), folder


def _task(study: Study, scenario: Scenario, targets: tuple[Target, ...], stage: Stage) -> Task:
    return Task(scenario, targets, study.time_limit, study.warm_up, study.seed, 0, stage.inputs, stage.dead)


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise InputError(problems)
