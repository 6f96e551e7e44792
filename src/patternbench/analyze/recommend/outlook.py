"""What the rounds so far let expect of one condition: when it is decided, and whether looking before the end pays.

Looking has a cost: each look is judged more strictly, so that a condition which no look decides before the end is
decided less often at the end. It pays where configurations leave the blocks early, or where the choice is known early.
Which of both it is follows from the differences and from their noise, as the first blocks show them.

The number of blocks that shows a difference d of a spread s (of one block's differences) is the first n at which
``d sqrt(n) / s`` reaches the t quantile of n - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.recommend.ranking import Ranking
from patternbench.analyze.statements.power import errors_shown
from patternbench.analyze.stopping.choice import ChoiceRule

LEAST_SAVING = 0.1
"""Looking pays where it is expected to spare this share of the rounds."""


@dataclass(frozen=True)
class Rival:
    """A configuration behind the first in rank: how much worse it is at least, and how its blocks scatter.

    Both are differences of logs where they are compared by ratios, else in the response's unit.
    """

    gap: float
    spread: float
    stays: bool


@dataclass(frozen=True)
class Outlook:
    """What is expected of one condition: its rounds with looks and with equal rounds for all, and when it is decided.

    ``decided`` is after how many blocks looks are expected to decide it, ``at_once`` how many blocks would decide it if
    they were looked at once; None where that is above the most. ``spread`` is the median over rivals.
    """

    configurations: int
    rounds: int
    equal: int
    decided: int | None
    at_once: int | None
    spread: float

    @property
    def pays(self) -> bool:
        """Whether looking before the end is expected to spare rounds enough."""
        return self.rounds <= (1 - LEAST_SAVING) * self.equal


def outlook(ranking: Ranking, rule: ChoiceRule, stays: Sequence[bool]) -> Outlook:
    """Return what is expected of a condition from its rounds so far. Of some configurations it is said that they stay.

    What broke a limit in these rounds is expected to go on so, and to leave at the first look.
    """
    rivals, margin = _rivals(ranking, stays), ranking.duels.room(rule.margin / 100)
    alpha = 1 - rule.level
    shown = {look: errors_shown(look - 1.0, alpha / len(rule.looks)) for look in rule.looks}
    decided = next((n for n, errors in shown.items() if _is_decided(rivals, margin, n, errors)), None)
    last = decided or rule.most
    broke = len(ranking.feasible) - len(ranking.order)
    surer = {n: errors_shown(n - 1.0, alpha / len(rule.looks) / len(ranking.feasible)) for n in rule.looks}
    rounds = last * bool(ranking.order) + sum(_leaves(one, surer, last) for one in rivals) + broke * rule.fewest
    once = range(rule.fewest, rule.most + 1)
    at_once = next((n for n in once if _is_decided(rivals, margin, n, errors_shown(n - 1.0, alpha))), None)
    spread = float(np.median([one.spread for one in rivals])) if rivals else 0.0
    equal = rule.most * len(ranking.feasible)
    return Outlook(len(ranking.feasible), rounds, equal, decided, at_once, spread)


def _rivals(ranking: Ranking, stays: Sequence[bool]) -> list[Rival]:
    """Return all but the first in rank of those that keep the limits; of too few rounds nothing is expected."""
    rivals = []
    for one in ranking.order[1:]:
        loss = ranking.duels.loss(one, ranking.order[0])
        spread = float(loss.whole_error * np.sqrt(loss.df + 1))
        # The first in rank is so by luck, too: of few rounds, equal ones seem to differ by about a standard error.
        gap = max(0.0, float(loss.value) - float(loss.whole_error))
        rivals.append(Rival(gap, np.inf if np.isnan(spread) else spread, stays[one]))
    return rivals


def _is_decided(rivals: Sequence[Rival], margin: float, blocks: int, errors: float) -> bool:
    return all((one.gap + margin) * np.sqrt(blocks) >= errors * one.spread for one in rivals)


def _leaves(one: Rival, shown: dict[int, float], last: int) -> int:
    """Return after how many blocks a rival leaves: when it is shown to be worse, or all of its condition do."""
    if one.stays:
        return last
    leaves = (n for n, errors in shown.items() if one.gap * np.sqrt(n) >= errors * one.spread)
    return min(last, next(leaves, last))
