"""Rounds that stop by themselves: whole blocks are added while a scenario's interval is still too wide.

Added rounds are written to the plan before they are run, so that a killed run continues with the rounds that it had
decided on. Whether a further block is needed follows only from the records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patternbench.analyze.metrics import round_metrics
from patternbench.analyze.stopping.rule import StoppingRule, next_block
from patternbench.plan.expand import Plan
from patternbench.plan.order import Group, Round
from patternbench.plan.order import next_block as following
from patternbench.records import attempts, damage, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.stored import PlannedRound
from patternbench.run.evidence import rule_of
from patternbench.study.models import Study


def open_scenarios(rounds: Sequence[Round], values: Mapping[int, float], rule: StoppingRule) -> list[str]:
    """The scenarios that need one more round after the last block, in the order of that block.

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
class Growth:
    """Adds blocks to the rounds of a run, in its plan file as well as in ``rounds`` itself."""

    study: Study
    plan: Plan
    folder: RunFolder
    rounds: list[Round]
    rule: StoppingRule | None
    group: Group
    _values: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study, plan: Plan, folder: RunFolder, rounds: list[Round], group: Group) -> Growth:
        """The growth that the study asks for; none where it names a number of rounds."""
        return cls(study, plan, folder, rounds, rule_of(study), group)

    def after(self, todo: Iterable[Round]) -> Iterator[Round]:
        """The remaining rounds, then block by block. A block is decided on after the one before it."""
        yield from todo
        while block := self._next():
            self._store(block)
            yield from block

    def _next(self) -> list[Round]:
        if self.rule is None:
            return []
        kept = set(open_scenarios(self.rounds, self._measured(self.rule), self.rule))
        return following(self.rounds, self.plan.scenarios, kept, self.study.seed, self.study.order, group=self.group)

    def _store(self, block: list[Round]) -> None:
        self.rounds += block
        rounds = [PlannedRound(**vars(one)) for one in self.rounds]
        stored.write_plan(self.folder, stored.plan(self.folder).model_copy(update={"rounds": rounds}))

    def _measured(self, rule: StoppingRule) -> dict[int, float]:
        entries = damage.rounds(self.folder)
        return {entry.round: self._value(entry, rule.response) for entry in entries if entry.counts}

    def _value(self, entry: Entry, response: str) -> float:
        key = f"{entry.file} {entry.started}"
        if key not in self._values:
            objective = self.study.objective
            limit = objective.response_time.seconds if objective else math.inf
            metrics = round_metrics(attempts.read(self.folder.attempts_of(entry.file)), limit)
            self._values[key] = metrics.get(response, math.nan)
        return self._values[key]
