"""From a scenario to the job that the load engine is given (contracts/load): the same configuration in its units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from patternbench.drivers import rounds
from patternbench.drivers.driver import GRACE, Task, Treatment
from patternbench.study.journeys import Expect, Journey, Poll, Request, Step
from patternbench.study.levels import Levels, only
from patternbench.study.places import filled
from patternbench.study.policies import Policy, Retry
from patternbench.study.units import Duration
from patternbench.study.workloads import Arrivals, Closed, Group, Open, Population, Schedule, Workload

CONTRACT = 1
REQUEST = "request"
"""The name of the only step of a workload without a journey."""
ALL_SHARES = 100
MOST_TOLD = 10_000
"""How many attempts of a journey the engine tells one by one, at most."""

Job = dict[str, Any]


@dataclass(frozen=True)
class Crowd:
    """A group of users or arrivals as the engine knows it: a workload without groups is one that is called ``all``."""

    name: str
    group: Group | None = None
    users: int | None = None


def job(task: Task) -> Job:
    """The job of one round; times in whole microseconds, files as absolute paths."""
    workload = task.treatment.workload
    groups = [_group(crowd, workload, task) for crowd in crowds(workload)]
    return {
        "contract": CONTRACT,
        "seed": task.seed,
        "targets": [asdict(target) for target in task.targets],
        **_tls(task),
        "constants": {**rounds.parameters(workload), "round": str(task.number)},
        "warm_up_us": task.warm_up.us,
        "duration_us": duration(workload, task).us,
        "drain_us": _drain(workload, task, groups),
        "groups": groups,
        **_client(task.treatment),
        **_generator(task),
    }


def once(made: Job, duration_us: int) -> Iterator[Job]:
    """A job for each journey of a job: one user goes through it once, without policies, and every attempt is told."""
    arrival = {"schedule": {"constant": {"rate": 1000}}, "calls": 1, "users": 1, "max_in_flight": 1}
    rest = {name: value for name, value in made.items() if name not in ("policies", "rejected_pause_us")}
    alone = {"warm_up_us": 0, "duration_us": duration_us, "log_attempts": False, "trace": MOST_TOLD}
    for group in made["groups"]:
        for journey in group["journeys"]:
            walked = {"workload": {"open": arrival}, "journeys": [{**journey, "weight": 1}]}
            yield {**rest, **alone, "groups": [{**group, **walked}]}


def _generator(task: Task) -> Job:
    """How late the generator may be, and where it runs; what is not said is the engine's default."""
    lateness, core = task.lateness, task.core
    allowed = {"percent": lateness.percentage, "floor_us": lateness.floor.us} if lateness else None
    return ({"lateness": allowed} if allowed else {}) | ({"core": core} if core is not None else {})


def _tls(task: Task) -> Job:
    """Whom to trust, where load goes straight to a system; what is not said: the operating system's authorities."""
    system = task.treatment.system
    if not any(target.url.startswith("https:") for target in task.targets):
        return {}
    said = {"verify": system.verify, "server_name": system.server_name}
    said |= {"ca_file": _path(system.ca, task) if system.ca else None}
    return {"tls": {name: value for name, value in said.items() if value is not None}}


def _client(treatment: Treatment) -> Job:
    """What the client does about slow and failing calls; nothing for the baseline."""
    strategy, closed = treatment.strategy, treatment.workload.closed
    stack = stacked(strategy.stack or []) or alone(strategy.retry or strategy.circuit_breaker, strategy.kind)
    pause = {"rejected_pause_us": closed.rejected_pause.level.us} if closed else {}
    return ({"policies": stack} if stack else {}) | pause


def stacked(stack: list[Policy]) -> list[Job]:
    """Policies as the engine's stack, every parameter said."""
    return [_policy(policy.kind, policy.chosen) for policy in stack]


def alone(pattern: Any, kind: str) -> list[Job]:
    """A pattern by itself as the engine's stack; a retry alone hears no ``Retry-After``, as everywhere."""
    if pattern is None:
        return []
    unheard = {"retry_after_max_us": 0} if isinstance(pattern, Retry) else {}
    return [{kind: rounds.in_us(pattern) | unheard}]


def _policy(kind: str, given: Any) -> Job:
    return {kind: {"after_us": given.level.us} if isinstance(given, Levels) else rounds.in_us(given)}


def duration(workload: Workload, task: Task) -> Duration:
    """How long calls begin after the warm-up; what a count ends may take the rest of the time limit."""
    lasting = only(workload.lasting)
    opened = workload.open
    if lasting:
        return lasting
    if opened and opened.schedule and opened.schedule.steps and not opened.arrivals:
        stairs = sum(stair.for_.level.us for stair in opened.schedule.steps)
        return Duration(max(stairs - task.warm_up.us, 1))
    return Duration(max(task.time_limit.us - task.warm_up.us, 1))


def crowds(workload: Workload) -> list[Crowd]:
    """The groups of a workload with their users; one that has none is a single group called ``all``."""
    if not workload.groups:
        return [Crowd("all")]
    shares = [group.share for group in workload.groups if group.share is not None]
    counts = iter(apportioned(only(workload.users) or 0, shares) if shares else [])
    return [
        Crowd(group.name, group, next(counts) if group.share is not None else only(group.users))
        for group in workload.groups
    ]


def apportioned(users: int, shares: list[float]) -> list[int]:
    """Whole users for each share in percent, by largest remainders, so that they add up to all users."""
    exact = [users * share / ALL_SHARES for share in shares]
    whole = [int(part) for part in exact]
    by_remainder = sorted(range(len(shares)), key=lambda place: whole[place] - exact[place])
    for place in by_remainder[: users - sum(whole)]:
        whole[place] += 1
    return whole


def _group(crowd: Crowd, workload: Workload, task: Task) -> Job:
    group = crowd.group
    feeder = (group.feeder if group else None) or workload.feeder
    headers = {**task.treatment.system.headers, **((group.headers if group else None) or {})}
    made = {
        "name": crowd.name,
        "workload": _calls(crowd, workload, task),
        "journeys": _journeys(group if group and group.sends else workload, headers, task),
    }
    return made | ({"feeder": rounds.in_us(feeder) | {"file": _path(feeder.file, task)}} if feeder else {})


def _calls(crowd: Crowd, workload: Workload, task: Task) -> Job:
    """When the calls of a group begin."""
    arrivals = workload.open or (crowd.group.open if crowd.group else None)
    if arrivals:
        return {"open": _open(arrivals, task)}
    if workload.closed:
        return {"closed": _closed(workload.closed)}
    assert crowd.group is not None
    return {"closed": _paced(crowd.group, crowd.users or 0)}


def _closed(closed: Closed) -> Job:
    ends = {"successes_per_user": only(closed.successes), "calls_per_user": only(closed.requests)}
    until = {name: count for name, count in ends.items() if count is not None}
    made = {"users": closed.users.level, "think_us": closed.think_time.level.us}
    return made | ({"until": until} if until else {})


def _paced(group: Group, users: int) -> Job:
    made: Job = {"users": users}
    rate = only(group.rate)
    if rate:
        made["pace"] = {"every_us": max(round(1e6 / rate), 1), "late": only(group.late) or "catch_up"}
    for name, pause in (("think_us", only(group.think_time)), ("start_over_us", only(group.start_over))):
        if pause is not None:
            made[name] = pause.us
    return made


def _open(arrivals: Arrivals, task: Task) -> Job:
    schedule, spacing = _schedule(arrivals, task)
    calls = only(arrivals.arrivals) if isinstance(arrivals, Open) else None
    made = {
        "schedule": schedule,
        "spacing": spacing,
        "users": arrivals.users.level,
        "max_in_flight": arrivals.in_flight.level,
    }
    return made | ({"calls": calls} if calls is not None else {})


def _schedule(arrivals: Arrivals, task: Task) -> tuple[Job, str]:
    """The schedule and how arrivals are placed on it."""
    spacing = only(arrivals.spacing) or "regular"
    if arrivals.schedule is None:
        return {"constant": {"rate": only(arrivals.rate)}}, spacing
    return _curve(arrivals.schedule, task), "poisson" if arrivals.schedule.poisson else spacing


def _curve(schedule: Schedule, task: Task) -> Job:
    if schedule.poisson:
        return {"constant": rounds.in_us(schedule.poisson)}
    if schedule.trace:
        return {"trace": {"file": _path(schedule.trace.file.level, task)}}
    return {schedule.kind: rounds.in_us(schedule.chosen)}


def _journeys(sends: Population, headers: Mapping[str, str], task: Task) -> list[Job]:
    if sends.request:
        return [{"steps": [_step(sends.request, REQUEST, headers, task)]}]
    journeys = sends.journeys or ([sends.journey] if sends.journey else [])
    return [_journey(journey, headers, task) for journey in journeys]


def _journey(journey: Journey, headers: Mapping[str, str], task: Task) -> Job:
    steps = [_step(step, step.name or step.path.level, headers, task) for step in journey.steps]
    return {**rounds.in_us(journey, without=("steps",)), "steps": steps}


def _step(step: Step | Request, name: str, headers: Mapping[str, str], task: Task) -> Job:
    # A JSON body is the user's own: nothing in it is a field of ours.
    wire = rounds.in_us(step, without=("json", "redirects"))
    made = {field: value for field, value in wire.items() if value is not None}
    made |= {"name": name, "headers": _headers(headers, step.headers)}
    made |= {"query": _texts(step.query)} if step.query is not None else {}
    return made | (_of_journeys(step, headers, task) if isinstance(step, Step) else {})


def _of_journeys(step: Step, headers: Mapping[str, str], task: Task) -> Job:
    """What only a step of a journey has."""
    known = rounds.parameters(task.treatment.workload)
    given = {
        "json": step.json_,
        "max_redirects": only(step.redirects),
        "form": _texts(step.form) if step.form is not None else None,
        "body_file": _path(step.body_file, task) if step.body_file else None,
        "expect": _expect(step.expect, known) if step.expect else None,
        "poll": _poll(step.poll, headers, known) if step.poll else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _poll(poll: Poll, headers: Mapping[str, str], known: Mapping[str, str]) -> Job:
    made: Job = rounds.in_us(poll, without=("expect", "until", "query"))
    made |= {"headers": _headers(headers, poll.headers), "until": _expect(poll.until, known)}
    made |= {"expect": _expect(poll.expect, known)} if poll.expect else {}
    return made | ({"query": _texts(poll.query)} if poll.query is not None else {})


def _headers(shared: Mapping[str, str], own: Mapping[str, str] | None) -> dict[str, str]:
    """Headers with what the environment holds filled in; a step's own go before its group's."""
    return {name: rounds.resolved(text) for name, text in {**shared, **(own or {})}.items()}


def _expect(expect: Expect, known: Mapping[str, str]) -> Job:
    """What is expected, with the workload's parameters filled in; a pattern matches them as they are written."""
    literal = {name: re.escape(value) for name, value in known.items()}
    made: Job = filled(rounds.in_us(expect, without=("json", "has", "body_matches")), known)
    made |= {"body_matches": filled(expect.body_matches, literal)} if expect.body_matches else {}
    wanted = filled(expect.json_ or {}, known).items()
    values: list[Job] = [{"path": path, "equals": value} for path, value in wanted]
    there: list[Job] = [{"path": path} for path in filled(expect.has or [], known)]
    return made | ({"json": values + there} if values or there else {})


def _texts(values: Mapping[str, Levels[Any]]) -> dict[str, str]:
    return {name: rounds.as_text(value.level) for name, value in values.items()}


def _path(name: str, task: Task) -> str:
    return str(task.inputs.path(name))


def _drain(workload: Workload, task: Task, groups: list[Job]) -> int:
    """How many microseconds answers are waited for: as long as any call may take, but not beyond the time limit."""
    left = task.time_limit.us + GRACE.us - task.warm_up.us - duration(workload, task).us
    return min(_longest_wait(groups), max(left, GRACE.us))


def _longest_wait(groups: list[Job]) -> int:
    steps = [step for group in groups for journey in group["journeys"] for step in journey["steps"]]
    return max(int(max(step["timeout_us"], step.get("poll", {}).get("limit_us", 0))) for step in steps)
