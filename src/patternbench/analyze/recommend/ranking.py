"""Which configuration comes first under one set of conditions, and how surely: the tests behind *clearly*.

A configuration is clearly the choice when it surely keeps every limit and surely beats every other one. Each rival is
tested on its own, paired by block (``statements.pairing``): one that keeps the limits must be worse on the objective;
one that breaks a limit must surely do so, or be worse (either way, so the smaller p counts twice). The p of the claim
is the greatest of them. It needs no correction for how many rivals there are, though the first was picked as the
luckiest of all: the claim is true only if all rivals are worse, and one that is as good as the first stays in its
way. Source: Gutmann and Maymin, Is the selected population the best?, Annals of Statistics 15 (1987).

That a configuration beats the baseline is tested for each, and corrected for how many there are (Holm).

Every p comes twice, by t and where rounds need not scatter evenly: ``statements.shown`` has the rule of the words.

A limit on a share of calls is kept for sure only if the rounds, all calls together (Clopper and Pearson, Biometrika
26, 1934), and the number of rounds say so: failures come in episodes, and of those that strike a fifth of all rounds
r rounds see none 0.8^r of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from patternbench.analyze.recommend.objectives import Constraint, Objective
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.estimate import Estimate, is_relative, middle, paired
from patternbench.analyze.statements.family import any_error
from patternbench.analyze.statements.pairing import against
from patternbench.analyze.statements.shown import UNSURE, PValue, PValues, all_of, either, least
from patternbench.terms.arrays import Bools, Floats
from patternbench.terms.quantities import SHARES

RARE = 0.2
"""The share of rounds that episodes strike which a limit must have survived: rarer ones may always be missed."""
_LEADERS = 5
"""How many of the first in rank are asked whether they are better than another one: if they are not, no other is."""


class Duels:
    """The configurations under one condition, two at a time: which of them is better on the objective, how surely.

    Every pair is compared at most once, and only if it is asked for. Each p counts once for each of the ``looks`` at
    rounds that were still being added.
    """

    def __init__(
        self, group: Sequence[ScenarioRounds], objective: Objective, in_percent: bool, looks: float = 1.0
    ) -> None:
        self._group, self._objective, self._in_percent, self._looks = group, objective, in_percent, looks
        self._known: dict[tuple[int, int], Estimate] = {}

    def loss(self, one: int, other: int) -> Estimate:
        """By how much one is worse than the other, on the log scale if compared by ratios."""
        if (one, other) not in self._known:
            sides = self._group[other], self._group[one]
            change = against(*sides, self._objective.response, self._in_percent)
            loss = change if self._objective.minimise else change.reversed
            self._known[one, other], self._known[other, one] = loss, loss.reversed
        return self._known[one, other]

    def better(self, one: int, other: int) -> PValue:
        """Return the p of the claim that one is better than the other; 1 if it is not."""
        loss = self.loss(one, other)
        return PValue.of(loss).times(self._looks) if loss.value < 0 else UNSURE

    def room(self, margin: float) -> float:
        """Return a margin on the scale of losses; none without ratios, of which it is one."""
        return float(np.log1p(margin)) if self._in_percent else 0.0

    def within(self, one: int, other: int, margin: float) -> PValue:
        """Return the one-sided p that one is less than a margin worse than another; without ratios, better."""
        room = self.loss(one, other).shifted(self.room(margin))
        if np.isnan(room.error) or not room.value < 0:
            return UNSURE
        found = PValue.of(room).times(self._looks)
        # Where one side is skewed, all that is wrong may be on the side that is asked for: the firm p is not halved.
        return found if room.error == 0 else PValue(found.even / 2, found.firm)


@dataclass(frozen=True)
class Ranking:
    """The configurations under one condition in order: ``order`` lists those that keep the limits, the best first.

    ``centres`` gives each response's middle per configuration, ``in_percent`` which responses are compared by ratios.
    ``limits[i]`` is the p of the claim that configuration i keeps the limits, ``broken[i]`` that it breaks one.
    """

    order: tuple[int, ...]
    feasible: Bools
    centres: Mapping[str, Floats]
    in_percent: Mapping[str, bool]
    limits: Sequence[PValue]
    broken: Sequence[PValue]
    duels: Duels
    _gains: dict[int, Mapping[int, PValue]] = field(default_factory=dict, repr=False, compare=False)

    def beats(self, one: int, other: int) -> PValue:
        """Return the p that one is better than the other; if the other breaks a limit, either of both will do."""
        better = self.duels.better(one, other)
        return better if self.feasible[other] else either(better, self.broken[other])

    @property
    def p_values(self) -> Sequence[PValue]:
        """The p that the first beats each configuration, and of the first itself that it keeps the limits.

        Where none keeps them, the p that each breaks them.
        """
        if not self.order:
            return self.broken
        first = self.order[0]
        return [self.limits[i] if i == first else self.beats(first, i) for i in range(len(self.feasible))]

    @property
    def p(self) -> PValue:
        """The p of the claim that the first is the choice, or that nothing keeps the limits."""
        return all_of(self.p_values)

    @property
    def lead(self) -> PValue:
        """The p of the claim that the first is better than every other one, whether or not it keeps the limits."""
        return all_of([self.beats(self.order[0], i) for i in range(len(self.feasible)) if i != self.order[0]])

    def within(self, one: int, margin: float) -> PValue:
        """Return the p of the claim that one is less than a margin worse than the best of those that keep the limits.

        Each other one is less than the margin better, or it is not the best, as it is worse than a third. As for the
        claim that one is the best, no correction is needed for how many there are: who is picked for its luck must
        surely be near all others, which are as good or bad.
        """
        rivals = [other for other in self.order if other != one]
        harmless = [least(self.duels.within(one, other, margin), self.surpassed(other)) for other in rivals]
        return all_of(harmless)

    def surpassed(self, one: int) -> PValue:
        """Return the one-sided p that one of the first in rank is better than this one, whichever shows it best."""
        return least(*(self.duels.within(other, one, 0.0) for other in self.order[:_LEADERS] if other != one))

    def no_other_keeps(self, one: int, margin: float) -> PValue:
        """Return the p that no configuration which broke a limit keeps it and is more than a margin better than one."""
        broke = np.flatnonzero(~self.feasible).tolist()
        return all_of([least(self.broken[other], self.duels.within(one, other, margin)) for other in broke])

    def is_out(self, one: int) -> PValue:
        """Return the p that one is not the choice, since it breaks a limit or another one is better.

        It counts once for each claim that may be wrong of the one that is the choice: each other one may seem better,
        and it may seem to break a limit.
        """
        return least(self.surpassed(one), self.broken[one]).times(len(self.feasible))

    def gains(self, base: int) -> Mapping[int, PValue]:
        """Give the p that each other one that keeps the limits is better than the baseline, corrected (Holm)."""
        if base not in self._gains:
            self._gains[base] = self._gains_over(base)
        return self._gains[base]

    def _gains_over(self, base: int) -> Mapping[int, PValue]:
        others = [one for one in self.order if one != base]
        p_values = [self.beats(one, base) for one in others]
        even = PValues.of(p_values).corrected(any_error)
        # Far out Hall's transformation takes away a little too much: firmly, a claim more counts that is never made.
        firm = PValues.of([*p_values, UNSURE]).corrected(any_error) if len(p_values) > 1 else even
        pairs = zip(even, firm, strict=False)
        return {one: PValue(a.even, b.firm) for one, (a, b) in zip(others, pairs, strict=True)}


def rank(
    group: Sequence[ScenarioRounds],
    objective: Objective,
    limits: Sequence[Constraint],
    prefer: Sequence[bool] = (),
    looks: float = 1.0,
) -> Ranking:
    """Order the scenarios under one condition by the objective. Of equal ones, preferred ones come first.

    Each p counts once for each of the ``looks`` at rounds that were still being added. Some of those left the blocks
    early, so they are ordered as if all had run in the same ones.
    """
    names = dict.fromkeys([objective.response, *(one.response for one in limits)])
    in_percent = {name: is_relative(name, *(s.values[name] for s in group)) for name in names}
    centres = {
        name: np.array([middle(s.values[name], in_percent[name], s.typical_in(name)) for s in group]) for name in names
    }
    feasible = keeps(centres, limits, len(group))
    middles = _in_the_same_blocks(group, objective.response, in_percent, centres) if looks > 1 else None
    cost = (centres[objective.response] if middles is None else middles) * (1 if objective.minimise else -1)
    last = [not one for one in prefer] or [True] * len(group)
    order = tuple(sorted(np.flatnonzero(feasible).tolist(), key=lambda i: (cost[i], last[i], group[i].name)))
    broken = [_breaks(s, limits, in_percent).times(looks) for s in group]
    kept = [all_of([_kept(s, one, in_percent) for one in limits]).times(looks) for s in group]
    duels = Duels(group, objective, in_percent[objective.response], looks)
    return Ranking(order, feasible, centres, in_percent, kept, broken, duels)


def _in_the_same_blocks(
    group: Sequence[ScenarioRounds], response: str, in_percent: Mapping[str, bool], centres: Mapping[str, Floats]
) -> Floats:
    """Return each middle as if it were of the blocks of the configuration that has most: that one's, and the change."""
    most, own = max(group, key=lambda one: len(one.values[response])), centres[response]
    changes = np.array([against(most, one, response, in_percent[response]).value for one in group], dtype=float)
    base = own[[one is most for one in group]][0]
    moved = base * np.exp(changes) if in_percent[response] else base + changes
    middles: Floats = np.where(np.isnan(moved), own, moved)
    return middles


def keeps(values: Mapping[str, Floats], limits: Sequence[Constraint], count: int) -> Bools:
    """Return which configurations (the last axis) keep all limits."""
    shape = next(iter(values.values())).shape if values else (count,)
    kept = np.ones(shape, dtype=bool)
    for one in limits:
        kept &= values[one.response] <= one.bound if one.at_most else values[one.response] >= one.bound
    return kept


def kept_in_all_rounds(scenario: ScenarioRounds, limits: Sequence[Constraint]) -> bool:
    """Whether every single round of a configuration keeps every limit."""
    own = {one.response: scenario.values[one.response] for one in limits}
    return all(bool(keeps({one.response: own[one.response]}, [one], 0).all()) for one in limits)


def _breaks(scenario: ScenarioRounds, limits: Sequence[Constraint], in_percent: Mapping[str, bool]) -> PValue:
    """Return the p of the claim that some limit is broken, corrected for the number of limits."""
    p_values = [_side(scenario, one, in_percent, kept=False) for one in limits]
    return either(*p_values) if p_values else UNSURE


def _kept(scenario: ScenarioRounds, limit: Constraint, in_percent: Mapping[str, bool]) -> PValue:
    """Return the p that a limit is kept; for a share, at least the chance that its rounds missed a failure."""
    p = _side(scenario, limit, in_percent, kept=True)
    missed = (1 - RARE) ** len(scenario.values[limit.response])
    return all_of([p, PValue(missed, missed)]) if limit.response in SHARES else p


def _side(scenario: ScenarioRounds, limit: Constraint, in_percent: Mapping[str, bool], kept: bool) -> PValue:
    """Return the p of the claim that a limit is kept (or broken); 1 if the rounds are on the other side."""
    values, bound = scenario.values[limit.response], np.full_like(scenario.values[limit.response], limit.bound)
    if in_percent[limit.response] and limit.bound > 0:
        values, bound = np.log(values), np.log(bound)
    change = paired(bound, values)
    room = -change.value if limit.at_most else change.value
    if (room >= 0) != kept or (room == 0 and not kept):
        return UNSURE
    by_rounds = _constant(scenario, limit, change) if change.error == 0 else PValue.of(change)
    calls = _by_calls(scenario, limit, kept)
    return all_of([by_rounds, PValue(calls, calls)])


def _constant(scenario: ScenarioRounds, limit: Constraint, change: Estimate) -> PValue:
    """Return the p of rounds that never vary: for shares what calls say decides, where they were counted."""
    p = 0.0 if limit.response in scenario.counts else float(change.least_p)
    return PValue(p, p)


def _by_calls(scenario: ScenarioRounds, limit: Constraint, kept: bool) -> float:
    """Return the p by Clopper and Pearson's interval of all calls together; 0 where calls weren't counted."""
    if limit.response not in scenario.counts:
        return 0.0
    percent, counts = scenario.values[limit.response], scenario.counts[limit.response]
    known = np.isfinite(counts)
    total = round(float(counts[known].sum()))
    hits = round(float((percent[known] * counts[known]).sum() / 100))
    share = min(max(limit.bound / 100, 0.0), 1.0)
    below = limit.at_most == kept
    return float(stats.binom.cdf(hits, total, share) if below else stats.binom.sf(hits - 1, total, share))
