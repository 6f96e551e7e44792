"""The order of execution: blocks, shuffled by the seed, the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.studies import EXAMPLE, ROOT, changed, study

from patternbench.plan.expand import expand
from patternbench.plan.order import Round, counting_passes, next_block, rounds_of
from patternbench.plan.scenarios import Scenario
from patternbench.records.inputs import Inputs
from patternbench.run.before.reconfigurations import Reconfigurations
from patternbench.study.load import load

SCENARIOS = expand(study()).scenarios


@given(st.integers(1, 6), st.integers(0, 2**53))
def test_every_block_holds_every_scenario_once(rounds: int, seed: int) -> None:
    places = rounds_of(SCENARIOS, rounds, seed, "shuffled")
    assert [p.index for p in places] == list(range(len(SCENARIOS) * rounds))
    assert [p.block for p in places] == sorted(p.block for p in places)
    counts = Counter((p.block, p.scenario) for p in places)
    assert set(counts.values()) == {1}
    assert len(counts) == len(SCENARIOS) * rounds


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    first = rounds_of(SCENARIOS, 3, 7, "shuffled")
    assert first == rounds_of(SCENARIOS, 3, 7, "shuffled")
    assert first != rounds_of(SCENARIOS, 3, 8, "shuffled")


PRINTS_ITS_PLAN = """
import json
from tests.support.studies import study
from patternbench.plan.expand import expand
from patternbench.plan.order import rounds_of

plan = expand(study())
rounds = rounds_of(plan.scenarios, 3, 7, "shuffled")
print(json.dumps([plan.as_json(), [place.as_json() for place in rounds]]))
"""


def plan_of_a_process(hash_seed: str) -> bytes:
    """The plan as a process writes it in which sets and hashes are ordered by this seed."""
    given = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", PRINTS_ITS_PLAN]
    return subprocess.run(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.slow
def test_two_processes_write_the_same_plan_byte_for_byte() -> None:
    assert plan_of_a_process("1") == plan_of_a_process("2") != b""


def test_blocks_are_shuffled_differently() -> None:
    places = rounds_of(SCENARIOS, 2, 7, "shuffled")
    one, two = ([p.scenario for p in places if p.block == block] for block in (0, 1))
    assert one != two


def test_the_order_of_seed_7_is_golden() -> None:
    order = {scenario.id: place for place, scenario in enumerate(SCENARIOS)}
    places = rounds_of(SCENARIOS, 1, 7, "shuffled")
    assert [order[p.scenario] for p in places[:8]] == [14, 54, 92, 18, 41, 11, 19, 57]


def test_declared_order_is_the_papers() -> None:
    places = rounds_of(SCENARIOS, 3, 7, "declared")
    assert [p.scenario for p in places[:6]] == [SCENARIOS[0].id] * 3 + [SCENARIOS[1].id] * 3
    assert [p.block for p in places[:6]] == [0, 1, 2, 0, 1, 2]


def test_scenarios_of_one_system_stay_together_within_a_block() -> None:
    system = "{name: target, settings: {workers: [1, 2, 3]}}"
    scenarios = expand(study(changed(EXAMPLE, system=system))).scenarios
    workers = {s.id: s.levels["workers"] for s in scenarios}
    sequence = [workers[p.scenario] for p in rounds_of(scenarios, 1, 7, "shuffled")]
    changes = sum(a != b for a, b in pairwise(sequence))
    assert changes == 2


def test_the_block_after_none_is_the_first() -> None:
    everything = [scenario.id for scenario in SCENARIOS]
    assert next_block([], SCENARIOS, everything, 7, "shuffled") == rounds_of(SCENARIOS, 1, 7, "shuffled")


def test_a_further_block_in_declared_order_keeps_that_order() -> None:
    before = rounds_of(SCENARIOS, 2, 7, "declared")
    kept = [SCENARIOS[5].id, SCENARIOS[2].id]
    further = next_block(before, SCENARIOS, kept, 7, "declared")
    assert [place.scenario for place in further] == [SCENARIOS[2].id, SCENARIOS[5].id]
    assert [(place.index, place.block) for place in further] == [(len(before), 2), (len(before) + 1, 2)]


def test_a_round_as_plain_data_holds_its_place_and_its_scenario() -> None:
    place = rounds_of(SCENARIOS, 2, 7, "shuffled")[-1]
    assert place.as_json() == {"index": len(SCENARIOS) * 2 - 1, "block": 1, "scenario": place.scenario}


def settings(*levels: int) -> Sequence[Scenario]:
    """Scenarios of two systems, each with these levels of a setting."""
    system = f"{{name: target, settings: {{workers: [1, 2], seed: {list(levels)}}}}}"
    return expand(study(changed(EXAMPLE, system=system))).scenarios


def sequence(scenarios: Sequence[Scenario], factor: str, rounds: list[Round]) -> list[object]:
    levels = {scenario.id: scenario.levels[factor] for scenario in scenarios}
    return [levels[round_.scenario] for round_ in rounds]


def changes(levels: Sequence[object]) -> int:
    return sum(before != after for before, after in pairwise(levels))


def test_scenarios_of_one_group_stay_together_and_are_shuffled_in_it() -> None:
    scenarios = settings(1, 2, 3)
    rounds = rounds_of(scenarios, 1, 7, "shuffled", group=lambda scenario: str(scenario.levels["workers"]))
    assert changes(sequence(scenarios, "workers", rounds)) == 1
    assert changes(sequence(scenarios, "seed", rounds)) > 5
    alone = rounds_of(scenarios, 1, 7, "shuffled")
    systems = list(zip(*(sequence(scenarios, name, alone) for name in ("workers", "seed")), strict=True))
    assert changes(systems) == 5


def test_counting_passes_of_one_group_stay_together_in_declared_order() -> None:
    scenarios = settings(1, 2, 3)
    passes = counting_passes(scenarios, group=lambda scenario: str(scenario.levels["seed"]))
    assert sorted(pass_.scenario for pass_ in passes) == sorted(scenario.id for scenario in scenarios)
    assert changes(sequence(scenarios, "seed", passes)) == 2
    assert [pass_.scenario for pass_ in counting_passes(scenarios)] == [scenario.id for scenario in scenarios]


def test_a_full_shuffle_knows_no_groups() -> None:
    scenarios = settings(1, 2, 3)
    rounds = rounds_of(scenarios, 2, 7, "fully_shuffled", group=lambda _: "one")
    assert rounds == rounds_of(scenarios, 2, 7, "fully_shuffled")
    assert changes(sequence(scenarios, "workers", rounds)) > 20
    assert sorted((r.block, r.scenario) for r in rounds) == sorted((b, s.id) for b in (0, 1) for s in scenarios)
    assert next_block(rounds[: len(scenarios)], scenarios, [s.id for s in scenarios], 7, "fully_shuffled") == [
        Round(round_.index, 1, round_.scenario) for round_ in rounds[len(scenarios) :]
    ]


def test_the_orders_of_studies_of_several_systems_are_golden() -> None:
    path = ROOT / "studies" / "rate-limiting-quick.yaml"
    scenarios = expand(load(path)).scenarios
    number = {scenario.id: place for place, scenario in enumerate(scenarios)}
    group = Reconfigurations(load(path), Inputs(path.parent)).group
    rounds = rounds_of(scenarios, 1, load(path).seed, "shuffled", group=group)
    assert [number[round_.scenario] for round_ in rounds[:8]] == [25, 33, 0, 2, 18, 32, 16, 1]
