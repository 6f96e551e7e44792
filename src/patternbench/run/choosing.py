"""Looks at the records of a run whose rounds stop once the choice is known under each condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from patternbench.analyze.recommend.standing import progress, standings, to_measure
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.plan.expand import Plan
from patternbench.plan.order import Round
from patternbench.records import damage
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedLook
from patternbench.report.measures import RoundMeasures, in_table, measures_of
from patternbench.report.model import counting
from patternbench.report.sections.criteria import criteria_of
from patternbench.study.models import Study
from patternbench.terms.data_problems import DataError


@dataclass
class KnownChoices:
    """Asks under which conditions the choice is known, by the criteria and the words of the run's report."""

    study: Study
    plan: Plan
    folder: RunFolder
    rule: ChoiceRule
    tell: Callable[[str], None]
    _known: dict[str, RoundMeasures] = field(default_factory=dict)

    @property
    def fewest(self) -> int:
        """After how many blocks the first look comes."""
        return self.rule.fewest

    @property
    def most(self) -> int:
        """How many blocks there are at most."""
        return self.rule.most

    def step(self, blocks: int, lanes: int) -> int:
        """Return how many blocks come until the next look: as planned, and at least one of each lane."""
        coming = self.rule.next_look(blocks, max(1, lanes))
        return 1 if coming is None else coming - blocks

    def kept(self, rounds: Sequence[Round], looks: Sequence[PlannedLook]) -> set[str]:
        """Return the scenarios of the next block; of rounds that don't count nothing is known, so all of them are."""
        del rounds
        blocks = looks[-1].blocks
        planned = {one.id: in_table(one.levels, self.plan.factors) for one in self.plan.scenarios}
        try:
            kept = self._kept(planned, blocks)
        except DataError:
            kept = set(planned)
        return kept if blocks < self.most else set()

    def _kept(self, planned: dict[str, dict[str, object]], blocks: int) -> set[str]:
        measured = measures_of(self.folder, damage.rounds(self.folder), self._known)
        table = counting(measured.rounds).reset_index(drop=True)
        criteria = criteria_of(self.study, self.plan.factors, table.columns)
        found = standings(table, criteria)
        self.tell(progress(found, blocks))
        return to_measure(table, planned, criteria, found)
