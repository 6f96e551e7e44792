"""The order of execution: blocks of rounds, shuffled within by the study's seed."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from patternbench.plan.scenarios import Scenario, content_id
from patternbench.study.tree import plain

OUTSIDE = -1
"""The index and block of what is run outside the measured rounds."""


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
        """The round as plain data."""
        return {"index": self.index, "block": self.block, "scenario": self.scenario}


def rounds_of(scenarios: Sequence[Scenario], rounds: int, seed: int, order: str) -> list[Round]:
    """Every round of a run in the order of execution.

    ``shuffled``: block after block, each holding every scenario once, shuffled by the seed so that drift of the machine
    falls on all scenarios alike; scenarios of one system stay together within a block, since changing it restarts it.
    ``declared``: scenario after scenario, all rounds of one in a row, as the paper's tool does.
    """
    if order == "declared":
        places = [(block, scenario) for scenario in scenarios for block in range(rounds)]
    else:
        places = [(block, scenario) for block in range(rounds) for scenario in _shuffled(scenarios, seed, block)]
    return [Round(index, block, scenario.id) for index, (block, scenario) in enumerate(places)]


def counting_passes(scenarios: Sequence[Scenario]) -> list[Round]:
    """The counting pass of each scenario, in declared order."""
    return [Round(OUTSIDE, OUTSIDE, scenario.id) for scenario in scenarios]


def next_block(
    rounds: Sequence[Round], scenarios: Sequence[Scenario], kept: Collection[str], seed: int, order: str
) -> list[Round]:
    """The block that follows ``rounds``: a round of each ``kept`` scenario (by id), in the whole block's order."""
    block = max((round_.block for round_ in rounds), default=-1) + 1
    ordered = scenarios if order == "declared" else _shuffled(scenarios, seed, block)
    ids = [scenario.id for scenario in ordered if scenario.id in kept]
    return [Round(len(rounds) + number, block, scenario) for number, scenario in enumerate(ids)]


def _shuffled(scenarios: Sequence[Scenario], seed: int, block: int) -> list[Scenario]:
    source = random.Random(f"{seed}/{block}")
    groups: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault(content_id([plain(scenario.system), scenario.sample]), []).append(scenario)
    order = list(groups.values())
    source.shuffle(order)
    for group in order:
        source.shuffle(group)
    return [scenario for group in order for scenario in group]
