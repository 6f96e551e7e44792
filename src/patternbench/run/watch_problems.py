"""Problems of a study's requests to observers, as far as they are known before its system is up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from patternbench.lab import systems
from patternbench.lab.faults import ways
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import content_id
from patternbench.records.inputs import Inputs
from patternbench.study.models import Study
from patternbench.study.problems import InputError, Problem, did_you_mean, distinct
from patternbench.study.watching import PrometheusAt

HOW = "add a component `prometheus` to the system file, or name a running Prometheus: `prometheus: URL`"


def described(study: Study, plan: Plan, inputs: Inputs) -> list[Problem]:
    """Series for which some scenario's system has nobody to answer; nothing is started."""
    prometheus = study.watch.prometheus
    if not study.series or isinstance(prometheus, PrometheusAt):
        return []
    return distinct(list(_without(prometheus, study, plan, inputs)))


def _without(prometheus: str, study: Study, plan: Plan, inputs: Inputs) -> Iterator[Problem]:
    path = "prometheus" if study.prometheus else "series"
    for names in _components(study, plan, inputs):
        if prometheus not in names:
            message = f"the system has no component `{prometheus}` to query for the series"
            hint = did_you_mean(prometheus, names) or HOW
            yield Problem(message, path, allowed=", ".join(names), hint=hint)


def _components(study: Study, plan: Plan, inputs: Inputs) -> Iterator[list[str]]:
    """The names of the components of each different system."""
    file = systems.file_of(study.system, inputs.beside)
    for system in {content_id(scenario.system.configuration): scenario.system for scenario in plan.scenarios}.values():
        with suppress(InputError):  # settings that no component takes are reported separately
            topology = ways.topology_of(system, file)
            yield [launch.name for launch in topology.launches] if topology else []
