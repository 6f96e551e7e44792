"""Everything that can be known to be wrong before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from patternbench.drivers import choice, engine, registry, rounds
from patternbench.drivers.driver import Task
from patternbench.drivers.registry import ClientSpec
from patternbench.lab import bench, systems
from patternbench.lab.systems import SystemFile
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import Scenario, content_id
from patternbench.run.stage import Stage
from patternbench.study.models import Study
from patternbench.study.problems import InputError, Problem
from patternbench.study.units import Duration

SERVER_ERROR = 500
NOWHERE = "http://127.0.0.1:1"
"""The target of rounds that are only asked about."""


@dataclass(frozen=True)
class Cast:
    """Who takes part: the clients that can be had, and why the others cannot."""

    clients: dict[str, ClientSpec]
    left_out: dict[str, str]


def system_problems(study: Study, plan: Plan, beside: Path) -> list[Problem]:
    """What is wrong with the system a study names, its settings, and what it needs on this machine."""
    if study.system.url:
        return []
    system = systems.load(str(study.system.name), beside)
    levels = {name: level for name, values in study.system.settings.items() for level in values}
    found = [
        problem
        for name in levels
        for level in study.system.settings[name]
        for problem in system.problems({name: level})
    ]
    found = found or _refused_settings(system, plan)
    return found + _endpoint_problems(system, study) + bench.needs_problems(system, study.system.settings)


def _refused_settings(system: SystemFile, plan: Plan) -> list[Problem]:
    """What the components refuse of the settings of any scenario, alone or together."""
    given = {content_id(settings): settings for settings in map(_settings, plan.scenarios)}
    found = [problem for settings in given.values() for problem in bench.settings_problems(system, settings)]
    return list({str(problem): problem for problem in found}.values())


def _settings(scenario: Scenario) -> dict[str, Any]:
    return scenario.config["system"].get("settings") or {}


def _endpoint_problems(system: SystemFile, study: Study) -> list[Problem]:
    """Only the engine sends to several endpoints in turn; another client would leave all but the first idle."""
    if len(system.endpoints) == 1 or study.workload.engine_only:
        return []
    message = f"system `{system.name}` takes load at {len(system.endpoints)} endpoints in turn"
    return [Problem(message, path="workload", allowed="open, groups, or closed with a journey")]


def cast_of(study: Study, plan: Plan, skip_unavailable: bool) -> Cast:
    """The clients of a plan; raises InputError naming each that cannot be had, unless they may be skipped."""
    clients: dict[str, ClientSpec] = {}
    problems: dict[str, list[Problem]] = {}
    for name in dict.fromkeys(scenario.client for scenario in plan.scenarios):
        found = registry.find(name, study.clients)
        lacking = [found] if isinstance(found, Problem) else registry.missing(found)
        if isinstance(found, ClientSpec) and not lacking:
            clients[name] = found
        else:
            problems[name] = lacking
    if problems and not (skip_unavailable and clients):
        raise InputError([problem for group in problems.values() for problem in group])
    return Cast(clients, {name: "; ".join(p.message for p in group) for name, group in problems.items()})


def without(plan: Plan, left_out: Iterable[str]) -> Plan:
    """The plan without the scenarios of clients that are left out."""
    gone = set(left_out)
    kept = tuple(scenario for scenario in plan.scenarios if scenario.client not in gone)
    factors = {
        name: [level for level in levels if any(s.levels.get(name) == level for s in kept)]
        for name, levels in plan.factors.items()
    }
    return replace(plan, scenarios=kept, factors={name: levels for name, levels in factors.items() if levels})


def check_url(study: Study) -> None:
    """Raise InputError when a system that should already run does not answer."""
    if not study.system.url:
        return
    url = study.system.url.rstrip("/") + study.system.ready
    headers = {name: rounds.resolved(text) for name, text in study.system.headers.items()}
    try:
        status = httpx.get(url, headers=headers, timeout=5.0).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        hint = f"start it first, or mend `url`; try `curl -i {url}`"
        raise InputError(Problem(f"does not answer: {error}", path="system.url", value=url, hint=hint)) from None
    if status >= SERVER_ERROR:
        raise InputError(Problem(f"answers {status}", path="system.ready", value=url, allowed="a status below 500"))


@contextmanager
def scratch_stage(cast: Cast, beside: Path) -> Iterator[Stage]:
    """A stage whose logs go nowhere, for asking clients before the run has a folder."""
    with TemporaryDirectory(prefix="patternbench-") as folder, Stage(Path(folder), cast.clients, beside) as stage:
        yield stage


def check_expressible(stage: Stage, scenarios: Iterable[Scenario], study: Study) -> None:
    """Ask each driver once for each kind of round whether it can do it; raises InputError listing all problems."""
    problems: dict[tuple[str, str], Problem] = {}
    for task, scenario in _kinds_of_rounds(stage, scenarios, study):
        for problem in _driver_problems(stage, task, scenario):
            problems.setdefault((problem.path, str(problem.value)), problem)
    if problems:
        raise InputError(list(problems.values()))


def _kinds_of_rounds(stage: Stage, scenarios: Iterable[Scenario], study: Study) -> Iterator[tuple[Task, Scenario]]:
    """One scenario for each load that the engine drives, whatever the faults; each scenario of a library's client."""
    seen = set()
    for scenario in scenarios:
        load = {**scenario.config, "faults": {}, "system": scenario.config["system"].get("headers", {})}
        kind = content_id(load)
        if kind not in seen:
            seen.add(kind)
            task = Task(scenario.config, NOWHERE, study.time_limit, study.warm_up, 0, 0, stage.beside)
            yield task, scenario


def _driver_problems(stage: Stage, task: Task, scenario: Scenario) -> list[Problem]:
    if choice.needs_engine(task.config["workload"]):
        return [*_too_long(task), *engine.check(task, stage.folder)]
    client = stage.client(scenario.client, lambda _: None)
    body = rounds.body(task.config, task.target, task.time_limit, task.seed)
    return [*_too_long(task), *(_inexpressible(scenario.client, found) for found in client.check(body))]


def _too_long(task: Task) -> list[Problem]:
    """A round that lasts longer than its time limit would always fail."""
    workload = task.config["workload"]
    kind = next(name for name in ("closed", "open", "groups") if name in workload)
    place = "workload.duration" if kind == "groups" else f"workload.{kind}.duration"
    lasting = (workload if kind == "groups" else workload[kind]).get("duration")
    warm_up = task.warm_up.us if choice.needs_engine(workload) else 0
    if lasting is None or lasting.us + warm_up <= task.time_limit.us:
        return []
    message = f"with its warm-up of {Duration(warm_up)} the round is longer than time_limit ({task.time_limit})"
    return [Problem(message, path=place, value=str(lasting), hint="shorten it, or raise `time_limit`")]


def _inexpressible(client: str, found: dict[str, Any]) -> Problem:
    message = f"client {client}: {found.get('message', 'cannot express this')}"
    return Problem(
        message, str(found.get("path", "")), value=found.get("value"), allowed=str(found.get("allowed") or "")
    )
