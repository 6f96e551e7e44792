"""From a scenario to the job that the load engine is given (contracts/load): the same configuration in its units.

Every field has its place in the study (``drivers.origins``), so that a problem of the job is reported there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from patternbench.drivers import environment, rounds
from patternbench.drivers.driver import GRACE, Task, Treatment
from patternbench.drivers.headers import merged
from patternbench.drivers.limits import STRATEGY
from patternbench.drivers.origins import (
    Job,
    TracedJob,
    TracedValue,
    in_us,
    plain_fields,
    throughout,
    traced,
    with_origins,
)
from patternbench.drivers.stacks import stacked
from patternbench.study.model.levels import Levels, only
from patternbench.study.text.places import filled
from patternbench.study.workload import depends
from patternbench.study.workload.journeys import (
    Entries,
    Expect,
    Items,
    Journey,
    Poll,
    Request,
    Step,
    Text,
    UntilExpected,
    Wait,
)
from patternbench.study.workload.lengths import stairs
from patternbench.study.workload.policies import CircuitBreaker, Retry
from patternbench.study.workload.workloads import (
    ALL_SHARES,
    Arrivals,
    Closed,
    Group,
    Open,
    Population,
    Schedule,
    Workload,
)
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

CONTRACT = 1
REQUEST = "request"
"""The name of the only step of a workload without a journey."""
WORKLOAD = "workload"
SET_UP = "set-up"
UNTRACED = {"traceparent": f"00-{1:032x}-{1:016x}-00"}
"""Tells services that its sender is not traced (W3C Trace Context), so that they count no calls of it."""
WAITS = ("pause", "until_expected")
"""The fields of a step that may take their durations from levels."""
MOST_TRACED = 10_000
"""Attempts of a journey that the engine reports one by one, at most."""


@dataclass(frozen=True)
class UserGroup:
    """A group of users or arrivals as the engine knows it: a workload without groups is one that is called ``all``.

    ``origin`` is its place in the study.
    """

    name: str
    group: Group | None = None
    users: int | None = None
    origin: str = WORKLOAD


def job(task: Task) -> TracedJob:
    """Return the job of one round; times in whole microseconds, files as absolute paths."""
    workload = task.treatment.workload
    return traced(
        {
            **_around(task),
            **_part(task),
            **_values(task, _captured(task)),
            "warm_up_us": TracedValue(task.warm_up.us, "warm_up"),
            **_stated({"warm_up_requests": TracedValue(task.warm_up_requests, "warm_up.requests")}),
            **({"warm_up_settled": TracedValue(True, "warm_up.until")} if task.settles else {}),
            "duration_us": TracedValue(duration(workload, task).us, _lasting(workload)),
            "groups": TracedValue(
                [_group(user_group, workload, task) for user_group in user_groups(workload)], WORKLOAD
            ),
            **({"log_journeys": TracedValue(True, WORKLOAD)} if workload.tells_journeys else {}),
            **_client(task.treatment),
        }
    )


def once(task: Task) -> Iterator[tuple[str, Job]]:
    """Yield a job per journey, with its group's name: one user goes through it once, and every attempt is reported.

    Nothing is done about slow or failing calls. The time limit ends a journey that takes too long.
    """
    workload = task.treatment.workload
    for user_group in user_groups(workload):
        for journey, origin in _sent(user_group, workload, task):
            group = {**_taken(user_group, workload, task), **_walk(journey, origin)}
            yield (
                user_group.name,
                plain_fields({**_around(task), **_values(task, _captured(task)), **_alone(task), "groups": [group]}),
            )


def set_up(task: Task) -> TracedJob | None:
    """Return a job of the set-up: one user goes through it, every attempt is reported; None without a set-up."""
    workload = task.treatment.workload
    if workload.set_up is None or not any(depends.applies(s.when, _texts_of(task)) for s in workload.set_up.steps):
        return None
    headers = merged(task.treatment.system.sent_headers, UNTRACED)
    group = {"name": SET_UP, **_walk(*_journey(workload.set_up, f"{WORKLOAD}.set_up", headers, task))}
    return traced({**_around(task), **_values(task, {}), **_alone(task), "groups": [group]})


def _walk(journey: Job, origin: str) -> Job:
    """One user, who takes a journey once."""
    arrival = {"schedule": {"constant": {"rate": 1000}}, "calls": 1, "users": 1, "max_in_flight": 1}
    return {"workload": {"open": arrival}, "journeys": [TracedValue({**journey, "weight": 1}, origin)]}


def _alone(task: Task) -> Job:
    """Return the fields of a job whose attempts are reported one by one."""
    return {"warm_up_us": 0, "duration_us": task.time_limit.us, "log_attempts": False, "trace": MOST_TRACED}


def _around(task: Task) -> Job:
    """Return the fields of a job that every round has."""
    return {
        "contract": CONTRACT,
        "seed": TracedValue(task.seed, "seed"),
        "targets": _targets(task),
        **_tls(task),
        "constants": {"round": str(task.number)},
        **_lists(task),
        **_generator(task),
        "drain_us": _drain(task),
    }


def _part(task: Task) -> Job:
    """Return the first part of the load, if several generators make it; others differ by their ``index`` alone."""
    part = {"index": 0, "of": task.generators}
    return {"part": throughout(part, "generators")} if task.generators > 1 else {}


def _targets(task: Task) -> list[Job]:
    """Return the targets of the load: one URL as a text, several as a list."""
    origins = task.treatment.system.paths() or ["system.url"] * len(task.targets)
    return [
        {"url": TracedValue(target.url, origin), "weight": TracedValue(target.weight, f"{origin}.weight")}
        for target, origin in zip(task.targets, origins, strict=True)
    ]


def _values(task: Task, captured: Mapping[str, str]) -> Job:
    """Return what requests may name: the levels, variables of the environment, and what was captured."""
    levels = {name: TracedValue(text, _origin_of(name)) for name, text in _texts_of(task).items()}
    variables = environment.values(environment.of(task.treatment.system, task.treatment.workload))
    made = {**levels, **variables, **captured}
    return {"values": made} if made else {}


def _captured(task: Task) -> dict[str, str]:
    """Return the values captured by the set-up; empty texts before it is carried out, for example to check a job."""
    return {name: task.captured.get(name, "") for name in task.treatment.workload.set_up_names}


def _lists(task: Task) -> Job:
    """Return the lists of entries that placeholders refer to."""
    lists = task.treatment.workload.lists or {}
    made = {name: _entries(entries, f"{WORKLOAD}.lists.{name}", task) for name, entries in lists.items()}
    return {"lists": TracedValue(made, f"{WORKLOAD}.lists")} if made else {}


def _entries(entries: Entries, origin: str, task: Task) -> TracedValue:
    # An entry is the user's own, as a JSON body is.
    made = in_us(entries, origin, without=("count", "of"))
    count = TracedValue(depends.whole(entries.count and entries.count.level, _texts_of(task)), f"{origin}.count")
    return TracedValue({**made, **_stated({"count": count}), "of": TracedValue(entries.of, f"{origin}.of")}, origin)


def _texts_of(task: Task) -> dict[str, str]:
    """Return the values of placeholders in the scenario of a round."""
    return depends.texts(task.treatment.system, task.treatment.workload)


def _origin_of(name: str) -> str:
    """Return the place in the study of a placeholder's value."""
    setting = name.removeprefix(depends.SETTING)
    return f"{WORKLOAD}.parameters.{name}" if setting == name else f"system.settings.{setting}"


def _lasting(workload: Workload) -> str:
    """Return the place of the duration in a study."""
    return f"{WORKLOAD}.duration" if workload.groups else f"{WORKLOAD}.{workload.kind}.duration"


def _generator(task: Task) -> Job:
    """How late the generator may be, and where it runs. Fields that are left out have the engine's defaults."""
    lateness, core = task.lateness, task.core
    made: Job = {"core": core} if core is not None else {}
    if lateness:
        percent = TracedValue(lateness.percentage, "lateness.percentage")
        made["lateness"] = {"percent": percent, "floor_us": TracedValue(lateness.floor.us, "lateness.floor")}
    return made


def _tls(task: Task) -> Job:
    """Return the authorities to trust if load goes directly to a system; by default those of the operating system."""
    trust = task.treatment.system.trust
    if not any(target.url.startswith("https:") for target in task.targets):
        return {}
    stated = {
        "verify": TracedValue(trust.verify, "system.verify"),
        "server_name": TracedValue(trust.server_name, "system.server_name"),
        "ca_file": TracedValue(_path(trust.ca, task) if trust.ca else None, "system.ca"),
    }
    return {"tls": _stated(stated)}


def _stated(fields: Mapping[str, TracedValue]) -> dict[str, TracedValue]:
    """Return the fields that a study does not leave open."""
    return {name: field for name, field in fields.items() if field.value is not None}


def _client(treatment: Treatment) -> Job:
    """Return the client's policies for slow and failing calls; nothing for the baseline."""
    strategy, closed = treatment.strategy, treatment.workload.closed
    pattern = strategy.retry or strategy.circuit_breaker
    stack = stacked(strategy.stack or [], f"{STRATEGY}.stack") or alone(pattern, strategy.kind)
    pause = closed and TracedValue(closed.rejected_pause.level.us, f"{WORKLOAD}.closed.rejected_pause")
    return ({"policies": stack} if stack else {}) | ({"rejected_pause_us": pause} if pause else {})


def alone(pattern: Retry | CircuitBreaker | None, kind: str) -> list[TracedValue]:
    """Return a pattern by itself as the engine's stack; a retry alone ignores ``Retry-After``, as everywhere."""
    if pattern is None:
        return []
    unheard = {"retry_after_max_us": 0} if isinstance(pattern, Retry) else {}
    origin = f"{STRATEGY}.{kind}"
    return [TracedValue({kind: TracedValue(in_us(pattern, origin) | unheard, origin)}, STRATEGY)]


def duration(workload: Workload, task: Task) -> Duration:
    """How long calls start after the warm-up. A workload that a count ends may take the rest of the time limit."""
    lasting = only(workload.lasting)
    opened = workload.open
    if lasting:
        return lasting
    end = stairs(opened) if opened and not opened.arrivals else None
    if end:
        return Duration(max(end.us - task.warm_up.us, 1))
    return Duration(max(task.limit_with_warm_up.us - task.warm_up.us, 1))


def user_groups(workload: Workload) -> list[UserGroup]:
    """Return the groups of a workload with their users; one that has none is a single group called ``all``."""
    if not workload.groups:
        return [UserGroup("all")]
    shares = [group.share for group in workload.groups if group.share is not None]
    counts = iter(apportioned(only(workload.users) or 0, shares) if shares else [])
    return [
        UserGroup(
            group.name,
            group,
            next(counts) if group.share is not None else only(group.users),
            f"{WORKLOAD}.groups[{number}]",
        )
        for number, group in enumerate(workload.groups)
    ]


def apportioned(users: int, shares: list[float]) -> list[int]:
    """Whole users for each share in percent, by largest remainders, so that they add up to all users."""
    exact = [users * share / ALL_SHARES for share in shares]
    whole = [int(part) for part in exact]
    by_remainder = sorted(range(len(shares)), key=lambda number: whole[number] - exact[number])
    for number in by_remainder[: users - sum(whole)]:
        whole[number] += 1
    return whole


def _group(user_group: UserGroup, workload: Workload, task: Task) -> TracedValue:
    made = {
        **_taken(user_group, workload, task),
        "workload": _calls(user_group, workload, task),
        "journeys": [TracedValue(journey, origin) for journey, origin in _sent(user_group, workload, task)],
    }
    return TracedValue(made, user_group.origin)


def _taken(user_group: UserGroup, workload: Workload, task: Task) -> Job:
    """Return a group's name, its feeder, and its connections."""
    name = TracedValue(user_group.name, f"{user_group.origin}.name")
    return {"name": name, **_feeder(user_group, workload, task), **_wires(user_group, workload)}


def _sent(user_group: UserGroup, workload: Workload, task: Task) -> list[tuple[Job, str]]:
    """Return the journeys of a group, its own or those of all groups, each with its place in the study."""
    group = user_group.group
    headers = merged(task.treatment.system.sent_headers, group.headers if group else None)
    sends, origin = (group, user_group.origin) if group and group.sends else (workload, WORKLOAD)
    return _journeys(sends, origin, headers, task)


def _wires(user_group: UserGroup, workload: Workload) -> dict[str, TracedValue]:
    """Return the connections and targets of a group's requests: its own, or those of the workload."""
    stated: dict[str, TracedValue] = {}
    for name in ("connection", "affinity"):
        own = user_group.group and getattr(user_group.group, name)
        stated[name] = TracedValue(
            only(own or getattr(workload, name)), f"{user_group.origin if own else WORKLOAD}.{name}"
        )
    return _stated(stated)


def _feeder(user_group: UserGroup, workload: Workload, task: Task) -> Job:
    """Where journeys take values from, in its own group or for all groups."""
    own = user_group.group and user_group.group.feeder
    feeder, origin = own or workload.feeder, f"{user_group.origin if own else WORKLOAD}.feeder"
    if feeder is None:
        return {}
    file = TracedValue(_path(feeder.file, task), f"{origin}.file")
    return {"feeder": TracedValue(in_us(feeder, origin) | {"file": file}, origin)}


def _calls(user_group: UserGroup, workload: Workload, task: Task) -> Job:
    """When the calls of a group begin."""
    arrivals = workload.open or (user_group.group.open if user_group.group else None)
    if arrivals:
        origin = f"{user_group.origin}.open"
        return {"open": TracedValue(_open(arrivals, origin, task), origin)}
    if workload.closed:
        origin = f"{user_group.origin}.closed"
        return {"closed": TracedValue(_closed(workload.closed, origin), origin)}
    assert user_group.group is not None
    return {"closed": TracedValue(_paced(user_group.group, user_group), user_group.origin)}


def _closed(closed: Closed, origin: str) -> Job:
    ends = {
        "successes_per_user": TracedValue(only(closed.successes), f"{origin}.successes"),
        "calls": TracedValue(only(closed.calls), f"{origin}.calls"),
        "calls_per_user": TracedValue(only(closed.requests), f"{origin}.requests"),
        "journeys_per_user": TracedValue(only(closed.journeys), f"{origin}.journeys"),
    }
    start_over = only(closed.start_over)
    made = {
        "users": TracedValue(closed.users.level, f"{origin}.users"),
        "think_us": TracedValue(closed.think_time.level.us, f"{origin}.think_time"),
        **_stated({"start_over_us": TracedValue(start_over and start_over.us, f"{origin}.start_over")}),
        **_stated({"attempts_per_user": TracedValue(only(closed.max_attempts), f"{origin}.max_attempts")}),
    }
    until = _stated(ends)
    return made | ({"until": until} if until else {})


def _paced(group: Group, user_group: UserGroup) -> Job:
    stated_by = "users" if group.users else "share"
    made: Job = {"users": TracedValue(user_group.users or 0, f"{user_group.origin}.{stated_by}")}
    rate = only(group.rate)
    if rate:
        every = TracedValue(max(round(1e6 / rate), 1), f"{user_group.origin}.rate")
        late = TracedValue(only(group.late) or "catch_up", f"{user_group.origin}.late")
        per = TracedValue(only(group.paces), f"{user_group.origin}.paces")
        made["pace"] = {"every_us": every, "late": late, **_stated({"per": per})}
    for name, written in (("think_us", "think_time"), ("start_over_us", "start_over")):
        pause = only(getattr(group, written))
        if pause is not None:
            made[name] = TracedValue(pause.us, f"{user_group.origin}.{written}")
    return made


def _open(arrivals: Arrivals, origin: str, task: Task) -> Job:
    schedule, spacing = _schedule(arrivals, origin, task)
    calls = only(arrivals.arrivals) if isinstance(arrivals, Open) else None
    made = {
        "schedule": schedule,
        "spacing": TracedValue(spacing, f"{origin}.spacing"),
        "users": TracedValue(arrivals.users.level, f"{origin}.users"),
        "max_in_flight": TracedValue(arrivals.in_flight.level, f"{origin}.in_flight"),
    }
    return made | _stated({"calls": TracedValue(calls, f"{origin}.arrivals")})


def _schedule(arrivals: Arrivals, origin: str, task: Task) -> tuple[Job, str]:
    """Return the schedule and how arrivals are placed on it."""
    spacing = only(arrivals.spacing) or "regular"
    if arrivals.schedule is None:
        rate = f"{origin}.rate"
        return {"constant": TracedValue({"rate": TracedValue(only(arrivals.rate), rate)}, rate)}, spacing
    schedule, origin = arrivals.schedule, f"{origin}.schedule"
    return _curve(schedule, origin, task), "poisson" if schedule.poisson else spacing


def _curve(schedule: Schedule, origin: str, task: Task) -> Job:
    below = f"{origin}.{schedule.kind}"
    if schedule.poisson:
        return {"constant": with_origins(schedule.poisson, below)}
    if schedule.trace:
        return {"trace": {"file": TracedValue(_path(schedule.trace.file.level, task), below)}}
    return {schedule.kind: with_origins(schedule.chosen, below)}


def _journeys(sends: Population, origin: str, headers: Mapping[str, str], task: Task) -> list[tuple[Job, str]]:
    if sends.request:
        return [({"steps": [_step(sends.request, REQUEST, f"{origin}.request", headers, task)]}, origin)]
    if sends.journey:
        return [_journey(sends.journey, f"{origin}.journey", headers, task)]
    several = depends.remaining(sends.journeys or [], _texts_of(task))
    return [_journey(journey, f"{origin}.journeys[{number}]", headers, task) for number, journey in several]


def _journey(journey: Journey, origin: str, headers: Mapping[str, str], task: Task) -> tuple[Job, str]:
    steps = [
        _step(step, step.name or step.path.level, f"{origin}.steps[{number}]", headers, task)
        for number, step in enumerate(journey.steps)
        if depends.applies(step.when, _texts_of(task))
    ]
    without = ("steps", "when")
    return {**in_us(journey, origin, without=without), "steps": TracedValue(steps, f"{origin}.steps")}, origin


def _step(step: Step | Request, name: str, origin: str, headers: Mapping[str, str], task: Task) -> TracedValue:
    # A JSON body is the user's own: nothing in it is a field of ours.
    made = _stated(in_us(step, origin, without=("json", "redirects", "repeat", "when", "items", *WAITS)))
    made |= {
        "name": TracedValue(name, f"{origin}.name"),
        "headers": TracedValue(merged(headers, step.headers), f"{origin}.headers"),
    }
    made |= {"query": TracedValue(_texts(step.query), f"{origin}.query")} if step.query is not None else {}
    return TracedValue(made | (_of_journeys(step, origin, headers, task) if isinstance(step, Step) else {}), origin)


def _of_journeys(step: Step, origin: str, headers: Mapping[str, str], task: Task) -> dict[str, TracedValue]:
    """Return the fields that only a step of a journey has."""
    parameters = _texts_of(task)
    fields = {
        "json": TracedValue(step.json_, f"{origin}.json"),
        "max_redirects": TracedValue(only(step.redirects), f"{origin}.redirects"),
        "repeat": TracedValue(depends.whole(step.repeat and step.repeat.level, parameters), f"{origin}.repeat"),
        "pause_us": _wait_us(step.pause, f"{origin}.pause", parameters),
        "until_expected": _until_expected(step.until_expected, f"{origin}.until_expected", parameters),
        "items": TracedValue(
            _items(step.items, f"{origin}.items", parameters) if step.items else None, f"{origin}.items"
        ),
        "form": TracedValue(_texts(step.form) if step.form is not None else None, f"{origin}.form"),
        "body_file": TracedValue(_path(step.body_file, task) if step.body_file else None, f"{origin}.body_file"),
        "expect": TracedValue(
            _expect(step.expect, f"{origin}.expect", parameters) if step.expect else None, f"{origin}.expect"
        ),
        "poll": TracedValue(_poll(step.poll, f"{origin}.poll", headers, task) if step.poll else None, f"{origin}.poll"),
    }
    return _stated(fields)


def _wait_us(wait: Levels[Wait] | None, origin: str, values: Mapping[str, str]) -> TracedValue:
    """Return how many microseconds a pause takes; nothing where the study leaves it open."""
    taken = depends.duration(only(wait), values)
    return TracedValue(taken and taken.us, origin)


def _until_expected(until: UntilExpected | None, origin: str, values: Mapping[str, str]) -> TracedValue:
    if until is None:
        return TracedValue(None, origin)
    every = _stated({"every_us": _wait_us(until.every, f"{origin}.every", values)})
    return TracedValue({**in_us(until, origin, without=("every",)), **every}, origin)


def _items(items: Items, origin: str, values: Mapping[str, str]) -> Job:
    carried = TracedValue(depends.whole(items.carried.level, values), f"{origin}.carried")
    return {"carried": carried, **_stated({"failed": TracedValue(items.failed, f"{origin}.failed")})}


def _poll(poll: Poll, origin: str, headers: Mapping[str, str], task: Task) -> Job:
    parameters = _texts_of(task)
    made = in_us(poll, origin, without=("expect", "until", "query"))
    made |= {
        "headers": TracedValue(merged(headers, poll.headers), f"{origin}.headers"),
        "until": TracedValue(_expect(poll.until, f"{origin}.until", parameters), f"{origin}.until"),
    }
    expect = poll.expect and TracedValue(_expect(poll.expect, f"{origin}.expect", parameters), f"{origin}.expect")
    made |= {"expect": expect} if expect else {}
    query = {"query": TracedValue(_texts(poll.query), f"{origin}.query")} if poll.query is not None else {}
    return {**made, **query}


def _expect(expect: Expect, origin: str, parameters: Mapping[str, str]) -> Job:
    """Fill in the parameters of an expectation; raises InputError for a place without a value."""
    try:
        return _expected(expect, origin, parameters)
    except InputError as error:
        raise InputError([replace(problem, path=problem.path or origin) for problem in error.problems]) from None


def _expected(expect: Expect, origin: str, parameters: Mapping[str, str]) -> Job:
    """Return the expectation with the workload's parameters filled in. A pattern matches them literally."""
    parameters = {**parameters, **environment.known(expect)}
    literal = {name: re.escape(value) for name, value in parameters.items()}
    made: Job = filled(rounds.in_us(expect, without=("json", "has", "count", "body_matches")), parameters)
    made |= {"body_matches": filled(expect.body_matches, literal)} if expect.body_matches else {}
    expected = filled(expect.json_ or {}, parameters).items()
    values = [throughout({"path": path, "equals": value}, f"{origin}.json.{path}") for path, value in expected]
    paths = enumerate(filled(expect.has or [], parameters))
    there = [throughout({"path": path}, f"{origin}.has[{number}]") for number, path in paths]
    counted = [
        throughout({"path": path, "count": depends.whole(count, parameters)}, f"{origin}.count.{path}")
        for path, count in (expect.count or {}).items()
    ]
    every = values + there + counted
    return made | ({"json": every} if every else {})


def _texts(values: Mapping[str, Levels[Text]]) -> dict[str, str]:
    return {name: depends.as_text(value.level) for name, value in values.items()}


def _path(name: str, task: Task) -> str:
    return str(task.inputs.path(name))


def _drain(task: Task) -> int:
    """How many microseconds answers are waited for: as long as any call may take, but not beyond the time limit."""
    left = task.limit_with_warm_up.us + GRACE.us - task.warm_up.us - duration(task.treatment.workload, task).us
    return min(longest_wait(task), max(left, GRACE.us))


def longest_wait(task: Task) -> int:
    """How many microseconds a call of a round may take at most."""
    workload, values = task.treatment.workload, _texts_of(task)
    senders = [
        user_group.group if user_group.group and user_group.group.sends else workload
        for user_group in user_groups(workload)
    ]
    return max((_wait(step) for sends in senders for step in _steps(sends, values)), default=0)


def _steps(sends: Population, values: Mapping[str, str]) -> Iterator[Step | Request]:
    """Yield the request, or the steps of journeys that apply with these ``values`` of placeholders."""
    if sends.request:
        yield sends.request
    several = [journey for _, journey in depends.remaining(sends.journeys or [], values)]
    for journey in [sends.journey] if sends.journey else several:
        yield from (step for step in journey.steps if depends.applies(step.when, values))


def _wait(step: Step | Request) -> int:
    poll = step.poll if isinstance(step, Step) else None
    return max(step.timeout.level.us, poll.limit.level.us if poll else 0)
