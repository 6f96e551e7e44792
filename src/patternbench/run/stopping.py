"""Rounds that stop by themselves: whole blocks are added while a scenario's interval is still too wide.

Added rounds are written to the plan before they are run, so that a killed run continues with the rounds that it had
decided on. Whether a further block is needed follows only from the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from patternbench.analyze.stopping.rule import StoppingRule, next_block
from patternbench.plan.expand import Plan
from patternbench.plan.order import Group, Round
from patternbench.plan.order import next_block as following
from patternbench.records import attempts, damage, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.stored import PlannedLook, PlannedRound
from patternbench.report.measuring import Measuring
from patternbench.run.before.evidence import rule_of
from patternbench.study.models import Study


def open_scenarios(rounds: Sequence[Round], values: Mapping[int, float], rule: StoppingRule) -> list[str]:
    """Return the scenarios that need one more round after the last block, in the order of that block.

    ``values`` gives the response of every round that counts by its index; one without failed or is not valid, and is
    one of the most rounds all the same. A scenario that left the blocks does not come back.
    """
    last = max((round_.block for round_ in rounds), default=-1)
    seen: dict[str, list[float]] = {round_.scenario: [] for round_ in rounds if round_.block == last}
    for round_ in rounds:
        if round_.scenario in seen and round_.index in values:
            seen[round_.scenario].append(values[round_.index])
    return next_block(seen, rule) if last + 1 < rule.most else []


@dataclass
class AdaptiveStopping:
    """Adds blocks to the rounds of a run, in its plan file as well as in ``rounds`` itself."""

    study: Study
    plan: Plan
    folder: RunFolder
    rounds: list[Round]
    rule: StoppingRule | None
    group: Group
    _values: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study, plan: Plan, folder: RunFolder, rounds: list[Round], group: Group) -> AdaptiveStopping:
        """Return the growth that the study asks for; none where it names a number of rounds."""
        return cls(study, plan, folder, rounds, rule_of(study), group)

    def after(self, todo: Sequence[Round], lanes: Callable[[], int] = lambda: 1) -> Iterator[Sequence[Round]]:
        """Yield the remaining rounds, then a block for each lane. The blocks are decided on after all before them."""
        if todo:
            yield todo
        while batch := self._next(lanes):
            yield batch

    def _next(self, lanes: Callable[[], int]) -> list[Round]:
        """Add a block for each lane, of the scenarios that need one; none where no scenario does."""
        if self.rule is None:
            return []
        looks = self._looks(lanes)
        look = looks[-1]
        rule = replace(self.rule, step=look.step, looks=tuple((one.blocks, one.step) for one in looks))
        kept = set(open_scenarios(self.rounds, self._measured(rule), rule))
        known, of_study = len(self.rounds), (self.plan.scenarios, kept, self.study.seed, self.study.order)
        for _ in range(min(look.step, rule.most - look.blocks) if kept else 0):
            self.rounds += following(self.rounds, *of_study, group=self.group)
        self._store(looks)
        return self.rounds[known:]

    def _looks(self, lanes: Callable[[], int]) -> list[PlannedLook]:
        """All looks, of which the last is after the last block: as it was taken before, else with the lanes there are.

        Runs of before didn't write their looks down: those came after as many blocks as there are lanes now.
        """
        blocks, step = 1 + max((one.block for one in self.rounds), default=-1), max(1, lanes())
        taken = stored.plan(self.folder).looks
        if taken and taken[-1].blocks == blocks:
            return taken
        before = [] if taken else [PlannedLook(blocks=n, step=step) for n in range(self._fewest, blocks, step)]
        return [*taken, *before, PlannedLook(blocks=blocks, step=step)]

    @property
    def _fewest(self) -> int:
        return self.rule.fewest if self.rule else 1

    def _store(self, looks: list[PlannedLook]) -> None:
        """Write down how was looked, and with it the rounds that were decided on."""
        planned = stored.plan(self.folder)
        rounds = [PlannedRound(**vars(one)) for one in self.rounds]
        if (rounds, looks) != (planned.rounds, planned.looks):
            stored.write_plan(self.folder, planned.model_copy(update={"rounds": rounds, "looks": looks}))

    def _measured(self, rule: StoppingRule) -> dict[int, float]:
        entries, measuring = damage.rounds(self.folder), Measuring.by_scenario(self.folder)
        counted = [entry for entry in entries if entry.counts]
        return {entry.round: self._value(entry, rule.response, measuring[entry.scenario]) for entry in counted}

    def _value(self, entry: Entry, response: str, measuring: Measuring) -> float:
        key = f"{entry.file} {entry.started}"
        if key not in self._values:
            rows = attempts.of_round(self.folder.attempts_of(entry.file))
            metrics = measuring.summary(rows).metrics
            self._values[key] = metrics.get(response, math.nan)
        return self._values[key]
