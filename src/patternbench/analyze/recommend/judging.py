"""What the rounds show of the configurations under each condition: rankings, the bars over all conditions, verdicts.

The words of a recommendation and the end of rounds that stop once the choice is known rest on the same judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from patternbench.analyze.recommend.objectives import Constraint, Objective
from patternbench.analyze.recommend.outlook import Outlook, outlook
from patternbench.analyze.recommend.ranking import Ranking, kept_in_all_rounds, rank
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.pairing import is_base
from patternbench.analyze.statements.shown import NONE_COUNTS, UNSURE, PValue, PValues, Shown, Threshold
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.terms.factors import FactorTable

Group = Sequence[ScenarioRounds]
"""The configurations under one condition."""
_TWO = 2


@dataclass(frozen=True)
class Bars:
    """The p up to which claims count, each over all conditions: at most 5 in 100 of those made are false."""

    clear: Threshold
    lead: Threshold
    gain: Threshold
    near: Threshold = NONE_COUNTS


@dataclass(frozen=True)
class Judgement:
    """The configurations under one condition with their ranking, and what may be said of them.

    ``base`` is the first baseline in rank that keeps the limits, if any does; ``margin`` is in percent. ``counted`` is
    how often each p counts: once, or for the looks at rounds that stopped once the choice was known.
    """

    group: Group
    ranking: Ranking
    base: int | None
    limits: tuple[Constraint, ...]
    margin: float
    counted: float
    bars: Bars

    @cached_property
    def picked(self) -> int | None:
        """The first if it is shown to lead, else the best with a gain over the baseline, or the baseline."""
        ranking, bars = self.ranking, self.bars
        if self.base is None or bars.lead.shown(ranking.lead):
            return ranking.order[0] if ranking.order else None
        gains = ranking.gains(self.base)
        return next((i for i in ranking.order if bars.gain.shown(gains.get(i, UNSURE))), self.base)

    @cached_property
    def verdict(self) -> ChoiceVerdict:
        """How sure the choice is."""
        if self.picked is None:
            return ChoiceVerdict.NOTHING
        if self.bars.clear.shown(self.ranking.p):
            return ChoiceVerdict.CLEAR
        if self.bars.lead.shown(self.ranking.lead):
            kept = kept_in_all_rounds(self.group[self.picked], self.limits)
            return ChoiceVerdict.KEPT if kept else ChoiceVerdict.UNSURE
        return ChoiceVerdict.TIE if len(self.ties) >= _TWO else ChoiceVerdict.UNSURE

    @cached_property
    def ties(self) -> list[int]:
        """The choice, and what these rounds can't tell apart from it, in rank; none without a choice."""
        picked, ranking, bars = self.picked, self.ranking, self.bars
        if picked is None:
            return []
        gains = ranking.gains(picked) if picked == self.base else {}

        def better(one: int) -> Shown:
            return bars.gain.shown(gains[one]) if gains else bars.lead.shown(ranking.beats(one, picked))

        def apart(one: int) -> Shown:
            return bars.lead.shown(ranking.beats(picked, one)) or better(one)

        return [one for one in ranking.order if one == picked or not apart(one)]

    @property
    def gains(self) -> Shown | None:
        """Whether the choice is shown to be better than the baseline; None if it is the baseline, or there is none."""
        if self.picked is None or self.base is None or self.base == self.picked:
            return None
        return self.bars.gain.shown(self.ranking.gains(self.base)[self.picked])

    @property
    def near_p(self) -> PValue:
        """The p of the claim that the choice is at most the margin worse than the best; 1 without a choice."""
        return UNSURE if self.picked is None else self.ranking.within(self.picked, self.margin / 100)

    @property
    def near(self) -> Shown:
        """Whether the choice is shown to be at most the margin worse than the best."""
        return Shown.NOT if self.picked is None else self.bars.near.shown(self.near_p)

    @property
    def shown(self) -> Shown:
        """How surely *clearly*, or *nothing keeps*, is shown."""
        if self.verdict is ChoiceVerdict.KEPT:
            return self.bars.lead.shown(self.ranking.lead)
        return self.bars.clear.shown(self.ranking.p)

    @property
    def is_decided(self) -> bool:
        """Whether its choice needs no more rounds: it is clear, or at most the margin worse than the best.

        So it is where nothing keeps the limits, or only one configuration was measured.
        """
        if len(self.group) < _TWO or self.verdict.is_clear:
            return True
        if self.picked is None:
            return bool(self.shown)
        no_other = self.bars.near.shown(self.ranking.no_other_keeps(self.picked, self.margin / 100))
        return bool(self.verdict is ChoiceVerdict.TIE and self.near and no_other)

    def is_out(self, one: int, at_least: float) -> bool:
        """Whether one is shown not to be the choice, at the bar of the claims that are made or at this p."""
        bar = Threshold(max(self.bars.near.even, at_least), max(self.bars.near.firm, at_least))
        return bool(bar.shown(self.ranking.is_out(one)))


@dataclass(frozen=True)
class Judge:
    """What configurations are judged by: objectives, limits, the baseline, the confidence, the margin in percent.

    ``rule`` is that of rounds that stopped once the choice was known: then each p counts for all looks.
    """

    objectives: tuple[Objective, ...]
    limits: tuple[Constraint, ...]
    baseline: Mapping[str, object]
    factors: FactorTable
    level: float
    margin: float
    rule: ChoiceRule | None = None

    def judgements(self, groups: Sequence[Group]) -> list[Judgement]:
        """Judge the configurations under all conditions, together."""
        counted = [self._counted(group) for group in groups]
        rankings = [self._ranked(group, looks) for group, looks in zip(groups, counted, strict=True)]
        bases = [self._base(group, ranking) for group, ranking in zip(groups, rankings, strict=True)]
        bars = _bars(rankings, bases, 1 - self.level)
        rows = zip(groups, rankings, bases, counted, strict=True)
        found = [Judgement(*row[:3], self.limits, self.margin, row[3], bars) for row in rows]
        near = PValues.of([one.near_p for one in found if one.picked is not None]).bar(1 - self.level)
        return [replace(one, bars=replace(bars, near=near)) for one in found]

    def is_base(self, scenario: ScenarioRounds) -> bool:
        """Whether a configuration is a baseline."""
        return is_base(scenario, self.baseline, self.factors)

    def takes_looks_between(self, group: Group) -> bool:
        """Whether looks before the end are expected to pay under a condition, as its first blocks say."""
        if self.rule is None:
            return False
        early = [one.in_blocks(range(self.rule.fewest)) for one in group]
        found = self.outlook([one for one in early if all(len(values) for values in one.values.values())])
        return found is None or found.pays

    def outlook(self, group: Group) -> Outlook | None:
        """Return what is expected of a condition from these rounds; None without a rule, or without any round."""
        if self.rule is None or not group:
            return None
        prefer = [self.is_base(one) for one in group]
        ranking = rank(group, self.objectives[0], self.limits, prefer, len(self.rule.looks))
        return outlook(ranking, self.rule, prefer)

    def _ranked(self, group: Group, looks: float) -> Ranking:
        prefer = [self.is_base(one) for one in group]
        return rank(group, self.objectives[0], self.limits, prefer, looks)

    def _counted(self, group: Group) -> float:
        if self.rule is None:
            return 1.0
        blocks = blocks_of(group)
        between = blocks < self.rule.most or self.takes_looks_between(group)
        return self.rule.counted(blocks, between)

    def _base(self, group: Group, ranking: Ranking) -> int | None:
        """Return the first baseline in rank, if one keeps the limits."""
        return next((i for i in ranking.order if self.is_base(group[i])), None)


def _bars(rankings: Sequence[Ranking], bases: Sequence[int | None], alpha: float) -> Bars:
    ranked = [one for one in rankings if one.order]
    gains = [g for one, base in zip(rankings, bases, strict=True) if base is not None and (g := one.gains(base))]
    clear, lead, gain = (
        PValues.of(p_values).bar(alpha)
        for p_values in (
            [one.p for one in rankings],
            [one.lead for one in ranked],
            # The surest of corrected ones is corrected already.
            [(min(g.even for g in one.values()), min(g.firm for g in one.values())) for one in gains],
        )
    )
    return Bars(clear, lead, gain)


def blocks_of(group: Group) -> int:
    """Return how many blocks there were when these configurations were measured last; their rounds without blocks."""
    numbered = [int(blocks.max()) + 1 for one in group for blocks in one.blocks.values() if len(blocks)]
    return max(numbered or [len(values) for one in group for values in one.values.values()], default=0)
