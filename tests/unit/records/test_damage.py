"""Which lines of a journal are damage, told from the plan alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.recorded_run import pinned

from patternbench.plan.order import Round
from patternbench.records import damage
from patternbench.records.folder import RunFolder, write_json
from patternbench.records.journal import DONE, WARM_UP, Entry, Journal


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of two rounds of one scenario, of which the first has failed."""
    run = RunFolder(tmp_path / "run")
    run.create()
    rounds = [Round(index, index, "mine").as_json() for index in range(2)]
    write_json(run.plan, {"rounds": rounds, "factors": {}, "scenarios": [{"id": "mine", "levels": {}}]})
    Journal(run.journal).append(entry(0))
    return run


def entry(round_: int, scenario: str = "mine", status: str = "failed") -> Entry:
    return Entry(round_, 0, scenario, status, f"{max(round_, 0):05d}", 1.0, 2.0)


@pytest.mark.parametrize("foreign", [entry(99), entry(1, "another")], ids=["a round too many", "another scenario"])
def test_a_whole_line_from_the_journal_of_another_run_is_reported_and_counts_for_no_round(
    run: RunFolder, foreign: Entry
) -> None:
    Journal(run.journal).append(foreign)
    assert damage.lost_lines(run) == [2]
    assert damage.rounds(run) == [entry(0)]
    (message,) = damage.sentences(run, damage.rounds(run))
    assert f"{run.journal} is damaged at line 2; type `patternbench resume" in message


def test_lines_of_the_plans_rounds_and_of_warm_ups_are_no_damage(run: RunFolder) -> None:
    for each in (entry(1, status=DONE), entry(-1, status=WARM_UP)):
        Journal(run.journal).append(each)
    assert damage.lost_lines(run) == []


def test_a_damaged_line_whose_round_was_run_again_is_not_a_reason_to_resume(tmp_path: Path) -> None:
    run = pinned(RunFolder(tmp_path), [{"id": "a", "levels": {}}], [Round(0, 0, "a")])
    run.journal.write_bytes(b"\xff\n")
    assert "patternbench resume" in " ".join(damage.sentences(run, []))
    again = Entry(0, 0, "a", DONE, "00000", 0.0, 1.0)
    assert damage.sentences(run, [again]) == [f"{run.journal} is damaged at line 1; no round is missing"]
