"""Everything that can be known to be wrong before anything is measured."""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import httpx

from patternbench import asking
from patternbench.drivers import choice, engine, environment, limits, registry, rounds
from patternbench.drivers.client import ClientError, ClientProblem
from patternbench.drivers.driver import Task
from patternbench.drivers.limits import STRATEGY
from patternbench.drivers.registry import ClientSpec
from patternbench.lab import startable, systems, tracing
from patternbench.lab.faults import links
from patternbench.lab.host.accounts import scratch
from patternbench.lab.host.processes import StartError
from patternbench.lab.software import engine as native
from patternbench.lab.systems import SystemFile
from patternbench.plan.expand import Plan, expand
from patternbench.plan.factors import with_levels
from patternbench.plan.scenarios import Scenario, content_id
from patternbench.plan.shares import ASSUMED, at_capacity
from patternbench.records.inputs import Inputs
from patternbench.run.before import evidence, inspection, watch_problems
from patternbench.run.round.fixture import RoundFixture
from patternbench.study.model.levels import only
from patternbench.study.model.system import Endpoint, NamedSystem, System, Trust, is_socket
from patternbench.study.models import Study
from patternbench.study.text import places
from patternbench.study.workload import depends
from patternbench.terms.problems import InputError, Problem, distinct, gathered
from patternbench.terms.units import Duration

SERVER_ERROR = 500
ANSWER_S = 5.0
"""The longest that the answer of a running system may take which tells whether it is ready."""
MOST_ASKED = 50
"""How many kinds of rounds ``plan`` asks the engine about, a process each; ``run`` asks about all."""
NOWHERE = Endpoint("http://127.0.0.1:1")
"""The target of rounds that are only asked about."""


@dataclass(frozen=True)
class AvailableClients:
    """The available clients, and why the others aren't available."""

    clients: dict[str, ClientSpec]
    left_out: dict[str, str]


def driver_problems(study: Study, plan: Plan) -> list[Problem]:
    """Problems of a study's rounds, and of clients that can't drive its load."""
    problems: list[Problem] = []
    with gathered(problems):
        evidence.check(study, plan)
    with gathered(problems):
        choice.check(plan.scenarios)
    return problems + choice.split_problems(study, plan.scenarios) + choice.start_problems(study)


def declared_problems(study: Study, plan: Plan) -> list[Problem]:
    """Problems that the study and the files of its parts show. Nothing is started."""
    settings = _setting_places(study)
    problems = list(places.expectation_problems(study.workload, settings))
    for client in dict.fromkeys(scenario.client for scenario in plan.scenarios):
        if client not in choice.engine_clients(study):
            problems += places.request_problems(study.workload, client, settings)
    problems += _dependence_problems(study, plan)
    clients = {name: registry.find(name, study.clients) for name in {s.client for s in plan.scenarios}}
    client_limits = {name: registry.limits_of(name, study.clients) for name in clients}
    for scenario in plan.scenarios:
        refused = limits.problems(scenario.client, client_limits[scenario.client], scenario.strategy)
        absent = registry.strategy_problems(clients[scenario.client], scenario.strategy)
        wrong = limits.contradictions(scenario.strategy)
        problems += [_in_study(problem, scenario) for problem in (*refused, *absent, *wrong)]
    return distinct(problems)


def system_problems(study: Study, inputs: Inputs) -> list[Problem]:
    """Problems of the system that a study names, and of its needs on this machine."""
    declared = study.system
    if not isinstance(declared, NamedSystem):
        return _authority_problems(declared.trust, inputs)
    system = systems.load(declared.name, inputs.study_folder)
    return startable.limits_problems(system, declared.given) + lacking(study, inputs)


def lacking(study: Study, inputs: Inputs) -> list[Problem]:
    """Return the needs of a study's system that this machine lacks. They refuse a run, but not a plan."""
    declared = study.system
    if not isinstance(declared, NamedSystem):
        return []
    system = systems.load(declared.name, inputs.study_folder)
    needed = startable.needs_problems(system, declared.given) + startable.network_problems(system, study.faults)
    return needed + tracing.problems(system.kinds(declared.given), study.traces)


def described_problems(study: Study, plan: Plan, inputs: Inputs, *, placed: bool = True) -> list[Problem]:
    """Problems of a study's files and settings, independent of this machine. Nothing is started.

    ``placed``: faults have to act on what the system's description has, and not on what else may be there.
    """
    problems = declared_problems(study, plan) + inspection.file_problems(plan, inputs)
    problems += _template_problems(study, plan, inputs)
    if isinstance(study.system, NamedSystem):
        system = systems.load(study.system.name, inputs.study_folder)
        problems += _setting_problems(system, study.system, plan) + _endpoint_problems(system, study, plan)
    problems += _fault_problems(study, plan, inputs) if placed else []
    problems += distinct([problem for scenario in plan.scenarios for problem in _belated_faults(scenario)])
    return problems + watch_problems.described(study, plan, inputs)


def _fault_problems(study: Study, plan: Plan, inputs: Inputs) -> list[Problem]:
    """Faults that would act nowhere in some scenario."""
    file = systems.file_of(study.system, inputs.study_folder) if study.faults else None
    expected = _faults_by_system(study, plan)
    problems = [problem for system, numbers in expected for problem in _misplaced_faults(study, system, numbers, file)]
    return distinct(problems)


def _faults_by_system(study: Study, plan: Plan) -> list[tuple[System, set[int]]]:
    """Each different system of a plan with the numbers of the faults that need their place in it.

    A fault needs its place where it acts in some scenario; one that acts in none needs it everywhere.
    """
    every, acting = set(range(len(study.faults))), dict[str, set[int]]()
    different = {content_id(scenario.system.configuration): scenario.system for scenario in plan.scenarios}
    for scenario in plan.scenarios:
        numbers = {number for number, fault in enumerate(scenario.faults) if fault.acts}
        acting.setdefault(content_id(scenario.system.configuration), set()).update(numbers)
    idle = every - set().union(*acting.values())
    return [(system, acting[key] | idle) for key, system in different.items()]


def _misplaced_faults(study: Study, system: System, numbers: set[int], file: SystemFile | None) -> list[Problem]:
    """Problems of the places of a study's faults in a system."""
    with suppress(InputError):  # settings that no component takes are reported separately
        topology = links.topology_of(system, file)
        return list(links.problems(study.faults, topology, numbers)) if topology else []
    return []


def _belated_faults(scenario: Scenario) -> Iterator[Problem]:
    """Yield windows that begin after the end of the round, whose level would never act."""
    lasting = only(scenario.workload.lasting)
    for number, fault in enumerate(scenario.faults):
        last = max((window.begins_us for window in fault.windows), default=0)
        if lasting and last >= lasting.us:
            message = f"begins at {Duration(last)}, when the round of {lasting} is over"
            yield Problem(message, f"faults[{number}].when", hint="let it begin earlier, or make rounds longer")


def _template_problems(study: Study, plan: Plan, inputs: Inputs) -> list[Problem]:
    """Places that name nothing in what the load engine sends."""
    if choice.engine_clients(study).isdisjoint(scenario.client for scenario in plan.scenarios):
        return []
    columns = inspection.feeder_columns(study.workload, inputs)
    headers, settings = study.system.sent_headers, _setting_places(study)
    return distinct(places.template_problems(study.workload, headers, columns, settings))


def _setting_places(study: Study) -> list[str]:
    """Return the names of placeholders for the settings that a study gives levels."""
    settings = study.system.settings if isinstance(study.system, NamedSystem) else {}
    return [depends.SETTING + name for name in settings]


def _dependence_problems(study: Study, plan: Plan) -> list[Problem]:
    """Parts that depend on a level that scenarios lack."""
    different = {_kind(scenario): (scenario.system, scenario.workload) for scenario in plan.scenarios}
    problems = [problem for system, workload in different.values() for problem in depends.problems(system, workload)]
    return problems + list(depends.never(list(different.values()), study.workload))


def _setting_problems(system: SystemFile, declared: NamedSystem, plan: Plan) -> list[Problem]:
    problems = [
        problem
        for name, levels in declared.given.items()
        for level in levels
        for problem in system.problems({name: level})
    ]
    return problems or _refused_settings(system, plan)


def _authority_problems(trust: Trust, inputs: Inputs) -> list[Problem]:
    """Whether the certificates that are to be trusted can be read."""
    try:
        _trust(trust, inputs)
    except ssl.SSLError:
        return [Problem("holds no certificate", path="system.ca", value=trust.ca, allowed="a PEM file")]
    except OSError as error:
        return [Problem(f"cannot be read: {error.strerror}", path="system.ca", value=trust.ca)]
    return []


def _refused_settings(system: SystemFile, plan: Plan) -> list[Problem]:
    """Return the problems of components with the settings of any scenario, single or combined."""
    every = _different_settings(plan)
    return distinct([problem for settings in every for problem in startable.settings_problems(system, settings)])


def _different_settings(plan: Plan) -> Iterable[dict[str, object]]:
    every = (scenario.system.setting_levels for scenario in plan.scenarios)
    return {content_id(settings): settings for settings in every}.values()


def _endpoint_problems(system: SystemFile, study: Study, plan: Plan) -> list[Problem]:
    """Only the engine sends to several endpoints in turn; another client would leave all but the first idle."""
    clients = {name for strategy in study.strategies for name in strategy.client}
    if clients <= choice.engine_clients(study) or (most := _most_endpoints(system, plan)) == 1:
        return []
    message = f"system `{system.name}` takes load at {most} endpoints in turn"
    allowed = f"client {choice.NATIVE} alone, or open, groups, or closed with a journey"
    return [Problem(message, path="workload", allowed=allowed)]


def _most_endpoints(system: SystemFile, plan: Plan) -> int:
    """Return the most endpoints that a system has in any scenario: entries may have replicas."""
    most = 1
    for settings in _different_settings(plan):
        with suppress(InputError):  # settings that no component takes are reported separately
            most = max(most, len(system.endpoints(settings)))
    return most


def available_clients(study: Study, plan: Plan, skip_unavailable: bool) -> AvailableClients:
    """Return the clients of a plan. Raises InputError naming each unavailable one, unless they may be skipped."""
    clients: dict[str, ClientSpec] = {}
    problems: dict[str, list[Problem]] = {}
    for name in dict.fromkeys(scenario.client for scenario in plan.scenarios):
        spec = registry.find(name, study.clients)
        lacking = [spec] if isinstance(spec, Problem) else registry.missing(spec)
        if isinstance(spec, ClientSpec) and not lacking:
            clients[name] = spec
        else:
            problems[name] = lacking
    if problems and not (skip_unavailable and clients):
        raise InputError([problem for group in problems.values() for problem in group])
    return AvailableClients(clients, {name: "; ".join(p.message for p in group) for name, group in problems.items()})


def lacking_clients(study: Study, plan: Plan) -> list[Problem]:
    """Return what the clients of a plan lack on this machine. That refuses a run, but not a plan."""
    problems: list[Problem] = []
    with gathered(problems):
        available_clients(study, plan, skip_unavailable=False)
    return problems


def without(plan: Plan, left_out: Iterable[str]) -> Plan:
    """Return the plan without the scenarios of clients that are left out."""
    gone = set(left_out)
    kept = tuple(scenario for scenario in plan.scenarios if scenario.client not in gone)
    left = {name: [s.levels[name] for s in kept if name in s.levels] for name in plan.factors}
    return replace(plan, scenarios=kept, factors=with_levels(plan.factors, left))


def expanded(study: Study, inputs: Inputs) -> Plan:
    """Return the plan of a study, with what the system that it names says of its settings."""
    if not isinstance(study.system, NamedSystem):
        return expand(study)
    return expand(study, systems.load(study.system.name, inputs.study_folder))


def check_system(study: Study, inputs: Inputs) -> None:
    """Raise InputError listing what is wrong with the system, as far as that is known before it is brought up."""
    problems = system_problems(study, inputs)
    if problems:
        raise InputError(problems)
    check_urls(study, inputs)


def check_reach(study: Study, inputs: Inputs, out: Path) -> None:
    """Raise InputError naming each component whose user cannot reach the folder of the run."""
    if isinstance(study.system, NamedSystem):
        system = systems.load(study.system.name, inputs.study_folder)
        problems = startable.reach_problems(system, study.system.given, out)
        if problems:
            raise InputError(problems)


def check_urls(study: Study, inputs: Inputs) -> None:
    """Raise InputError naming every URL of a system that should already run, and does not answer."""
    problems = unready(study.system, inputs, study.system.addresses)
    if problems:
        raise InputError(problems)


def unready(system: System, inputs: Inputs, urls: Collection[str]) -> list[Problem]:
    """Problems of the URLs of a running system that don't answer."""
    headers = {name: environment.resolved(text) for name, text in system.sent_headers.items()}
    return [
        problem
        for path, url in zip(system.paths(), system.addresses, strict=True)
        if url in urls
        for problem in _answer_problems(url, path, headers, system, inputs)
    ]


def _answer_problems(url: str, path: str, headers: dict[str, str], system: System, inputs: Inputs) -> list[Problem]:
    try:
        status = _requested(url, headers, system, inputs)
    except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
        hint = f"start it first, or correct `{path.removeprefix('system.')}`"
        return [Problem(f"does not answer: {error}", path=path, value=url, hint=hint)]
    allowed = "a status below 500"
    return [Problem(f"answers {status}", "system.ready", value=url, allowed=allowed)] if status >= SERVER_ERROR else []


def _requested(url: str, headers: dict[str, str], system: System, inputs: Inputs) -> int:
    """Return the status with which a URL answers the path that tells whether a system is ready."""
    socket, _, below = url.removeprefix("unix:").partition(":") if is_socket(url) else ("", "", "")
    requested = (f"http://localhost{below}" if socket else url).rstrip("/") + system.ready_path
    name = {"sni_hostname": system.trust.server_name} if system.trust.server_name else {}
    # Only the head is waited for: a body may be huge, inflate or never end.
    with (
        asking.client(asking.Bounds(ANSWER_S), verify=_trust(system.trust, inputs), uds=socket or None) as http,
        http.stream("GET", requested, headers=headers, extensions=name) as answer,
    ):
        return answer.status_code


def _trust(trust: Trust, inputs: Inputs) -> ssl.SSLContext | bool:
    if trust.verify is False:
        return False
    return ssl.create_default_context(cafile=inputs.path(trust.ca)) if trust.ca else True


@contextmanager
def scratch_fixture(inputs: Inputs) -> Iterator[RoundFixture]:
    """Yield a fixture whose logs go nowhere, for asking clients before the run has a folder."""
    with scratch("patternbench-") as folder, RoundFixture(folder, inputs) as fixture:
        yield fixture


def inexpressible(
    study: Study,
    scenarios: Iterable[Scenario],
    inputs: Inputs,
    reported: Collection[Problem],
    by_engine: Collection[str],
) -> list[Problem]:
    """Return the drivers' problems with scenarios, without those already reported at the same place or within it.

    ``by_engine`` are the clients whose rounds the load engine drives.
    """
    problems: list[Problem] = []
    drivable = [scenario for scenario in scenarios if not choice.problems(scenario)]
    try:
        with gathered(problems), scratch_fixture(inputs) as fixture:
            check_expressible(fixture, drivable, study, by_engine)
    except (StartError, ClientError) as error:
        if not reported:  # else a problem reported before may be the reason why a driver doesn't come up
            problems.append(Problem(str(error), "clients", hint="see that its URL is that of a client, and its log"))
    told_at = [_shortened(problem.path) for problem in reported]
    return [problem for problem in problems if not any(_is_within(path, _shortened(problem.path)) for path in told_at)]


def _is_within(path: str, around: str) -> bool:
    """Whether a path is another, or that of a part of it."""
    return path == around or (bool(around) and path.startswith((f"{around}.", f"{around}[")))


def _shortened(path: str) -> str:
    """Return a path as it is compared: the steps of a study's only journey may be named or not."""
    return path.replace(".steps[", "[")


def refused_by_engine(study: Study, plan: Plan, inputs: Inputs, reported: Collection[Problem]) -> list[Problem]:
    """Return the engine's problems with the first round of each kind that it would drive; none if it isn't built."""
    by_engine = choice.engine_clients(study)
    driven = (scenario for scenario in plan.scenarios if scenario.client in by_engine)
    kinds = {_kind(scenario): scenario for scenario in driven}
    requested = list(islice(kinds.values(), MOST_ASKED)) if native.find() else []
    return inexpressible(study, requested, inputs, reported, by_engine) if requested else []


def check_expressible(
    fixture: RoundFixture, scenarios: Iterable[Scenario], study: Study, by_engine: Collection[str]
) -> None:
    """Ask each driver once for each kind of round whether it can do it; raises InputError listing all problems."""
    problems: dict[tuple[str, str], Problem] = {}
    kinds = list(_kinds_of_rounds(fixture, scenarios, study))
    driven = [task for task, scenario in kinds if scenario.client in by_engine]
    found = iter(engine.check_each(driven, fixture.folder))
    for task, scenario in kinds:
        if scenario.client in by_engine:
            reported = _job_problems(task, scenario, next(found))
        else:
            reported = _round_problems(fixture, task, scenario, study)
        for problem in reported:
            problems.setdefault((problem.path, str(problem.value)), problem)
    if problems:
        raise InputError(list(problems.values()))


def _kinds_of_rounds(
    fixture: RoundFixture, scenarios: Iterable[Scenario], study: Study
) -> Iterator[tuple[Task, Scenario]]:
    """One scenario per load that the engine drives, with any faults; each scenario of a library's client."""
    seen = set()
    for scenario in scenarios:
        kind = _kind(scenario)
        if kind not in seen:
            seen.add(kind)
            targets = scenario.system.endpoints() or (NOWHERE,)
            asked = at_capacity(scenario, ASSUMED)
            task = Task(asked, targets, study.time_limit, study.longest_warm_up, 0, 0, fixture.inputs)
            yield replace(task, warm_up_on_top=choice.adds_warm_up(study), generators=study.generators), scenario


def _kind(scenario: Scenario) -> str:
    """Give a key shared by scenarios that differ only in their faults and in settings that don't concern their load."""
    system = scenario.system if depends.on_settings(scenario.workload) else scenario.system.without_settings
    return replace(scenario, faults=(), system=system).id


def _job_problems(task: Task, scenario: Scenario, found: Iterable[Problem]) -> list[Problem]:
    """Return the load engine's problems with a round, of which it ``found`` these."""
    problems = [_in_study(problem, scenario) for problem in found]
    return [*_too_long(task, Duration(0) if task.warm_up_on_top else task.warm_up), *problems]


def _round_problems(fixture: RoundFixture, task: Task, scenario: Scenario, study: Study) -> list[Problem]:
    """Return a client's problems with a round."""
    client = fixture.client(registry.required(scenario.client, study.clients.get(scenario.client)))
    body = rounds.client_round(task.treatment, task.targets[0].url, task.time_limit, task.seed)
    problems = [_in_study(_inexpressible(scenario, problem), scenario) for problem in client.check(body)]
    return [*_too_long(task, Duration(0)), *problems]


def _in_study(problem: Problem, scenario: Scenario) -> Problem:
    """Return a problem with a scenario's strategy at the place of that strategy in the study."""
    if not problem.path.startswith(STRATEGY):
        return problem
    return replace(problem, path=f"strategies[{scenario.declared}]{problem.path.removeprefix(STRATEGY)}")


def _too_long(task: Task, warm_up: Duration) -> list[Problem]:
    """Return a round that lasts longer than its time limit, its warm-up included, would always fail."""
    workload = task.treatment.workload
    path = "workload.duration" if workload.groups else f"workload.{workload.kind}.duration"
    lasting = only(workload.lasting)
    if warm_up.us >= task.time_limit.us:
        allowed = f"less than time_limit ({task.time_limit})"
        return [Problem("takes the whole round", path="warm_up", value=str(warm_up), allowed=allowed)]
    if lasting is None or lasting.us + warm_up.us <= task.time_limit.us:
        return []
    message = f"with its warm-up of {warm_up} the round is longer than time_limit ({task.time_limit})"
    return [Problem(message, path=path, value=str(lasting), hint="shorten it, or raise `time_limit`")]


def _inexpressible(scenario: Scenario, problem: ClientProblem) -> Problem:
    """Return a client's problems with a round, at their places in the study."""
    path = rounds.round_origins(scenario).origin(problem.path)
    message = f"client {scenario.client}: {problem.message}"
    return Problem(message, path, value=problem.value, allowed=problem.allowed or "")
