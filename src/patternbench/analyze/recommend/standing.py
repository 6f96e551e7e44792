"""How far the choice is decided under each condition by the rounds so far, and which configurations need more of them.

What a run asks at each look whose rounds stop once the choice is known. A condition is decided by the words that its
report would say (``judging.Judgement.is_decided``), so that the report says of each decided condition what decided it.
Under a condition that is open, a configuration leaves the blocks once it is shown not to be the choice. The baseline
stays, so that every gain has its other side in the same blocks. Who is not shown any more to be out comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from patternbench.analyze.recommend.judging import Judge, Judgement, blocks_of
from patternbench.analyze.recommend.outlook import Outlook
from patternbench.analyze.recommend.recommendation import Criteria, Place, arranged, configuration
from patternbench.analyze.rounds import Key, ScenarioRounds, key, label, levels_of
from patternbench.terms.data_problems import plural

_NAMED = 3


@dataclass(frozen=True)
class ChoiceStanding:
    """One condition at a look: whether it is decided, and which configurations the next block holds.

    ``contenders`` may be the choice still. ``staying`` are those of the next block: of a decided condition none, else
    contenders and baselines. ``choice`` is what a report would choose. ``between`` says whether looks before the end
    are taken; ``blocks`` after how many of them its configurations were measured last.
    """

    judge: Judge

    conditions: Mapping[str, object]
    given: Sequence[str]
    group: Sequence[ScenarioRounds]
    contenders: tuple[ScenarioRounds, ...]
    staying: tuple[ScenarioRounds, ...]
    choice: ScenarioRounds | None
    decided: bool
    between: bool
    blocks: int

    @cached_property
    def outlook(self) -> Outlook | None:
        """What is expected of the condition from its rounds so far."""
        return self.judge.outlook(self.group)

    @property
    def rounds(self) -> int:
        """How many rounds its configurations have in all."""
        return sum(max((len(values) for values in one.values.values()), default=0) for one in self.group)

    @property
    def words(self) -> str:
        """The condition, and who may be the choice still."""
        where = label(self.conditions) if self.conditions else "all configurations"
        names = [configuration(one, self.given) for one in self.contenders]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"{where} ({'; '.join(names[:_NAMED])}{more})"


def standings(table: pd.DataFrame, criteria: Criteria) -> tuple[ChoiceStanding, ...]:
    """Return how far each condition is decided by the rule that ``criteria`` stop by.

    Raises ``DataError`` as ``recommend`` does.
    """
    found = arranged(table, criteria)
    return standings_of(found.judge, found.places, found.conditions)


def standings_of(judge: Judge, places: Sequence[Place], given: Sequence[str]) -> tuple[ChoiceStanding, ...]:
    """Return the same of rounds that are arranged by condition, of which ``given`` are the factors."""
    judged = judge.judgements([group for _, group in places])
    alpha = (1 - judge.level) / max(1, len(judged))
    pairs = zip(places, judged, strict=True)
    return tuple(_standing(judge, place, one, given, alpha) for place, one in pairs)


def _standing(judge: Judge, place: Place, judged: Judgement, given: Sequence[str], alpha: float) -> ChoiceStanding:
    """Return how far one condition is decided: one that waits for its last look is open, and all of it stays."""
    (where, group), rule = place, judge.rule
    between, last = judge.takes_looks_between(group), blocks_of(group)
    waits = rule is not None and rule.fewest < last < rule.most and not between
    out = {id(one) for i, one in enumerate(group) if not waits and judged.is_out(i, alpha)}
    contenders = tuple(one for one in group if id(one) not in out)
    choice = None if judged.picked is None else group[judged.picked]
    alone = all(one is choice for one in contenders)
    decided = not waits and (judged.is_decided or alone)
    staying = () if decided else tuple(one for one in group if judge.is_base(one) or id(one) not in out)
    return ChoiceStanding(judge, where, given, group, contenders, staying, choice, decided, between, last)


def to_measure(
    table: pd.DataFrame,
    planned: Mapping[str, Mapping[str, object]],
    criteria: Criteria,
    found: Sequence[ChoiceStanding],
) -> set[str]:
    """Return the ids of the scenarios of the next block, of a plan with these levels in columns of the table.

    A scenario that has no round of which anything is known is measured as long as its condition is open.
    """
    names = list(criteria.by)
    ids = {key(levels_of(names, row, criteria.factors)): name for name, row in _rows(table, names)}
    staying = {ids[key(one.levels)] for each in found for one in each.staying}
    known = {ids[key(one.levels)] for each in found for one in each.group}
    unknown = [name for name in planned if name not in known]
    return staying | {name for name in unknown if _is_open(planned[name], found, criteria)}


def _rows(table: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, list[object]]]:
    """Return each scenario of a table with its levels."""
    first = table.drop_duplicates("scenario")[["scenario", *names]]
    return [(str(scenario), levels) for scenario, *levels in first.itertuples(index=False, name=None)]


def _is_open(levels: Mapping[str, object], found: Sequence[ChoiceStanding], criteria: Criteria) -> bool:
    """Whether the condition of a scenario is open; one of which nothing is known yet is."""
    given = [name for name in criteria.by if name not in criteria.factors.patterns]

    def place(own: Mapping[str, object]) -> Key:
        return key(levels_of(given, [own.get(name) for name in given], criteria.factors))

    return place(levels) not in {place(one.group[0].levels) for one in found if one.decided}


def progress(found: Sequence[ChoiceStanding], blocks: int) -> str:
    """Say at a look how many conditions are decided, and what is open under the first few of the others."""
    open_ = [one for one in found if not one.decided]
    done = f"after {plural(blocks, 'block')}: {len(found) - len(open_)} of {plural(len(found), 'choice')} known"
    if not open_:
        return done
    named = "; ".join(one.words for one in open_[:_NAMED])
    more = f"; and {len(open_) - _NAMED} more" if len(open_) > _NAMED else ""
    return f"{done}; open: {named}{more}"
