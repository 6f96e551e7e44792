"""The section on lanes says who ran what, what was lost, and when machines were shared or unlike."""

from __future__ import annotations

from patternbench.records.journal import DONE, Entry, voids
from patternbench.report.sections import lanes

ONE = {"boot": "a", "cpu": "Xeon", "cores": 2, "kernel": "6.1", "governor": None}


def rounds(lane: str, block: int) -> list[Entry]:
    return [Entry(2 * block + n, block, "s", DONE, f"{2 * block + n:05d}", 0.0, 1.0, lane=lane) for n in range(2)]


def test_a_run_without_lanes_has_no_section() -> None:
    assert lanes.sections({}, rounds("", 0)) == []


def test_each_lane_has_its_blocks_and_what_it_lost() -> None:
    lost = [*rounds("b", 1), voids(1, "b", "its node left the cluster")]
    entries = [*rounds("a", 0), *lost, *rounds("a", 1), *rounds("b", 2)]
    (section,) = lanes.sections({"a": ONE, "b": {**ONE, "boot": "b", "cpu": "Epyc"}}, entries)
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
