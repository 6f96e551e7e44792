"""Rounds that stop once the choice is known, replayed on rounds that are there already: block after block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patternbench.analyze.recommend.judging import Judge
from patternbench.analyze.recommend.recommendation import Place
from patternbench.analyze.recommend.standing import ChoiceStanding, standings_of


@dataclass(frozen=True)
class Replayed:
    """What a replay came to: how many rounds it took in all, and how far each condition is decided at its end."""

    rounds: int
    standings: tuple[ChoiceStanding, ...]


def replayed(judge: Judge, places: Sequence[Place], given: Sequence[str] = ()) -> Replayed:
    """Take the rounds of each next block only where the rule of the judge asks for them."""
    rule = judge.rule
    assert rule is not None
    blocks, measured = rule.fewest, {one.name: list(range(rule.fewest)) for _, group in places for one in group}
    while True:
        now = [(where, [one.in_blocks(measured[one.name]) for one in group]) for where, group in places]
        found, coming = standings_of(judge, now, given), rule.next_look(blocks)
        staying = [one.name for each in found for one in each.staying]
        if not staying or coming is None:
            return Replayed(sum(map(len, measured.values())), found)
        for name in staying:
            measured[name] += range(blocks, coming)
        blocks = coming
