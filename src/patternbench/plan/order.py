"""The order of execution: blocks of rounds, shuffled within by the study's seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from patternbench.plan.scenarios import Scenario, content_id
from patternbench.study.model.tree import plain
from patternbench.study.models import Order

OUTSIDE = -1
"""The index and block of what is run outside the measured rounds."""
Group = Callable[[Scenario], str]
"""Tells by a text which scenarios stay together within a block."""


def by_system(scenario: Scenario) -> str:
    """Return the group of all scenarios of one system with the same settings and the same tracing."""
    return content_id([plain(scenario.system), scenario.sample])


@dataclass(frozen=True)
class Round:
    """One repetition of one scenario: its place in the order of execution, and its block."""

    index: int
    block: int
    scenario: str

    @property
    def counting(self) -> bool:
        """Whether it is a counting pass: an execution outside the measured rounds, and in no plan."""
        return self.index == OUTSIDE

    def as_json(self) -> dict[str, object]:
        """Return the round as plain data."""
        return {"index": self.index, "block": self.block, "scenario": self.scenario}


def rounds_of(
    scenarios: Sequence[Scenario], rounds: int, seed: int, order: Order, *, group: Group = by_system
) -> list[Round]:
    """Every round of a run in the order of execution.

    ``shuffled``: block after block, each holding every scenario once, shuffled by the seed so that drift of the machine
    falls on all scenarios alike; scenarios of one ``group`` stay together within a block, as between them nothing has
    to be started (a split plot). ``fully_shuffled``: the same, without groups (complete randomization of each block).
    ``declared``: scenario after scenario, all rounds of one in a row, as the paper's tool does.
    """
    if order == "declared":
        places = [(block, scenario) for scenario in scenarios for block in range(rounds)]
    else:
        blocks = (_block(scenarios, seed, block, order, group) for block in range(rounds))
        places = [(block, scenario) for block, ordered in enumerate(blocks) for scenario in ordered]
    return [Round(index, block, scenario.id) for index, (block, scenario) in enumerate(places)]


def counting_passes(scenarios: Sequence[Scenario], group: Group = by_system) -> list[Round]:
    """Return the counting pass of each scenario, in declared order but for those of one group, which stay together."""
    ordered = chain.from_iterable(_groups(scenarios, group))
    return [Round(OUTSIDE, OUTSIDE, scenario.id) for scenario in ordered]


def next_block(
    rounds: Sequence[Round],
    scenarios: Sequence[Scenario],
    kept: Collection[str],
    seed: int,
    order: Order,
    *,
    group: Group = by_system,
) -> list[Round]:
    """Return the block after ``rounds``: one of each ``kept`` scenario (by id), in the whole block's order."""
    block = max((round_.block for round_ in rounds), default=-1) + 1
    ordered = _block(scenarios, seed, block, order, group)
    ids = [scenario.id for scenario in ordered if scenario.id in kept]
    return [Round(len(rounds) + number, block, scenario) for number, scenario in enumerate(ids)]


def _block(scenarios: Sequence[Scenario], seed: int, block: int, order: Order, group: Group) -> list[Scenario]:
    """Return the scenarios in the order of one block."""
    if order == "declared":
        return list(scenarios)
    source = random.Random(f"{seed}/{block}")
    shuffled = _groups(scenarios, group if order == "shuffled" else _alone)
    source.shuffle(shuffled)
    for together in shuffled:
        source.shuffle(together)
    return [scenario for together in shuffled for scenario in together]


def _groups(scenarios: Sequence[Scenario], group: Group) -> list[list[Scenario]]:
    """Return the scenarios of each group, in the order of first mention."""
    groups: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault(group(scenario), []).append(scenario)
    return list(groups.values())


def _alone(scenario: Scenario) -> str:
    """Return a group that no other scenario has."""
    return scenario.id
