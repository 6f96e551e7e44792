"""A run that searches: each block has a round of every configuration whose boundary isn't known well enough.

Which doses come next follows from the plan and the records alone, so that a killed run continues exactly: a block is
written to the plan before it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from patternbench.analyze.boundary.search import DoseTrial, next_dose
from patternbench.observe.seam import Settings
from patternbench.plan.doses import SearchedConfiguration, configurations, dose_field
from patternbench.plan.expand import Plan
from patternbench.plan.order import Group, Round
from patternbench.plan.order import next_block as following
from patternbench.records import attempts, damage, observed
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry
from patternbench.report.held_rounds import condition, held, search_of
from patternbench.report.measuring import MeasurementTerms
from patternbench.run.added_rounds import batches, store
from patternbench.study.boundary import Boundary
from patternbench.study.models import Study

Outcome = tuple[bool | None, bool]
"""Whether a round was held (None without an outcome), and whether it is over."""


def block_of(
    study: Study, plan: Plan, group: Group, rounds: Sequence[Round], seen: Mapping[int, Outcome]
) -> list[Round]:
    """Return the block after some rounds; empty where every configuration has enough.

    ``seen`` has what came of the rounds that are over, by their index.
    """
    boundary = study.boundary
    assert boundary is not None
    searched = search_of(boundary)
    chosen = {
        one.scenarios[dose]
        for one in configurations(plan.scenarios, dose_field(study, boundary).factor)
        if (dose := next_dose(tries_of(one, rounds, seen), searched)) is not None
    }
    return following(rounds, plan.scenarios, chosen, study.seed, study.order, group=group) if chosen else []


def tries_of(one: SearchedConfiguration, rounds: Sequence[Round], seen: Mapping[int, Outcome]) -> list[DoseTrial]:
    """Return the planned rounds of a configuration, in their order."""
    doses = {scenario: dose for dose, scenario in one.scenarios.items()}
    mine = (place for place in rounds if place.scenario in doses)
    return [DoseTrial(doses[place.scenario], *seen.get(place.index, (None, False))) for place in mine]


@dataclass
class BoundarySearch:
    """Adds blocks to the rounds of a run that searches, in its plan file as well as in ``rounds`` itself."""

    study: Study
    plan: Plan
    folder: RunFolder
    rounds: list[Round]
    boundary: Boundary
    group: Group
    _known: dict[str, bool | None] = field(default_factory=dict)

    def after(self, todo: Sequence[Round], lanes: Callable[[], int] = lambda: 1) -> Iterator[Sequence[Round]]:
        """Return the remaining rounds, then a block for each lane. The blocks are decided on after all before them."""
        return batches(todo, lambda: self._next(lanes))

    def _next(self, lanes: Callable[[], int]) -> list[Round]:
        """Add a block for each lane, of the configurations that need one; none where no one does."""
        known, seen = len(self.rounds), self._outcomes()
        for _ in range(max(1, lanes())):
            self.rounds += block_of(self.study, self.plan, self.group, self.rounds, seen)
        store(self.folder, self.rounds)
        return self.rounds[known:]

    def _outcomes(self) -> dict[int, Outcome]:
        """Return what came of the rounds that are over, by their index."""
        entries, measuring = damage.rounds(self.folder), MeasurementTerms.by_scenario(self.folder)
        return {one.round: (self._held(one, measuring[one.scenario]) if one.counts else None, True) for one in entries}

    def _held(self, entry: Entry, measuring: MeasurementTerms) -> bool | None:
        """Whether a round was held; None where its response has no value."""
        key = f"{entry.file} {entry.started}"
        if key not in self._known:
            self._known[key] = held(self.boundary, self._measured(entry, measuring))
        return self._known[key]

    def _measured(self, entry: Entry, measuring: MeasurementTerms) -> dict[str, float]:
        counting = self._counting.get(entry.scenario, "")
        settings = self._settings[entry.scenario]
        besides = observed.measured(self.folder, entry.file, settings, counting, entry.faults)
        if condition(self.boundary.of).response in besides:  # as `recovered`: the rest of a round takes longer to read
            return besides
        rows = attempts.of_round(self.folder.attempts_of(entry.file))
        return {**measuring.summary(rows).metrics, **besides}

    @cached_property
    def _settings(self) -> Mapping[str, Settings]:
        return observed.settings(self.folder)

    @cached_property
    def _counting(self) -> Mapping[str, str]:
        passes = damage.counting_passes(self.folder)
        return {scenario: entry.file for scenario, entry in passes.items() if entry.status == DONE}
