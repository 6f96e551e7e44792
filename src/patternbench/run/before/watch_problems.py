"""Problems of a study's requests to observers, as far as they are known before its system is up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from patternbench.lab import systems, tracing
from patternbench.lab.faults import links
from patternbench.lab.host.launch import Launch
from patternbench.lab.topology import Topology
from patternbench.observe.registry import needed_by
from patternbench.observe.seam import NeededComponent
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import content_id
from patternbench.records.inputs import Inputs
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem, did_you_mean, distinct

SERVICE = ".SERVICE"
"""How messages write a service of a Compose project, after the component's name."""


def described(study: Study, plan: Plan, inputs: Inputs) -> list[Problem]:
    """Return requests that some scenario's system cannot fulfil; nothing is started."""
    return _unanswered(study, plan, inputs) + _unspoken(study, plan, inputs)


def _unspoken(study: Study, plan: Plan, inputs: Inputs) -> list[Problem]:
    """Components that would send their spans by a protocol that the receiver doesn't speak."""
    if study.traces is None:
        return []
    systems_of_plan = _launches(study, plan, inputs)
    return distinct([problem for launches in systems_of_plan for problem in tracing.protocol_problems(launches)])


def _unanswered(study: Study, plan: Plan, inputs: Inputs) -> list[Problem]:
    """Components that an observer asks and some scenario's system lacks."""
    needed = needed_by(study.watch)
    if not needed:
        return []
    systems_of_plan = [_names(topology) for topology in _topologies(study, plan, inputs)]
    together = list(dict.fromkeys(name for names in systems_of_plan for name in names))
    asked = [(one, [together] if one.somewhere else systems_of_plan) for one in needed]
    return distinct([_missing(one, names) for one, each in asked for names in each if not _has(names, one.name)])


def _names(topology: Topology | None) -> list[str]:
    """Return the components of a system, the entries of its file that several come from, and services in words."""
    if topology is None:
        return []
    services = [launch.name + SERVICE for launch in topology.launches if launch.contained]
    return list(dict.fromkeys([*(launch.name for launch in topology.launches), *topology.groups, *services]))


def _has(names: Sequence[str], name: str) -> bool:
    """Whether a system has a component. The services of a Compose project are known to its engine alone."""
    project, dot, service = name.partition(".")
    return name in names or bool(dot and service and project + SERVICE in names)


def _missing(needed: NeededComponent, names: Sequence[str]) -> Problem:
    message = f"the system has no component `{needed.name}` {needed.purpose}"
    hint = did_you_mean(needed.name, names) or needed.hint
    return Problem(message, needed.path, allowed=", ".join(names), hint=hint)


def _launches(study: Study, plan: Plan, inputs: Inputs) -> Iterator[Sequence[Launch]]:
    """Yield the components of each different system; none of one that runs by itself."""
    yield from (topology.launches if topology else [] for topology in _topologies(study, plan, inputs))


def _topologies(study: Study, plan: Plan, inputs: Inputs) -> Iterator[Topology | None]:
    """Yield each different system; None for one that runs by itself."""
    file = systems.file_of(study.system, inputs.study_folder)
    for system in {content_id(scenario.system.configuration): scenario.system for scenario in plan.scenarios}.values():
        with suppress(InputError):  # settings that no component takes are reported separately
            yield links.topology_of(system, file)
