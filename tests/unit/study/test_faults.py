"""Faults as a study declares them: of what kind, where, when."""

from __future__ import annotations

import re

import pytest
from tests.support.studies import ROOT

from patternbench.plan.expand import expand
from patternbench.plan.scenarios import Scenario
from patternbench.study.faults import KINDS, Fault
from patternbench.study.faults.kinds.slow import Bandwidth
from patternbench.study.load import loads
from patternbench.terms.problems import InputError

STUDY = """\
patternbench: 1
name: faulty
system: shop-behind-two-balancers
workload: {closed: {users: 2, duration: 10s}}
strategies: [{client: native, baseline: {}}]
"""
EXAMPLES = {
    "abort": {"abort": {"percentage": 20}},
    "cpu": {"cpu": {"percentage": 50}, "where": "shop"},
    "cpu_limit": {"cpu_limit": {"cores": 0.5}, "where": "shop.web"},
    "memory_limit": {"memory_limit": {"size": "64MB"}, "where": "shop.web", "when": {"for": "2s"}},
    "disconnect": {"disconnect": {}, "where": "shop.web", "when": {"for": "2s"}},
    "loss": {"loss": {"percentage": 5}, "where": "shop.web -> shop.store"},
    "restart": {"restart": {}, "where": "shop.web", "when": {"from": "2s", "for": "1s"}},
    "crash": {"crash": {}, "where": "shop", "when": {"from": "2s", "for": "1s"}},
    "delay": {"delay": {"percentage": 5, "duration": "250us", "spread": "50us"}, "where": "a -> b"},
    "flush": {"flush": {}, "where": "cache", "when": {"from": "2s", "for": "1s"}},
    "freeze": {"freeze": {}, "where": "shop", "when": [{"from": "1s", "for": "1s"}, {"from": "3s", "for": "1s"}]},
    "partition": {"partition": {}, "where": "a -> b", "when": {"for": "2s"}},
    "refuse": {"refuse": {}, "when": {"from": "2s"}},
    "reset": {"reset": {"percentage": 1}},
    "slow": {"slow": {"bandwidth": "100kB/s"}},
    "stall": {"stall": {"percentage": 1}},
}


def scenarios(faults: str) -> tuple[Scenario, ...]:
    return expand(loads(STUDY + (f"faults:\n{faults}" if faults else ""), "x.yaml")).scenarios


def refused(faults: str) -> str:
    with pytest.raises(InputError) as reported:
        scenarios(faults)
    return str(reported.value)


def test_there_is_an_example_of_every_kind() -> None:
    assert set(EXAMPLES) == set(KINDS)


def test_the_page_on_studies_has_a_row_for_every_kind() -> None:
    page = (ROOT / "docs/study-file.md").read_text().partition("## Faults")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(KINDS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fault_of_each_kind_survives_a_scenarios_plain_data(kind: str) -> None:
    scenario = scenarios("")[0]
    with_fault = Scenario(
        scenario.system, (Fault.model_validate(EXAMPLES[kind]),), scenario.workload, "native", scenario.strategy
    )
    again = Scenario.from_json(with_fault.as_json())
    assert again.faults == with_fault.faults
    assert again.id == with_fault.id != scenario.id


def test_a_fault_at_the_edge_for_the_whole_round_is_written_as_it_always_was() -> None:
    plain = Fault.model_validate({"abort": {"percentage": 20}})
    message = Fault.model_validate({"abort": {"percentage": 20}, "where": "edge", "when": []})
    assert plain.as_plain() == message.as_plain() == {"percentage": 20, "status": 503}


def test_several_of_a_kind_at_different_places_are_factors_of_their_own() -> None:
    both = "- abort: {percentage: [0, 20]}\n- {abort: {percentage: [0, 5]}, where: balancer-1 -> shop}\n"
    levels = [scenario.levels for scenario in scenarios(both)]
    assert [(each["abort.percentage"], each["abort_2.percentage"]) for each in levels] == [
        (0, 0),
        (0, 5),
        (20, 0),
        (20, 5),
    ]


def test_when_a_fault_acts_may_be_a_factor() -> None:
    crash = "- {crash: {}, where: shop, when: {from: 2s, for: [0ms, 1s]}}\n"
    found = scenarios(crash)
    assert [scenario.levels["crash.when.for"] for scenario in found] == ["0ms", "1s"]
    assert [scenario.faults[0].acts for scenario in found] == [False, True]


def test_one_kind_twice_at_one_place_needs_windows_that_do_not_overlap() -> None:
    first, second = (
        "- {abort: {percentage: 5}, when: {from: 0s, for: 2s}}\n",
        "- {abort: {percentage: 50}, when: {from: %s}}\n",
    )
    assert "faults[1]: a second abort fault acts at the same place (edge)" in refused(first + second % "1s")
    assert len(scenarios(first + second % "2s")) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("- {freeze: {}}\n", "freeze acts on a component; allowed: the component's name"),
        ("- {freeze: {}, where: a -> b}\n", "freeze acts on a component"),
        ("- {stall: {percentage: 1}, where: shop}\n", "allowed: `edge`, or `CALLER -> shop`"),
        ("- {delay: {percentage: 1, duration: 1ms, spread: 2ms}}\n", "larger than the duration"),
        ("- {slow: {bandwidth: 100}}\n", "bytes per second with their unit"),
        ("- {slow: {bandwidth: 0B/s}}\n", "is not a bandwidth"),
        ("- {crash: {}, where: shop, when: {from: 2}}\n", "a duration needs a unit"),
        ("- {crash: {}, freeze: {}, where: shop}\n", "are given together"),
        ("- {explode: {}}\n", "unknown key"),
        ("- {cpu: {percentage: 100}, where: shop}\n", "at most 99"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_what_can(fault: str, words: str) -> None:
    assert words in refused(fault)


@pytest.mark.parametrize(
    ("text", "written", "bytes_per_s"),
    [
        ("100kB/s", "100kB/s", 100_000),
        ("0.1 MB/s", "100kB/s", 100_000),
        ("1500B/s", "1500B/s", 1500),
        ("1000000B/s", "1MB/s", 1e6),
        ("0.5B/s", "0.5B/s", 0.5),
        ("unlimited", "unlimited", None),
    ],
)
def test_a_bandwidth_has_one_writing(text: str, written: str, bytes_per_s: float | None) -> None:
    assert Bandwidth.parse(text) == written
    assert Bandwidth.parse(text).bytes_per_s == bytes_per_s
