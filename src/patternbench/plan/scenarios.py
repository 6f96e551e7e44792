"""A scenario: one combination of levels, named by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel, ValidationError

from patternbench.plan.factors import Level
from patternbench.study.faults import Fault, by_name, from_plain
from patternbench.study.model.configuration import Configuration
from patternbench.study.model.levels import Levels
from patternbench.study.model.system import System, configured
from patternbench.study.model.tree import Path, leaves, plain
from patternbench.study.models import Strategy
from patternbench.study.workload.workloads import Workload
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration


class _PlainScenario(BaseModel):
    """The format of ``as_json`` and ``from_json``."""

    levels: dict[str, Level]
    config: Configuration


@dataclass(frozen=True)
class Scenario:
    """One treatment: the parts of a study, each concrete (every ``Levels`` in them holds one level), and its levels.

    ``levels`` is what varies in this study, by the names of the factors; ``declared`` is the place of its strategy
    among the study's. ``sampling`` has the ``sample`` of traces where that is a factor, and is empty elsewhere.
    """

    system: System
    faults: tuple[Fault, ...]
    workload: Workload
    client: str
    strategy: Strategy
    declared: int = 0
    levels: dict[str, Level] = field(default_factory=dict)
    sampling: dict[str, Levels[str]] = field(default_factory=dict)

    @property
    def sample(self) -> str | None:
        """The portion of traced requests; None if it isn't a factor."""
        return self.sampling["sample"].level if self.sampling else None

    @cached_property
    def id(self) -> str:
        """Twelve hex digits, which change with any level and with nothing else."""
        return content_id(self.configuration)

    def is_steady_after(self, warm_up: Duration) -> bool:
        """Whether load and faults are the same all the time once a warm-up of this length is over."""
        steady = self.workload.steady_after
        windows = any(fault.acts and fault.when for fault in self.faults)
        return not windows and steady is not None and steady.us <= warm_up.us

    @property
    def configuration(self) -> dict[str, object]:
        """Everything that its levels complete, as plain data: what its id is made of."""
        name = {"name": self.strategy.name} if self.strategy.name else {}
        traces = {"traces": plain(self.sampling)} if self.sampling else {}
        return {
            "system": self.system.configuration,
            "faults": {name: fault.as_plain() for name, fault in by_name(self.faults).items()},
            "workload": plain(self.workload),
            "client": self.client,
            "strategy": {self.strategy.kind: plain(self.strategy.chosen)} | name,
            **traces,
        }

    def as_json(self) -> dict[str, object]:
        """Return the scenario as plain data, durations written with their units."""
        return {"id": self.id, "levels": self.levels, "config": self.configuration}

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Scenario:
        """Return the scenario that ``as_json`` wrote."""
        plain_scenario = _PlainScenario.model_validate(stored)
        return cls.of(plain_scenario.config, plain_scenario.levels)

    @classmethod
    def of(cls, config: Configuration, levels: dict[str, Level]) -> Scenario:
        """Return the scenario of a configuration, as a plan's file holds it; raise InputError if it is damaged."""
        try:
            return cls._of(config, levels)
        except ValidationError as error:
            _, place, why, *_ = str(error).splitlines()
            raise InputError(Problem(f"a scenario is damaged: {why.partition(' [')[0].strip()}", place)) from None

    @classmethod
    def _of(cls, config: Configuration, levels: dict[str, Level]) -> Scenario:
        """Return the scenario of a configuration; raise ValidationError."""
        strategy = Strategy.model_validate({"client": config.client, **config.strategy})
        faults = tuple(from_plain(name, fault) for name, fault in config.faults.items())
        workload = Workload.model_validate(config.workload)
        sampling = {name: Levels.one(portion) for name, portion in config.traces.items()}
        system = configured(config.system)
        return cls(system, faults, workload, config.client, strategy, levels=levels, sampling=sampling)

    def leaves(self) -> Iterator[tuple[Path, object]]:
        """Every value of its configuration with its path."""
        return (leaf for path, part in self.parts() for leaf in leaves(part, path))

    def parts(self) -> Iterator[tuple[Path, object]]:
        """Yield what its configuration is made of, with paths; the strategy follows the word that it is known by."""
        yield ("system",), self.system
        for name, fault in by_name(self.faults).items():
            yield ("faults", name), fault.chosen
            yield ("faults", name), fault.bounds
        yield ("workload",), self.workload
        yield ("client",), self.client
        yield ("traces",), self.sampling
        yield ("strategy",), self.strategy.known_as
        yield ("strategy", self.strategy.kind), self.strategy.chosen


def content_id(configuration: object) -> str:
    """Twelve hex digits of the content of plain data, independent of the order of its keys."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
