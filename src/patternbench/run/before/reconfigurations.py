"""The changes between two rounds: which systems change while they run, and which components are started.

All of it is known from descriptions alone; nothing is started here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from patternbench.lab import systems, topologies
from patternbench.lab.faults import links
from patternbench.lab.host import changes
from patternbench.lab.host.launch import Launch
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Topology, in_order
from patternbench.lab.tracing import traced, tracing_of
from patternbench.plan.order import by_system
from patternbench.plan.scenarios import Scenario
from patternbench.records.inputs import Inputs
from patternbench.study.model.system import NamedSystem, System, Trust, UrlSystem
from patternbench.study.models import Study
from patternbench.study.watching import sampled

Starts = Mapping[str, str]
"""The components that are started before a round, with the reason of each."""


def topology_of(system: System, inputs: Inputs, file: SystemFile | None = None) -> Topology:
    """Return the topology to launch for a concrete system. ``file`` describes a system by name."""
    if isinstance(system, NamedSystem):
        return topologies.of_file(file or systems.load(system.name, inputs.study_folder), system.setting_levels)
    if isinstance(system, UrlSystem):
        return topologies.of_url(system.url.level, _trusted(system.trust, inputs))
    return topologies.direct([endpoint.url for endpoint in system.endpoints()])


def _trusted(trust: Trust, inputs: Inputs) -> dict[str, object]:
    """Return the authorities that the fault proxy trusts, as its settings."""
    settings: dict[str, object] = {"ca": str(inputs.path(trust.ca)) if trust.ca else None}
    settings |= {"verify": trust.verify, "server_name": trust.server_name}
    return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class Setup:
    """The components of a scenario: its launches in the order of starting, and a key.

    Scenarios with the same key need no start between them. If nothing of a system can change while it runs, those are
    only the scenarios of the same system.
    """

    launches: tuple[Launch, ...]
    key: str


class Reconfigurations:
    """The starts between the rounds of a study."""

    def __init__(self, study: Study, inputs: Inputs) -> None:
        self._study, self._inputs = study, inputs
        self._file = systems.file_of(study.system, inputs.study_folder)
        self._setups: dict[str, Setup] = {}
        self._between: dict[tuple[str, str], Starts] = {}

    def group(self, scenario: Scenario) -> str:
        """Return a text that is the same for scenarios whose systems become one another without a start."""
        return self._setup(scenario).key

    def starts(self, order: Iterable[Scenario]) -> list[Starts]:
        """Return the components to start before each round of an order, if nothing fails."""
        scenarios = list(order)
        first = [self._first(scenario) for scenario in scenarios[:1]]
        return [*first, *(self._starts(before, after) for before, after in pairwise(scenarios))]

    def _first(self, scenario: Scenario) -> Starts:
        return changes.starts({}, self._setup(scenario).launches)

    def _starts(self, before: Scenario, after: Scenario) -> Starts:
        between = by_system(before), by_system(after)
        if between not in self._between:
            up = {launch.name: launch for launch in self._setup(before).launches}
            expected = self._setup(after).launches
            starts = changes.starts(up, expected, changes.every_round(expected))
            self._between[between] = {**changes.starts_inside(up, expected), **starts}
        return self._between[between]

    def _setup(self, scenario: Scenario) -> Setup:
        system = by_system(scenario)
        if system not in self._setups:
            self._setups[system] = self._described(scenario, system)
        return self._setups[system]

    def _described(self, scenario: Scenario, same: str) -> Setup:
        topology = topology_of(scenario.system, self._inputs, self._file)
        topology = topologies.proxied(topology, links.of_scenario(self._study, scenario.system, self._file))
        topology = traced(topology, tracing_of(sampled(self._study.watch, scenario.sample)))
        launches = in_order(topology.launches)
        live = any(launch.live for launch in launches)
        key = repr(([changes.grouped(launch) for launch in launches], topology.endpoints)) if live else same
        return Setup(tuple(launches), key)


def counted(starts: Sequence[Starts]) -> dict[str, int]:
    """How often each component is started."""
    return dict(Counter(chain.from_iterable(starts)))
