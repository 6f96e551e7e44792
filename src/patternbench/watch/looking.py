"""What the records of a run say so far: read again when they have grown, and each round only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from patternbench.records import damage, stored
from patternbench.records.folder import RunFolder, Stamp, stamp
from patternbench.records.journal import DAMAGED, DONE, FAILED, Entry
from patternbench.records.stored import PlannedScenario, RunPlan
from patternbench.report.build import of_rounds
from patternbench.report.choice_rule import choice_rule_of
from patternbench.report.first_screen import FirstScreen
from patternbench.report.layout import layout
from patternbench.report.measures import RoundMeasures, measures_of
from patternbench.report.model import RunReport, WarningCount, warnings, worst
from patternbench.report.sections.deciding import first_screen, recommended
from patternbench.report.sections.measured import measured
from patternbench.study.evidence import most
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.text.files import read_text
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import InputError, Problem

NOTHING_YET = "No round has ended yet."
MOST_SENTENCES = 3


@dataclass(frozen=True)
class RoundCounts:
    """How many rounds there are: in the plan, at most, ended; and of those failed, not valid, damaged."""

    planned: int
    at_most: int
    ended: int
    failed: int = 0
    not_valid: int = 0
    damaged: int = 0

    @property
    def left(self) -> int:
        """How many rounds of the plan have no result."""
        return max(0, self.planned - self.ended)


@dataclass(frozen=True)
class RunSnapshot:
    """A run after some of its rounds.

    ``sentences`` say what to choose, or without a choice what was measured. ``blocks`` is how many blocks are whole,
    ``seconds_left`` how long the rest of the plan takes at the pace so far. ``last`` is the round that ended last.
    ``causes`` say what became of rounds without numbers, ``damage`` what else of the records is not as it was written.
    ``scenarios`` and ``names`` are those of the plan by id. ``looks`` are after how many blocks the words hold however
    often is looked: where rounds stop once the choice is known.
    """

    run: RunFolder
    name: str
    question: str
    counts: RoundCounts
    blocks: int
    of_blocks: int
    sentences: Sequence[str]
    screen: FirstScreen | None
    warnings: Sequence[WarningCount]
    causes: Sequence[str]
    seconds_left: float | None
    last: Entry | None
    scenarios: dict[str, PlannedScenario]
    names: dict[str, str]
    lanes: dict[str, int]
    looks: Sequence[int] = ()
    damage: Sequence[str] = ()

    @property
    def worst(self) -> WarningCount | None:
        """The warning to name first."""
        return worst(self.warnings)


@dataclass
class RunRecords:
    """The records of one run, as they grow. Raises InputError where they can't be read."""

    run: RunFolder
    _kept: dict[str, RoundMeasures] = field(default_factory=dict)
    _checked: dict[tuple[str, float], Entry] = field(default_factory=dict)
    _study: Study | None = None

    def state(self) -> Sequence[Stamp]:
        """Return what changes when the records do."""
        return [stamp(path) for path in (self.run.journal, self.run.plan) if path.is_file()]

    def look(self, rounds: int | None = None) -> RunSnapshot:
        """Look at the run; with a number of rounds as it was when the first ones had ended."""
        self.run.check()
        planned, noted = stored.plan(self.run), stored.manifest(self.run)
        entries = self._entries()[: None if rounds is None else max(rounds, 0)]
        made = measures_of(self.run, sorted(entries, key=lambda one: one.round), self._kept)
        report = of_rounds(planned, noted, made.rounds)
        screen, sentences = self._choice(report) if entries else (None, [NOTHING_YET])
        return RunSnapshot(
            self.run,
            noted.study,
            self._declared().description,
            _counts(entries, planned, self._declared()),
            _whole_blocks(entries, planned),
            len({place.block for place in planned.rounds}),
            sentences,
            screen,
            warnings(report) if entries else [],
            [f"round {one.round}: {one.cause}" for one in entries if one.status in (FAILED, DAMAGED)],
            _seconds_left(entries, planned),
            entries[-1] if entries else None,
            {one.id: one for one in planned.scenarios},
            layout(report).names,
            _by_lane(entries),
            self._looks(),
            damage.of_journal_and_study(self.run, entries),
        )

    def _looks(self) -> Sequence[int]:
        rule = choice_rule_of(self._declared())
        return rule.looks if rule else ()

    def _declared(self) -> Study:
        if self._study is None:
            self._study = loads(read_text(self.run.study), str(self.run.study))
        return self._study

    def _entries(self) -> list[Entry]:
        """Return the rounds in the order in which they ended; one whose records are damaged says so."""
        found = damage.recorded(self.run)
        for one in found:
            if (one.file, one.started) not in self._checked:
                self._checked[one.file, one.started] = damage.judged(self.run, one)
        checked = [self._checked[one.file, one.started] for one in found]
        return sorted(checked, key=lambda one: (one.started + one.seconds, one.round))

    def _choice(self, report: RunReport) -> tuple[FirstScreen | None, Sequence[str]]:
        """Return what to choose by these rounds, and the sentences that say it, or why nothing can be said."""
        try:
            found = recommended(report, self._declared())
        except DataError as error:
            return None, ["Nothing can be said of what to choose yet.", *map(str, error.problems)][:MOST_SENTENCES]
        if found is not None:
            screen = first_screen(found)
            return screen, screen.sentences
        stated = [f"{one.title}: {one.lead}" for one in measured(report, layout(report))] if len(report.done) else []
        return None, stated[:MOST_SENTENCES] or ["No round counts yet."]


def damaged(error: InputError) -> str:
    """Say in a sentence why a run can't be read."""
    first: Problem = error.problems[0]
    return str(first)


def _counts(entries: Sequence[Entry], planned: RunPlan, study: Study) -> RoundCounts:
    at_most = max(len(planned.rounds), most(study.rounds) * len(planned.scenarios))
    return RoundCounts(
        planned=len(planned.rounds),
        at_most=at_most,
        ended=len(entries),
        failed=sum(one.status == FAILED for one in entries),
        not_valid=sum(one.status == DONE and not one.valid for one in entries),
        damaged=sum(one.status == DAMAGED for one in entries),
    )


def _whole_blocks(entries: Sequence[Entry], planned: RunPlan) -> int:
    """Return how many blocks have ended with all of their rounds."""
    ended = {one.round for one in entries}
    open_blocks = {place.block for place in planned.rounds if place.index not in ended}
    return len({place.block for place in planned.rounds} - open_blocks)


def _seconds_left(entries: Sequence[Entry], planned: RunPlan) -> float | None:
    """Return how long the rest takes if rounds begin as quickly one after another as the half of them did."""
    left = len(planned.rounds) - len(entries)
    starts = sorted(one.started for one in entries)
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    return median(gaps) * left if gaps and left > 0 else None


def _by_lane(entries: Sequence[Entry]) -> dict[str, int]:
    """Return how many rounds each lane has run; nothing where there is only this machine."""
    lanes: dict[str, int] = {}
    for one in entries:
        lanes[one.lane] = lanes.get(one.lane, 0) + 1
    return lanes if any(lanes) else {}
