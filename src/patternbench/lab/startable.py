"""Whether a system can start here: what it needs, which settings and limits would be refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from patternbench.lab import topologies
from patternbench.lab.component import Component
from patternbench.lab.components import KINDS
from patternbench.lab.components.compose import Compose
from patternbench.lab.components.envoy import Envoy
from patternbench.lab.config.programs import Program
from patternbench.lab.containers import network
from patternbench.lab.host import accounts, cgroups
from patternbench.lab.host.launch import Launch, ResourceLimits
from patternbench.lab.software.needs import Need
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Topology
from patternbench.study.faults import Fault
from patternbench.study.model.placement import CONTAINERS, IN, PROCESSES, resource_of
from patternbench.terms.problems import InputError, Problem, distinct, gathered

LIMITS = ("memory", "cpu")
"""The settings of a program that only act where the machine has control groups for us."""
NOTHING_IN_CONTAINERS = "system.in"
"""Where a study asks for containers of a system that has none."""


def needs(system: SystemFile, levels: Mapping[str, Sequence[object]] | None = None) -> list[Need]:
    """Return the needs of a system's components on this machine: of all, or of those that some levels use."""
    # Unknown kinds are reported with their settings.
    kinds = (KINDS[kind] for kind in dict.fromkeys(system.kinds(levels)) if kind in KINDS)
    as_process = PROCESSES in (levels or {}).get(IN, [PROCESSES])
    by_kind = [need for kind in kinds if as_process or not kind.has_image for need in kind.needs()]
    own = [need for settings in _one_by_one(levels or {}) for need in _own_needs(system, settings)]
    return list(dict.fromkeys(by_kind + own))


def proxy_needs() -> list[Need]:
    """Return the needs of the fault proxy before a system that already runs."""
    return list(Envoy.needs())


def _one_by_one(levels: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    """Yield the first level of each setting, then each other level with the first ones of the rest."""
    first = {name: values[0] for name, values in levels.items() if values}
    yield first
    yield from ({**first, name: value} for name, values in levels.items() for value in values[1:])


def _own_needs(system: SystemFile, settings: Mapping[str, object]) -> Iterator[Need]:
    """Yield the needs of components by their own settings."""
    for launch in _described(system, settings):
        yield from launch.needs


def _described(system: SystemFile, settings: Mapping[str, object]) -> Iterator[Launch]:
    """Yield the launches of a system's components. Those that can't be described are reported as problems elsewhere."""
    with suppress(InputError):
        entries = system.with_settings(settings)
        registry = topologies.registry_of(system, settings, entries)
        for entry in entries:
            with suppress(InputError):
                yield topologies.launch_of(entry, registry)


def needs_problems(system: SystemFile, levels: Mapping[str, Sequence[object]]) -> list[Problem]:
    """Return the needs that this machine lacks, of the components that these levels of a system's settings use."""
    message = "system `{}` cannot start: {} is missing"
    lacking = [need for need in needs(system, levels) if not need.met]
    return [Problem(message.format(system.name, need.name), path="system", hint=need.how) for need in lacking]


def limits_problems(system: SystemFile, levels: Mapping[str, Collection[object]]) -> list[Problem]:
    """Return the settings with several levels that are limits of components, where this machine lets none act."""
    problems = _resources_without_effect(levels)
    for name, kind, _ in system.with_settings({}):
        for field in LIMITS if issubclass(KINDS.get(kind, Component), Program) else ():
            varied = [setting for setting in system.settings_of(name, field) if len(levels.get(setting, ())) > 1]
            why = cgroups.refusal(ResourceLimits(memory=1, cores=1.0)) if varied else ""
            problems += [_without_effect(setting, field, name, why) for setting in varied if why]
    return distinct(problems)


def _resources_without_effect(levels: Mapping[str, Collection[object]]) -> list[Problem]:
    """Return what a study lets services use, where they run as processes that nothing here can limit."""
    asked = [resource for name in levels if (resource := resource_of(name)) and resource[1] != "replicas"]
    in_containers = CONTAINERS in levels.get(IN, ())
    why = cgroups.refusal(ResourceLimits(memory=1, cores=1.0)) if asked and not in_containers else ""
    hint = "say `in: containers`, or measure on another machine"
    return [
        Problem(f"would have no effect on processes: {why}", f"system.services.{service}.{what}", hint=hint)
        for service, what in asked
        if why
    ]


def _without_effect(setting: str, field: str, component: str, why: str) -> Problem:
    message = f"its levels would have no effect: {field} of {component} cannot be limited, because {why}"
    return Problem(message, f"system.settings.{setting}", hint="give it one level, or measure on another machine")


def network_problems(system: SystemFile, faults: Sequence[Fault]) -> list[Problem]:
    """Return the faults on links between containers whose networks no one can enter on this machine."""
    projects = {name for name, kind, _ in system.with_settings({}) if kind == Compose.kind}
    ends = [{end.partition(".")[0] for end in fault.link or () if "." in end} for fault in faults]
    entering = [number for number, names in enumerate(ends) if names & projects]
    why = network.lacking() if entering else ""
    return [Problem(why, f"faults[{number}].where") for number in entering if why]


def reach_problems(system: SystemFile, levels: Mapping[str, Sequence[object]], folder: Path) -> list[Problem]:
    """Return the users of components that cannot reach the folder in which their files would be."""
    launches = [launch for settings in _one_by_one(levels) for launch in _described(system, settings)]
    users = dict.fromkeys((launch.name, launch.user) for launch in launches if launch.nobody_else)
    found = ((name, accounts.reach_problem(user, folder)) for name, user in users)
    return distinct(_placed(system, problem.below(name)) for name, problem in found if problem)


def settings_problems(system: SystemFile, settings: Mapping[str, object]) -> list[Problem]:
    """Return the problems of these settings for the components of a system.

    Each is reported at the setting that it comes from, or else at its line in the system file.
    """
    problems: list[Problem] = []
    with gathered(problems):
        problems += _refused(system, settings)
    return distinct(_placed(system, problem) for problem in problems)


def _refused(system: SystemFile, settings: Mapping[str, object]) -> list[Problem]:
    entries = system.with_settings(settings)
    registry, launches, problems = topologies.registry_of(system, settings, entries), [], list[Problem]()
    for entry in entries:
        with gathered(problems):
            launches.append(topologies.launch_of(entry, registry))
    if settings.get(IN) == CONTAINERS and not problems and not any(launch.container for launch in launches):
        return [_nothing_contained(launches)]
    return problems or list(Topology(tuple(launches), tuple(system.endpoints(settings))).problems())


def _nothing_contained(launches: Sequence[Launch]) -> Problem:
    kinds = ", ".join(dict.fromkeys(launch.kind for launch in launches))
    known = ", ".join(name for name, kind in KINDS.items() if kind.has_image)
    message = f"none of its components ({kinds}) runs in a container"
    return Problem(message, NOTHING_IN_CONTAINERS, allowed=f"a system with one of {known}; others stay processes")


def _placed(system: SystemFile, problem: Problem) -> Problem:
    """Return a problem whose path begins with a component, where its author can mend it."""
    if problem.path == NOTHING_IN_CONTAINERS:
        return problem
    component, _, field = problem.path.partition(".")
    settings = system.settings_of(component, field)
    return replace(problem, path=f"system.settings.{settings[0]}") if len(settings) == 1 else system.placed(problem)


def check_settings(system: SystemFile, settings: Mapping[str, object]) -> None:
    """Raise InputError listing what the components of a system would refuse of these settings."""
    problems = settings_problems(system, settings)
    if problems:
        raise InputError(problems)


def check_needs(system: SystemFile, settings: dict[str, object]) -> None:
    """Raise InputError naming what a system needs with these settings that this machine lacks."""
    problems = needs_problems(system, {name: [value] for name, value in settings.items()})
    if problems:
        raise InputError(problems)
