"""Rounds that stop by themselves: whole blocks, no scenario back, nothing that depends on when a run was killed."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.studies import study

from patternbench.analyze.stopping.rule import StoppingRule
from patternbench.plan.expand import expand
from patternbench.plan.order import Round, next_block, rounds_of
from patternbench.run.stopping import open_scenarios

RULE = StoppingRule("p95", 0.05, relative=True, fewest=3, most=6)
SCENARIOS = expand(study()).scenarios[:4]
QUIET, LOUD, BROKEN, OTHER = (scenario.id for scenario in SCENARIOS)


def value(place: Round) -> float:
    """A quiet scenario, a loud one, and one whose rounds all fail."""
    noise = {QUIET: 0.001, LOUD: 0.5, BROKEN: math.nan, OTHER: 0.02 if place.block < 4 else 0.0}[place.scenario]
    return 1 + noise * (-1) ** place.block


def measured(rounds: list[Round]) -> dict[int, float]:
    return {place.index: value(place) for place in rounds if place.scenario != BROKEN}


def grown(order: str = "shuffled") -> list[Round]:
    rounds = rounds_of(SCENARIOS, RULE.fewest, 7, order)
    while kept := set(open_scenarios(rounds, measured(rounds), RULE)):
        rounds += next_block(rounds, SCENARIOS, kept, 7, order)
    return rounds


@pytest.mark.parametrize("order", ["shuffled", "declared"])
def test_a_quiet_scenario_leaves_and_a_loud_one_gets_the_most(order: str) -> None:
    counts = Counter(place.scenario for place in grown(order))
    assert counts[QUIET] == RULE.fewest
    assert counts[LOUD] == RULE.most


def test_a_scenario_whose_rounds_all_fail_ends_at_the_most_too() -> None:
    assert Counter(place.scenario for place in grown())[BROKEN] == RULE.most


def test_every_block_holds_each_open_scenario_once_and_none_comes_back() -> None:
    rounds = grown()
    blocks = [[p.scenario for p in rounds if p.block == b] for b in range(max(p.block for p in rounds) + 1)]
    assert all(len(set(block)) == len(block) for block in blocks)
    assert all(set(later) <= set(earlier) for earlier, later in itertools.pairwise(blocks))
    assert [place.index for place in rounds] == list(range(len(rounds)))


def test_a_further_block_keeps_the_order_of_the_whole_one() -> None:
    rounds = rounds_of(SCENARIOS, 3, 7, "shuffled")
    whole = [p.scenario for p in rounds_of(SCENARIOS, 4, 7, "shuffled") if p.block == 3]
    added = next_block(rounds, SCENARIOS, {LOUD, OTHER}, 7, "shuffled")
    assert [p.scenario for p in added] == [name for name in whole if name in {LOUD, OTHER}]


@given(st.integers(0, 30))
def test_what_comes_next_follows_from_the_records_alone(cut: int) -> None:
    whole = grown()
    last = whole[min(cut, len(whole) - 1)].block
    rounds = [place for place in whole if place.block <= max(last, RULE.fewest - 1)]
    while kept := set(open_scenarios(rounds, measured(rounds), RULE)):
        rounds += next_block(rounds, SCENARIOS, kept, 7, "shuffled")
    assert rounds == whole
