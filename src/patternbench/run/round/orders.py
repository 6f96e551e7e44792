"""Orders and results: a round to run and what came of it, both plain data that could travel to another machine.

An order names files by their hashes, and secrets not at all: ``${env:NAME}`` is resolved where the round runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter

from patternbench.drivers import choice
from patternbench.lab import systems
from patternbench.lab.faults import links
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Link
from patternbench.lab.tracing import Tracing, tracing_of
from patternbench.plan.order import OUTSIDE, Round
from patternbench.plan.scenarios import Scenario
from patternbench.records.journal import Entry
from patternbench.study.model.system import NamedSystem
from patternbench.study.models import AfterStart, ClientAt, Lateness, Study
from patternbench.study.watching import Watch, counting_watch, sampled
from patternbench.terms.units import Duration


@dataclass(frozen=True)
class RoundOrder:
    """One round to run.

    ``scenario`` is a scenario as a plan's file holds it. ``file`` names the round's records, ``warm_up_file`` those
    of the warm-up before it, where something was started for it: ``after_start``, where the load engine drives it.
    ``inputs`` are the SHA-256 of the files that the study names, by name. ``system_file`` describes a system by name,
    ``client_at`` a client that the study declares, whose command runs in ``study_folder``. Each of the ``links`` has a
    fault proxy. ``watch`` is what observers record. ``lane`` is the one that is to run it, where there are
    several; ``attempt`` counts the tries of its round from 1. As many ``generators`` make its load. Shares are of the
    ``capacity``, in calls per second.
    """

    index: int
    block: int
    file: str
    warm_up_file: str
    scenario: Mapping[str, object]
    by_engine: bool
    seed: int
    warm_up_seed: int
    time_limit: Duration
    warm_up: Duration
    lateness: Lateness | None = None
    system_file: SystemFile | None = None
    client_at: ClientAt | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    study_folder: str = ""
    links: tuple[Link, ...] = ()
    watch: Watch = field(default_factory=Watch)
    warm_up_requests: int | None = None
    settles: bool = False
    warm_up_on_top: bool = False
    after_start: AfterStart | None = None
    lane: str = ""
    attempt: int = 1
    generators: int = 1
    capacity: float | None = None

    @property
    def longest_s(self) -> float:
        """How many seconds it may take at most once the system is up."""
        before = self.after_start.at_most.seconds if self.after_start else 0.0
        return self.time_limit.seconds + self.warm_up.seconds + before

    @property
    def id(self) -> str:
        """What no other order of its run has: the name of its records, which tells its try."""
        return self.file

    def on(self, lane: str) -> RoundOrder:
        """Return the order for a lane.

        Its warm-up is named after it, as lanes warm up without knowing of each other.
        """
        return replace(self, lane=lane, warm_up_file=f"warm-up-{self.file}")

    def again(self) -> RoundOrder:
        """Return the order of the next try of the round, whose records have another name."""
        base = self.file.removesuffix(f"-{self.attempt}") if self.attempt > 1 else self.file
        return replace(self, attempt=self.attempt + 1, file=f"{base}-{self.attempt + 1}")

    @property
    def tracing(self) -> Tracing | None:
        """How the system is traced; None where the study asks for no traces."""
        return tracing_of(self.watch, counting=self.index == OUTSIDE)

    @cached_property
    def treatment(self) -> Scenario:
        """The scenario with its types."""
        return Scenario.from_json(dict(self.scenario))

    def as_json(self) -> dict[str, object]:
        """Return the order as plain data."""
        plain: dict[str, object] = _ORDER.dump_python(self, mode="json", by_alias=True)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, object]) -> RoundOrder:
        """Return the order that ``as_json`` wrote."""
        return _ORDER.validate_python(plain)


@dataclass(frozen=True)
class RoundResult:
    """The result of an order.

    ``entry`` is the round's line for the journal, ``warm_ups`` those of the warm-up before it. ``files``
    are its records, by their names in a run's folder. ``facts`` are for the manifest, by part: the machine, the
    generator, what clients say of themselves, who components ran as. ``order`` and ``lane`` are those of the order.
    """

    entry: Entry
    warm_ups: list[Entry] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    facts: dict[str, dict[str, object]] = field(default_factory=dict)
    order: str = ""
    lane: str = ""

    def as_json(self) -> dict[str, object]:
        """Return the result as plain data."""
        plain: dict[str, object] = _RESULT.dump_python(self, mode="json")
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, object]) -> RoundResult:
        """Return the result that ``as_json`` wrote."""
        return _RESULT.validate_python(plain)


_ORDER = TypeAdapter(RoundOrder)
_RESULT = TypeAdapter(RoundResult)


@dataclass(frozen=True)
class Orders:
    """Makes the orders of a run: what its study says of every round, and of which content its files are.

    ``by_engine`` are the clients whose rounds the load engine drives; None for those of a new run. Shares are of the
    ``capacity``, where it is known.
    """

    study: Study
    inputs: Mapping[str, str]
    study_folder: Path
    by_engine: frozenset[str] | None = None
    capacity: float | None = None

    def of(self, round_: Round, scenario: Scenario, file: str, warm_up_file: str, attempt: int = 1) -> RoundOrder:
        """Return the order of a try of a round, whose records get a name."""
        study = self.study
        return RoundOrder(
            index=round_.index,
            block=round_.block,
            file=file,
            warm_up_file=warm_up_file,
            scenario=scenario.as_json(),
            by_engine=scenario.client in self._by_engine,
            seed=self._seed(round_),
            warm_up_seed=study.seed,
            time_limit=study.time_limit,
            warm_up=study.longest_warm_up,
            warm_up_requests=study.warm_up_requests,
            settles=study.settles,
            warm_up_on_top=choice.adds_warm_up(study),
            after_start=study.after_start,
            lateness=study.lateness,
            system_file=self._system_file,
            client_at=study.clients.get(scenario.client),
            inputs=self.inputs,
            study_folder=str(self.study_folder),
            links=tuple(links.of_scenario(self.study, scenario.system, self._system_file)),
            watch=counting_watch(study.watch) if round_.counting else sampled(study.watch, scenario.sample),
            attempt=attempt,
            generators=study.generators,
            capacity=self.capacity,
        )

    @cached_property
    def _by_engine(self) -> frozenset[str]:
        return choice.engine_clients(self.study) if self.by_engine is None else self.by_engine

    @cached_property
    def _system_file(self) -> SystemFile | None:
        system = self.study.system
        return systems.load(system.name, self.study_folder) if isinstance(system, NamedSystem) else None

    def _seed(self, round_: Round) -> int:
        """Return a seed of the generator's own draws: fixed by the study's, different in every round."""
        return (self.study.seed * 1_000_003 + round_.index * 97 + 1) % 2**53
