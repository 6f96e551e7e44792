"""Rounds that stop by themselves: whole blocks are added while a look at the records asks for more.

Added rounds are written to the plan before they are run, so that a killed run continues with the rounds that it had
decided on. Whether a further block is needed follows only from the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from patternbench.analyze.stopping.rule import StoppingRule, next_block
from patternbench.plan.expand import Plan
from patternbench.plan.order import Group, Round
from patternbench.plan.order import next_block as following
from patternbench.records import attempts, damage, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.stored import PlannedLook
from patternbench.report.choice_rule import choice_rule_of
from patternbench.report.measuring import MeasurementTerms
from patternbench.run.added_rounds import batches, store
from patternbench.run.before.evidence import rule_of
from patternbench.study.models import Study


class LookRule(Protocol):
    """What a look asks of the records: which scenarios need more rounds, and when the next look comes."""

    @property
    def fewest(self) -> int:
        """After how many blocks the first look comes."""

    @property
    def most(self) -> int:
        """How many blocks there are at most."""

    def step(self, blocks: int, lanes: int) -> int:
        """Return how many blocks come until the next look, where each lane runs one at a time."""

    def kept(self, rounds: Sequence[Round], looks: Sequence[PlannedLook]) -> set[str]:
        """Return the scenarios of the next block at the last of the looks; none where no more are needed."""


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
class KnownMeans:
    """Asks whether the mean of each scenario is known well enough."""

    folder: RunFolder
    rule: StoppingRule
    _values: dict[str, float] = field(default_factory=dict)

    @property
    def fewest(self) -> int:
        """After how many blocks the first look comes."""
        return self.rule.fewest

    @property
    def most(self) -> int:
        """How many blocks there are at most."""
        return self.rule.most

    def step(self, blocks: int, lanes: int) -> int:
        """Return how many blocks come until the next look: one of each lane."""
        del blocks
        return max(1, lanes)

    def kept(self, rounds: Sequence[Round], looks: Sequence[PlannedLook]) -> set[str]:
        """Return the scenarios whose mean isn't known well enough."""
        rule = replace(self.rule, step=looks[-1].step, looks=tuple((one.blocks, one.step) for one in looks))
        return set(open_scenarios(rounds, self._measured(rule), rule))

    def _measured(self, rule: StoppingRule) -> dict[int, float]:
        entries, measuring = damage.rounds(self.folder), MeasurementTerms.by_scenario(self.folder)
        counted = [entry for entry in entries if entry.counts]
        return {entry.round: self._value(entry, rule.response, measuring[entry.scenario]) for entry in counted}

    def _value(self, entry: Entry, response: str, measuring: MeasurementTerms) -> float:
        key = f"{entry.file} {entry.started}"
        if key not in self._values:
            rows = attempts.of_round(self.folder.attempts_of(entry.file))
            metrics = measuring.summary(rows).metrics
            self._values[key] = metrics.get(response, math.nan)
        return self._values[key]


def asked_by(study: Study, plan: Plan, folder: RunFolder, tell: Callable[[str], None]) -> LookRule | None:
    """Return what a study's looks ask; None where it names a number of rounds. ``tell`` hears of each look."""
    means, choice = rule_of(study), choice_rule_of(study)
    if choice is not None:
        from patternbench.run.choosing import KnownChoices  # noqa: PLC0415 - slow to import

        return KnownChoices(study, plan, folder, choice, tell)
    return KnownMeans(folder, means) if means is not None else None


@dataclass
class AdaptiveStopping:
    """Adds blocks to the rounds of a run, in its plan file as well as in ``rounds`` itself."""

    study: Study
    plan: Plan
    folder: RunFolder
    rounds: list[Round]
    asked: LookRule | None
    group: Group

    def after(self, todo: Sequence[Round], lanes: Callable[[], int] = lambda: 1) -> Iterator[Sequence[Round]]:
        """Return the remaining rounds, then the blocks up to each next look, decided on after all before them."""
        return batches(todo, lambda: self._next(lanes))

    def _next(self, lanes: Callable[[], int]) -> list[Round]:
        """Add the blocks up to the next look, of the scenarios that need them; none where no scenario does."""
        if self.asked is None:
            return []
        looks = self._looks(self.asked, lanes)
        look = looks[-1]
        kept = self.asked.kept(self.rounds, looks)
        known, of_study = len(self.rounds), (self.plan.scenarios, kept, self.study.seed, self.study.order)
        for _ in range(min(look.step, self.asked.most - look.blocks) if kept else 0):
            self.rounds += following(self.rounds, *of_study, group=self.group)
        store(self.folder, self.rounds, looks)  # how was looked, and with it what was decided on
        return self.rounds[known:]

    def _looks(self, asked: LookRule, lanes: Callable[[], int]) -> list[PlannedLook]:
        """All looks, of which the last is after the last block: as it was taken before, else with the lanes there are.

        Runs of before didn't write their looks down: those came after as many blocks as there are lanes now.
        """
        blocks = 1 + max((one.block for one in self.rounds), default=-1)
        step = asked.step(blocks, lanes())
        taken = stored.plan(self.folder).looks
        if taken and taken[-1].blocks == blocks:
            return taken
        before = [] if taken else [PlannedLook(blocks=n, step=step) for n in range(asked.fewest, blocks, step)]
        return [*taken, *before, PlannedLook(blocks=blocks, step=step)]
