"""The native load engine as a driver: a job in, progress while it runs, attempts and a summary out."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from patternbench.drivers import environment, jobs
from patternbench.drivers.driver import DrivenRound, DriverError, Task
from patternbench.drivers.library import finished_users
from patternbench.drivers.load import JobError, in_memory_at, problems_of, problems_of_each
from patternbench.drivers.origins import Job
from patternbench.drivers.split_load import opened
from patternbench.observe.warning import RoundWarning
from patternbench.records import attempts
from patternbench.records.folder import replace_durably
from patternbench.records.load_summaries import (
    ATTEMPTS,
    JobProblem,
    LoadProgress,
    LoadSummary,
    LoadTrace,
    TracedAttempt,
)
from patternbench.study.model.levels import only
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import NS_PER_US

TRACE = "trace.json"
US_PER_S = 1_000_000
LONGEST_ANSWER = 300
"""Characters of the answer to a failed set-up that its message repeats."""
LATE = "late_schedule"
"""The engine's warning that it began calls later than they were due."""


def run(
    job: Job,
    out: Path,
    logs: Path,
    died: Callable[[], list[str]] = list,
    on_progress: Callable[[LoadProgress], None] = lambda _: None,
) -> LoadSummary:
    """Run a job to its end, or until something has ``died``, and return the summary; raises JobError or DriverError.

    Several generators run a job of theirs together. ``on_progress`` is called with what they say while they run.
    """
    with opened(job, out, logs) as load:
        for progress in load.progress():
            on_progress(progress)
            if died():
                load.stop()
    assert load.summary is not None
    return load.summary


@dataclass(frozen=True)
class EngineDriver:
    """The engine as a driver; ``summaries`` is the folder where each round's summary and histograms are kept."""

    summaries: Path
    logs: Path

    def drive(self, task: Task, into: Path) -> DrivenRound:
        """Drive one round; its attempts become the file ``into``."""
        out, task = self.summaries / into.stem, set_up(task, self.logs)
        try:
            summary = run(jobs.job(task).job, out, self.logs, task.died, telling(task))
        except JobError as error:
            raise DriverError(f"the load engine refused its job: {_without_secrets(str(error), task)}") from None
        return kept(task, summary, out, into)


def kept(task: Task, summary: LoadSummary, out: Path, into: Path) -> DrivenRound:
    """Make the attempts that a load left in ``out`` those of its round, and return what the round came to."""
    _take(out / ATTEMPTS, into)
    began = summary.generator.began_us * NS_PER_US
    warm_up_us = summary.warm_up_us if task.answers_end_warm_up else task.warm_up.us
    measured_from = began + warm_up_us * NS_PER_US
    missing = shortfall(task, summary) or unfinished(task, summary, into)
    cpu_s, rows = summary.generator_cpu_s, summary.generator.log_rows
    found = warnings(summary, task.lateness is not None and task.lateness.is_one_bound)
    driven = DrivenRound(rows, cpu_s, missing, found, summary.calls, began_ns=began, measured_from_ns=measured_from)
    return replace(driven, warm_up_rows=summary.warm_up_rows, lasted_us=round(summary.duration_s * US_PER_S))


def set_up(task: Task, logs: Path) -> Task:
    """Return the task with what its set-up took from its answers; raises DriverError where one is not as expected."""
    made = jobs.set_up(task)
    if made is None:
        return task
    sent = attempts_of(made.job, task, logs)
    failed = next((attempt for attempt in sent if not attempt.success), None)
    if failed or not sent:
        raise DriverError(f"the set-up failed{_at(failed) if failed else ': nothing of it was sent'}")
    captured = {name: value for attempt in sent for name, value in attempt.captured.items()}
    return replace(task, captured={name: _as_text(value) for name, value in captured.items()})


def attempts_of(job: Job, task: Task, logs: Path) -> list[TracedAttempt]:
    """Run a job that reports its attempts, and return them; raises DriverError.

    They may hold secrets, such as a token, and so lie in no run's folder, and in memory alone.
    """
    with tempfile.TemporaryDirectory(prefix="patternbench-trace-") as scratch, in_memory_at(Path(scratch) / TRACE):
        try:
            run(job, Path(scratch), logs, task.died)
        except JobError as error:
            raise DriverError(f"the load engine refused its job: {_without_secrets(str(error), task)}") from None
        trace = LoadTrace.model_validate_json((Path(scratch) / TRACE).read_bytes())
    return [_safe_to_tell(attempt, task) for attempt in trace.attempts]


def _safe_to_tell(attempt: TracedAttempt, task: Task) -> TracedAttempt:
    """Return an attempt whose texts hold no value of the environment; what it captured is for later requests."""
    texts = {name: getattr(attempt, name) for name in ("url", "missed", "body")}
    given = {name: _without_secrets(text, task) for name, text in texts.items() if text}
    return attempt.model_copy(update=given)


def _without_secrets(text: str, task: Task) -> str:
    return environment.hidden(text, environment.of(task.treatment.system, task.treatment.workload), task.captured)


def _at(attempt: TracedAttempt) -> str:
    why = f" at `{attempt.step}` ({attempt.status or attempt.outcome}): {attempt.missed or 'no answer'}"
    return f"{why}; the answer: {_cut(attempt.body)}" if attempt.body else why


def _cut(text: str) -> str:
    """Return the beginning of a text, on one line."""
    alone = " ".join(text.split())
    return alone if len(alone) <= LONGEST_ANSWER else f"{alone[: LONGEST_ANSWER - 1]}…"


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def telling(task: Task) -> Callable[[LoadProgress], None]:
    """Receives progress: that of the task, and once the start of measuring."""
    first = iter([True])

    def reported(progress: LoadProgress) -> None:
        measured_from_us = progress.measured_from_us if task.answers_end_warm_up else task.warm_up.us
        if measured_from_us is not None and next(first, False):
            began = time.monotonic_ns() - progress.elapsed_us * NS_PER_US
            task.begun(began + measured_from_us * NS_PER_US)
        task.on_progress(progress)

    return reported


def _take(made: Path, into: Path) -> None:
    """Make the engine's file the round's, durably."""
    handle = os.open(made, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    replace_durably(made, into)


def warnings(summary: LoadSummary, bounded: bool = True) -> list[RoundWarning]:
    """Return the engine's warnings about its own work, as the journal holds them: remedies in the words of a study.

    Unless a study has ``bounded`` the lateness itself, for all rounds alike, lateness makes no round invalid. A bound
    that is a share of the round's own service time would drop the quick rounds of a scenario and keep its slow ones.
    """
    return [
        RoundWarning(one.name, one.message, in_study(one.remedy), one.invalidates and (bounded or one.name != LATE))
        for one in summary.doubts
    ]


_IN_STUDY = {
    "allow more lateness": "allow more with `lateness` in the study",
    "max_in_flight": "`in_flight`",
    "raise warm_up_us, or lower warm_up_requests": "raise `warm_up.at_most`, or lower `warm_up.requests`",
    "raise warm_up_us": "raise `warm_up.at_most`",
    "raise drain_us above the timeout of the steps": "find out why calls took this long, or raise `time_limit`",
    "max_redirects": "`redirects`",
    "add that server to the targets": "add that server to `urls`",
    "tls.ca_file": "`system.ca`",
    "tls.server_name": "`system.server_name`",
    "tls.verify": "`system.verify`",
}
"""The engine's words for its job, and a study's words for the same."""


def in_study(remedy: str) -> str:
    """Return a remedy of the engine in the words of a study."""
    for job, study in _IN_STUDY.items():
        remedy = remedy.replace(job, study)
    return remedy


def shortfall(task: Task, summary: LoadSummary) -> str | None:
    """Why a round cannot count: it ended early, or users were not finished within the time limit.

    Where a generator was lost a warning says so, and nothing is expected of the others.
    """
    if summary.interrupted:
        return "the load engine was interrupted"
    if summary.lost:
        return None
    closed = task.treatment.workload.closed
    if closed is None:
        return None
    users = closed.users.level
    counts = (
        ("successes", None if closed.max_attempts else closed.successes, users, summary.successes),
        ("requests", closed.requests, users, summary.calls),
        ("journeys", closed.journeys, users, summary.journeys),
        ("calls", closed.calls, 1, summary.calls),
    )
    for requested, expected, each, got in counts:
        missing = each * expected.level - got if expected else 0
        if missing > 0:
            return f"over its time limit of {task.time_limit}: {missing} {requested} are missing"
    return None


def unfinished(task: Task, summary: LoadSummary, file: Path) -> str | None:
    """Why a round with a limit of attempts can't count: users reached neither it nor their successes."""
    closed = task.treatment.workload.closed
    if closed is None or closed.max_attempts is None or summary.lost:
        return None
    rows = attempts.read(file, ["user", "attempt", "success", "warm_up"])
    measured, users = pa.Table.from_pandas(rows[~rows["warm_up"]]), closed.users.level
    left = users - finished_users(measured, users, only(closed.successes), only(closed.max_attempts))
    return f"over its time limit of {task.time_limit}: {left} users were not finished" if left else None


def as_problem(problem: JobProblem, path: str) -> Problem:
    """Return a problem that the engine finds, under a path that the user knows; its value comes as JSON text."""
    value = problem.value
    with suppress(ValueError, TypeError):
        value = json.loads(str(value))
    return Problem(problem.message, path, value=value, allowed=problem.allowed or "")


def check(task: Task, logs: Path) -> list[Problem]:
    """Return the engine's problems with a scenario's load. Raises InputError if the engine can't check it."""
    return check_each([task], logs)[0]


def check_each(tasks: Sequence[Task], logs: Path) -> list[list[Problem]]:
    """Return the engine's problems with the load of each scenario. Raises InputError if the engine can't check one."""
    made_jobs = [[made for made in (jobs.set_up(task), jobs.job(task)) if made] for task in tasks]
    found = problems_of_each((made.job for several in made_jobs for made in several), logs)
    try:
        return [
            [
                _reported_safely(as_problem(message, made.origin(message.path)), task)
                for made in several
                for message in next(found)
            ]
            for task, several in zip(tasks, made_jobs, strict=True)
        ]
    except DriverError as error:
        raise InputError(Problem(str(error), path="workload")) from None


def _reported_safely(problem: Problem, task: Task) -> Problem:
    """Return a problem whose message and value hold no value of the environment."""
    shown = _without_secrets(problem.value, task) if isinstance(problem.value, str) else problem.value
    return replace(problem, message=_without_secrets(problem.message, task), value=shown)


__all__ = ["EngineDriver", "JobError", "as_problem", "attempts_of", "check", "kept", "problems_of", "run", "set_up"]
