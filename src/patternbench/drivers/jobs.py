"""From a scenario to the job that the load engine is given (contracts/load): the same configuration in its units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from patternbench.drivers import rounds
from patternbench.drivers.driver import Task
from patternbench.study.places import filled
from patternbench.study.units import Duration

CONTRACT = 1
REQUEST = "request"
"""The name of the only step of a workload without a journey."""
ALL_SHARES = 100

Node = Mapping[str, Any]
Job = dict[str, Any]


def job(task: Task) -> Job:
    """The job of one round; times in whole microseconds, files as absolute paths."""
    workload = task.config["workload"]
    groups = [_group(group, workload, task) for group in populations(workload)]
    return {
        "contract": CONTRACT,
        "seed": task.seed,
        "targets": [asdict(target) for target in task.targets],
        **_tls(task),
        "constants": {**rounds.parameters(workload), "round": str(task.number)},
        "warm_up_us": task.warm_up.us,
        "duration_us": duration(workload, task).us,
        "drain_us": _longest_wait(groups),
        "groups": groups,
        **_client(task.config),
    }


def _tls(task: Task) -> Job:
    """Whom to trust, where load goes straight to a system; what is not said: the operating system's authorities."""
    system = task.config["system"]
    if not any(target.url.startswith("https:") for target in task.targets):
        return {}
    made = {name: system[name] for name in ("verify", "server_name") if name in system}
    return {"tls": made | ({"ca_file": _path(system["ca"], task)} if "ca" in system else {})}


def _client(config: Node) -> Job:
    """What the client does about slow and failing calls; nothing for the baseline."""
    stack = policies(config["strategy"])
    pause = config["workload"].get("closed", {}).get("rejected_pause")
    return ({"policies": stack} if stack else {}) | ({"rejected_pause_us": pause.us} if pause else {})


def policies(strategy: Node) -> list[Job]:
    """A strategy as the engine's stack, every parameter said; a retry alone hears no ``Retry-After``, as everywhere."""
    ((kind, given),) = ((name, part) for name, part in strategy.items() if name != "name")
    if kind == "stack":
        return [_policy(*next(iter(entry.items()))) for entry in given]
    unheard = {"retry_after_max": Duration(0)} if kind == "retry" else {}
    return [] if kind == "baseline" else [_policy(kind, {**given, **unheard})]


def _policy(kind: str, given: Any) -> Job:
    return {kind: {"after_us": given.us} if isinstance(given, Duration) else rounds.in_us(dict(given))}


def duration(workload: Node, task: Task) -> Duration:
    """How long calls begin after the warm-up; what a count ends may take the rest of the time limit."""
    kind = workload.get("closed") or workload.get("open") or workload
    stairs = workload.get("open", {}).get("schedule", {}).get("steps")
    if kind.get("duration"):
        return Duration(kind["duration"].us)
    if stairs and not kind.get("arrivals"):
        return Duration(max(sum(stair["for"].us for stair in stairs) - task.warm_up.us, 1))
    return Duration(max(task.time_limit.us - task.warm_up.us, 1))


def populations(workload: Node) -> list[Node]:
    """The groups of a workload; one that has none is a single group called ``all``."""
    if "groups" not in workload:
        return [{"name": "all"}]
    groups = workload["groups"]
    shares = [group["share"] for group in groups if "share" in group]
    counts = iter(apportioned(workload["users"], shares) if shares else [])
    return [{**group, "users": next(counts)} if "share" in group else group for group in groups]


def apportioned(users: int, shares: list[float]) -> list[int]:
    """Whole users for each share in percent, by largest remainders, so that they add up to all users."""
    exact = [users * share / ALL_SHARES for share in shares]
    whole = [int(part) for part in exact]
    by_remainder = sorted(range(len(shares)), key=lambda place: whole[place] - exact[place])
    for place in by_remainder[: users - sum(whole)]:
        whole[place] += 1
    return whole


def _group(group: Node, workload: Node, task: Task) -> Job:
    feeder = group.get("feeder") or workload.get("feeder")
    own = any(group.get(name) for name in ("request", "journey", "journeys"))
    headers = {**task.config["system"].get("headers", {}), **(group.get("headers") or {})}
    made = {
        "name": group["name"],
        "workload": _calls(group, workload, task),
        "journeys": _journeys(group if own else workload, headers, task),
    }
    return made | ({"feeder": {**feeder, "file": _path(feeder["file"], task)}} if feeder else {})


def _calls(group: Node, workload: Node, task: Task) -> Job:
    """When the calls of a group begin."""
    arrivals = workload.get("open") or group.get("open")
    if arrivals:
        return {"open": _open(arrivals, task)}
    return {"closed": _closed(workload["closed"]) if "closed" in workload else _paced(group)}


def _closed(closed: Node) -> Job:
    ends = {"successes": "successes_per_user", "requests": "calls_per_user"}
    until = {new: closed[old] for old, new in ends.items() if old in closed}
    return {"users": closed["users"], "think_us": closed["think_time"].us} | ({"until": until} if until else {})


def _paced(group: Node) -> Job:
    made: Job = {"users": group["users"]}
    if group.get("rate"):
        made["pace"] = {"every_us": max(round(1e6 / group["rate"]), 1), "late": group.get("late") or "catch_up"}
    for new, old in (("think_us", "think_time"), ("start_over_us", "start_over")):
        if group.get(old):
            made[new] = group[old].us
    return made


def _open(workload: Node, task: Task) -> Job:
    schedule, spacing = _schedule(workload, task)
    made = {
        "schedule": schedule,
        "spacing": spacing,
        "users": workload["users"],
        "max_in_flight": workload["in_flight"],
    }
    return made | ({"calls": workload["arrivals"]} if "arrivals" in workload else {})


def _schedule(workload: Node, task: Task) -> tuple[Job, str]:
    """The schedule and how arrivals are placed on it."""
    spacing = workload.get("spacing") or "regular"
    if "rate" in workload:
        return {"constant": {"rate": workload["rate"]}}, spacing
    ((kind, given),) = workload["schedule"].items()
    if kind == "poisson":
        return {"constant": dict(given)}, "poisson"
    if kind == "trace":
        return {"trace": {"file": _path(given["file"], task)}}, spacing
    if kind == "steps":
        return {"steps": [rounds.in_us(stair) for stair in given]}, spacing
    return {kind: rounds.in_us(given)}, spacing


def _journeys(sends: Node, headers: Mapping[str, str], task: Task) -> list[Job]:
    if sends.get("request"):
        return [{"steps": [_step({"name": REQUEST, **sends["request"]}, headers, task)]}]
    journeys = sends["journeys"] if "journeys" in sends else [sends["journey"]]
    return [{**journey, "steps": [_step(step, headers, task) for step in journey["steps"]]} for journey in journeys]


def _step(step: Node, headers: Mapping[str, str], task: Task) -> Job:
    # A JSON body is the user's own: nothing in it is a field of ours.
    ours = {name: value for name, value in step.items() if name != "json"}
    made = {name: value for name, value in rounds.in_us(ours).items() if value is not None}
    made |= {name: step[name] for name in ("json",) if name in step}
    made |= {"name": step.get("name") or step["path"], "headers": _headers(headers, step)}
    made |= {"max_redirects": made.pop("redirects")} if "redirects" in made else {}
    made |= {name: _texts(step[name]) for name in ("query", "form") if name in step}
    if "body_file" in step:
        made["body_file"] = _path(step["body_file"], task)
    known = rounds.parameters(task.config["workload"])
    if "expect" in step:
        made["expect"] = _expect(step["expect"], known)
    if "poll" in step:
        made["poll"] = _poll(step["poll"], headers, known)
    return made


def _poll(poll: Node, headers: Mapping[str, str], known: Mapping[str, str]) -> Job:
    made: Job = dict(rounds.in_us(dict(poll)))
    made |= {"headers": _headers(headers, poll)}
    made |= {name: _expect(poll[name], known) for name in ("expect", "until") if name in poll}
    return made | ({"query": _texts(poll["query"])} if "query" in poll else {})


def _headers(shared: Mapping[str, str], step: Node) -> dict[str, str]:
    """Headers with what the environment holds filled in; a step's own go before its group's."""
    return {name: rounds.resolved(text) for name, text in {**shared, **(step.get("headers") or {})}.items()}


def _expect(expect: Node, known: Mapping[str, str]) -> Job:
    """What is expected, with the workload's parameters filled in; a pattern matches them as they are written."""
    literal = {name: re.escape(value) for name, value in known.items()}
    given = {name: filled(part, literal if name == "body_matches" else known) for name, part in expect.items()}
    return _expectation(given)


def _expectation(expect: Node) -> Job:
    made = {name: expect[name] for name in ("statuses", "body_contains", "body_matches") if name in expect}
    values = [{"path": path, "equals": value} for path, value in (expect.get("json") or {}).items()]
    there = [{"path": path} for path in expect.get("has") or []]
    return made | ({"json": values + there} if values or there else {})


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: rounds.as_text(value) for name, value in values.items()}


def _path(name: str, task: Task) -> str:
    return str(task.inputs.path(name))


def _longest_wait(groups: list[Job]) -> int:
    """Answers are waited for as long as any call may take, so that none is cut off."""
    steps = [step for group in groups for journey in group["journeys"] for step in journey["steps"]]
    return max(int(max(step["timeout_us"], step.get("poll", {}).get("limit_us", 0))) for step in steps)
