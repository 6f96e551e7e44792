"""A system in simulated time as what a driver puts load on: the engine's users and policies, without a socket.

The job is that of the round. Nothing is sent anywhere, so that it keeps what decides when requests are sent and how
long they may take, and leaves out what they contain and what their answers should.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast
from urllib.parse import quote

from patternbench.drivers import jobs
from patternbench.drivers.driver import DrivenRound, DriverError, Task
from patternbench.drivers.engine import kept
from patternbench.drivers.load import JobError, Load
from patternbench.drivers.origins import Job
from patternbench.records.load_summaries import LoadSummary
from patternbench.study.model.system import Endpoint
from patternbench.study.workload.journeys import Expect, Step
from patternbench.study.workload.workloads import Population, Workload
from patternbench.terms.problems import Problem

NOWHERE = Endpoint("http://127.0.0.1:1")
"""The target of a round of which nothing is sent."""
_OF_ITS_TIME = ("contract", "seed", "drain_us", "warm_up_us", "duration_us", "log_journeys", "log_attempts")
OF_A_JOB = (*_OF_ITS_TIME, "policies", "rejected_pause_us", "lateness")
OF_A_GROUP = ("name", "workload", "connection", "affinity")
OF_A_JOURNEY = ("weight", "on_failure")
OF_A_STEP = ("name", "timeout_us", "pause_us", "repeat")
"""The fields of each part of a job that decide when requests are sent, and how long they may take."""
OF_THIS_MACHINE = ("generator_saturated", "generator_held_up", "late_schedule", "out_of_sockets", "log_stalled")
"""What the engine says of the machine on which it runs, which decides nothing in simulated time."""
OF_SOCKETS = "file descriptors"
"""What the engine wants for the connections of a job, of which there are none in simulated time."""
NOT_SIMULATED = ("poll", "until_expected", "for_each")
"""The fields of a step whose number of requests depends on what answers contain."""


@dataclass(frozen=True)
class SimulatedDriver:
    """Drives rounds in simulated time; ``summaries`` keeps each one's summary and histograms.

    ``model`` is the system, as the engine reads it (contracts/load).
    """

    summaries: Path
    logs: Path
    model: Job

    def drive(self, task: Task, into: Path) -> DrivenRound:
        """Drive one round; its attempts become the file ``into``."""
        out, task = self.summaries / into.stem, without_answers(task)
        try:
            summary = run(job(task), self.model, out, self.logs)
        except JobError as error:
            raise DriverError(f"the load engine refused its job: {error}") from None
        return kept(task, of_the_model(summary), out, into)


def run(driven: Job, model: Job, out: Path, logs: Path) -> LoadSummary:
    """Run a job against a model to its end, and return the summary; raises JobError or DriverError."""
    with Load(driven, out, logs, model=model) as load:
        for _ in load.progress():
            pass
    assert load.summary is not None
    return load.summary


def of_the_model(summary: LoadSummary) -> LoadSummary:
    """Return a summary without what the engine says of this machine."""
    return summary.model_copy(update={"doubts": [one for one in summary.doubts if one.name not in OF_THIS_MACHINE]})


def without_answers(task: Task) -> Task:
    """Return the task of a round in which no answer is read: its warm-up takes its time, and one generator drives it.

    Nothing is cold in simulated time, so that answers have no warm-up to end.
    """
    return replace(task, warm_up_requests=None, settles=False, generators=1, core=None)


def job(task: Task) -> Job:
    """Return the job of a round, without what requests and answers contain."""
    whole = jobs.job(task).job
    groups = [_group(group) for group in _parts(whole, "groups")]
    target = {"url": NOWHERE.url, "weight": 1}
    return {**_only(whole, OF_A_JOB), "targets": [target], "priority": False, "groups": groups}


def _parts(of_it: Job, name: str) -> list[Job]:
    return cast(list[Job], of_it.get(name, []))


def _group(group: Job) -> Job:
    journeys = [_journey(journey) for journey in _parts(group, "journeys")]
    return {**_only(group, OF_A_GROUP), "journeys": journeys}


def _journey(journey: Job) -> Job:
    steps = [_step(step) for step in _parts(journey, "steps")]
    return {**_only(journey, OF_A_JOURNEY), "steps": steps}


def _step(step: Job) -> Job:
    """Return a step whose path is its name, by which a service knows what it is asked for."""
    items = cast(Mapping[str, object], step.get("items") or {})
    carried = {"items": {"carried": items.get("carried")}} if "carried" in items else {}
    return {**_only(step, OF_A_STEP), **carried, "path": path_of(str(step.get("name")))}


def path_of(step: str) -> str:
    """Return the path by which a simulated service knows a step."""
    return f"/{quote(step, safe='')}"


def _only(part: Job, names: tuple[str, ...]) -> Job:
    return {name: part[name] for name in names if name in part}


def problems(workload: Workload) -> Iterator[Problem]:
    """Yield the parts of a workload whose requests depend on what answers contain, which no model says."""
    for path, step in _steps(workload):
        for name in NOT_SIMULATED:
            if getattr(step, name) is not None:
                message = f"`{name}` depends on what answers contain, and a model does not say it"
                yield Problem(message, f"{path}.{name}", hint="leave it out of what is simulated")
        if step.expect and _expects_a_failure(step.expect):
            allowed = "statuses from 200 to 399"
            yield Problem("a simulated service answers 200", f"{path}.expect.statuses", allowed=allowed)


def _expects_a_failure(expect: Expect) -> bool:
    """Whether none of the expected statuses is a success, as of a step that shows how errors are answered."""
    return bool(expect.statuses) and all(str(status)[0] not in "23" for status in expect.statuses or [])


def is_of_sockets(problem: Problem) -> bool:
    """Whether a job is refused for want of sockets alone."""
    return OF_SOCKETS in problem.allowed


def _steps(workload: Workload) -> Iterator[tuple[str, Step]]:
    senders: list[tuple[str, Population]] = [("workload", workload)]
    senders += [(f"workload.groups[{number}]", group) for number, group in enumerate(workload.groups or [])]
    for place, sends in senders:
        journeys = [(f"{place}.journey", sends.journey)] if sends.journey else []
        journeys += [(f"{place}.journeys[{number}]", one) for number, one in enumerate(sends.journeys or [])]
        for path, journey in journeys:
            yield from ((f"{path}.steps[{number}]", step) for number, step in enumerate(journey.steps))
