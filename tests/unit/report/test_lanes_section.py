"""The section on lanes says who ran what, what was lost, and when machines were shared or unlike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import factors
from tests.support.synthetic_run import synthetic_run

from patternbench.records.journal import DONE, Entry, voids
from patternbench.records.stored import PlannedScenario
from patternbench.report.model import RunReport
from patternbench.report.sections import lanes

ONE = {
    **{"boot": "a", "cpu": "Xeon", "cores": 2, "kernel": "6.1", "governor": None},
    **{"python": "3.11.7", "libraries": {"numpy": "2.0"}},
}


def rounds(lane: str, block: int) -> list[Entry]:
    return [Entry(2 * block + n, block, "s", DONE, f"{2 * block + n:05d}", 0.0, 1.0, lane=lane) for n in range(2)]


def test_a_run_without_lanes_has_no_section() -> None:
    assert lanes.sections({}, rounds("", 0), measured({})) == []


def test_each_lane_has_its_blocks_and_what_it_lost() -> None:
    lost = [*rounds("b", 1), voids(1, "b", "its node left the cluster")]
    entries = [*rounds("a", 0), *lost, *rounds("a", 1), *rounds("b", 2)]
    (section,) = lanes.sections({"a": ONE, "b": {**ONE, "boot": "b", "cpu": "Epyc"}}, entries, measured({}))
    assert section.tables[0].frame.to_dict("records") == [
        {"lane": "a", "processor": "Xeon", "blocks": 2, "voided": 0, "rounds": 4},
        {"lane": "b", "processor": "Epyc", "blocks": 1, "voided": 1, "rounds": 2},
    ]
    assert any("1 block of a lane that was lost did not count" in words for words in section.words)
    assert any("block 1 of b (its node left the cluster)" in words for words in section.words)


def test_lanes_that_share_a_machine_or_are_unlike_are_a_warning() -> None:
    assert lanes.sentences({"a": ONE, "b": {**ONE, "boot": "b"}}) == []
    (shared,) = lanes.sentences({"a": ONE, "b": ONE})
    assert "shared a machine" in shared
    (unlike,) = lanes.sentences({"a": ONE, "b": {**ONE, "boot": "b", "cpu": "Epyc", "kernel": "5.10"}})
    assert "different processors and kernels" in unlike
    assert lanes.sentences({}) == []


@pytest.mark.parametrize(
    ("fact", "value", "words"),
    [
        ("cpu", "Epyc", "processors"),
        ("cores", 4, "numbers of CPUs"),
        ("kernel", "5.10", "kernels"),
        ("governor", "powersave", "frequency governors"),
        ("python", "3.13.0", "versions of Python"),
        ("libraries", {"numpy": "2.1"}, "versions of libraries"),
    ],
)
def test_whatever_of_two_machines_is_not_alike_is_a_warning(fact: str, value: object, words: str) -> None:
    (unlike,) = lanes.sentences({"a": ONE, "b": {**ONE, "boot": "b", fact: value}})
    assert unlike.startswith(f"Lanes had different {words}.")


def test_a_machine_that_was_refused_is_named_with_why() -> None:
    refused = {"c": "runs another patternbench (code_sha256 differ)"}
    reported = replace(measured({}), manifest={"refused_lanes": refused})
    (section,) = lanes.sections({"a": ONE}, rounds("a", 0), reported)
    assert "c was refused as a lane: it runs another patternbench (code_sha256 differ)." in section.words


def measured(ratios: dict[int, float], spread: float = 0.01) -> RunReport:
    """A run of a baseline and a retry, whose p95 is higher by this ratio in each block."""
    rng = np.random.default_rng(2)
    rows = [
        {
            **{"round": 2 * block + n, "block": block, "scenario": f"s{n}", "status": "done", "cause": None},
            **{"failure_rate": 0.0, "rejected_rate": 0.0, "success_rate": 100.0, "time_to_success": 1.0},
            "call_success_p95": (ratio if n else 1.0) * float(np.exp(spread * rng.standard_normal())),
        }
        for block, ratio in ratios.items()
        for n in range(2)
    ]
    empty = synthetic_run(rounds=1, users=[50], fault=[0])
    return replace(
        empty,
        factors=factors({"strategy": ["baseline", "retry"]}),
        scenarios=[
            PlannedScenario(id=f"s{n}", levels={"strategy": name}) for n, name in enumerate(["baseline", "retry"])
        ],
        rounds=pd.DataFrame(rows) if rows else empty.rounds.iloc[:0],
        latencies=empty.latencies.iloc[:0],
    )


def words_of(ratios: dict[int, float]) -> str:
    entries = [entry for block in ratios for entry in rounds("ab"[block % 2], block)]
    (section,) = lanes.sections({"a": ONE, "b": {**ONE, "boot": "b"}}, entries, measured(ratios))
    (_, changes) = section.tables
    assert {"a", "b", "I2", "on all lanes"} <= set(changes.frame.columns)
    return "\n".join(section.words).replace("\u00a0", " ")


def test_a_change_that_is_another_on_one_lane_is_said_with_its_size_on_each() -> None:
    words = words_of({block: 1.2 if block % 2 else 1.6 for block in range(16)})
    assert "p95 of successful calls, retry: the change differs between lanes (+59" in words
    assert " on a and +" in words
    assert "Of 3 changes, 2 are the same on all lanes." in words


def test_changes_that_lanes_agree_on_are_counted_as_the_same() -> None:
    words = words_of(dict.fromkeys(range(16), 1.4))
    assert "Of 3 changes, 3 are the same on all lanes." in words


def test_blocks_of_before_the_run_had_lanes_are_named() -> None:
    entries = [*rounds("", 0), *rounds("", 2), *rounds("b", 1), *rounds("b", 3)]
    (section,) = lanes.sections({"b": ONE}, entries, measured(dict.fromkeys(range(4), 1.4)))
    blocks, changes = section.tables
    assert blocks.frame["lane"].tolist() == ["b", "without a lane"]
    assert {"b", "without a lane"} <= set(changes.frame.columns)
