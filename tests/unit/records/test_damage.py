"""Which rounds and which lines of a journal are damage, and what of a run is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.measured_run import measured_run
from tests.support.recorded_run import pinned

from patternbench.plan.order import Round
from patternbench.records import damage, seals, stored
from patternbench.records.folder import RunFolder, write_json
from patternbench.records.journal import DAMAGED, DONE, FAILED, WARM_UP, Entry, Journal, checked
from patternbench.records.stored import PlannedRound
from patternbench.terms.problems import InputError


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


def test_the_records_of_a_round_are_those_of_its_last_try(run: RunFolder) -> None:
    for each in (entry(-1, status=WARM_UP), replace(entry(0), file="00000-2"), entry(1, status=DONE)):
        Journal(run.journal).append(each)
    assert damage.files_of_rounds(run) == {0: "00000-2", 1: "00001"}


@pytest.fixture
def measured(tmp_path: Path) -> RunFolder:
    return measured_run(tmp_path / "measured", blocks=1)


def causes(run: RunFolder) -> dict[str, str]:
    """Why rounds count as damaged, by the names of their records."""
    return {one.file: str(one.cause) for one in damage.rounds(run) if one.status == DAMAGED}


def test_a_run_as_it_was_measured_has_no_damage(measured: RunFolder) -> None:
    assert causes(measured) == {}
    assert damage.lost_lines(measured) == []
    assert damage.sentences(measured, damage.rounds(measured)) == []
    assert damage.incomplete(measured, damage.rounds(measured)) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("observed/00001/speed/samples.parquet", "is not the file that the round wrote"),
        ("component-logs/00001/shop/shop.log.gz", "is not the file that the round wrote"),
        ("load/00001/summary.json", "is not the file that the round wrote"),
        ("component-logs/00001/shop/another.log.gz", "is not of this round"),
    ],
)
def test_a_record_that_its_round_did_not_write_costs_the_round(name: str, why: str, measured: RunFolder) -> None:
    """Those of the round before can be read as well as its own."""
    before = name.replace("another", "shop").replace("00001", "00000")
    (measured.path / name).write_bytes((measured.path / before).read_bytes())
    assert causes(measured) == {"00001": f"its records are damaged: {name} {why}"}


def test_a_record_that_is_missing_costs_its_round(measured: RunFolder) -> None:
    (measured.load / "00002" / "summary.json").unlink()
    assert causes(measured) == {"00002": "its records are damaged: load/00002/summary.json is missing"}


@pytest.mark.parametrize(
    "name",
    [
        "attempts/00000.parquet",
        "observed/00000/speed/samples.parquet",
        "component-logs/00000/shop/shop.log.gz",
        "load/00000/summary.json",
    ],
)
@pytest.mark.parametrize("of_before", [False, True])
@pytest.mark.parametrize("what", ["pipe", "device", "link to nothing"])
def test_no_record_is_waited_for_whatever_is_in_its_place(
    what: str, of_before: bool, name: str, measured: RunFolder
) -> None:
    """Journals of before know nothing of these records, so that they are opened to see whether they can be read."""
    if of_before:
        lines = [json.loads(line) for line in measured.journal.read_text().splitlines()]
        newer = ("check", "before", "of", "records", "sha256")
        old = [{key: value for key, value in line.items() if key not in newer} for line in lines]
        measured.journal.write_text("".join(json.dumps(line) + "\n" for line in old))
    path = measured.path / name
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if what == "device" else "nothing")
    assert list(causes(measured)) == ["00000"]
    assert name in causes(measured)["00000"]


def test_lines_of_another_run_of_the_same_study_count_for_no_round(measured: RunFolder, tmp_path: Path) -> None:
    """Their rounds and scenarios are those of the plan, and their attempts are whole."""
    other = measured_run(tmp_path / "other", seed=2, blocks=1)
    mixed = measured.journal.read_text() + other.journal.read_text().splitlines(keepends=True)[2]
    measured.journal.write_text(mixed)
    measured.attempts_of("00002").write_bytes(other.attempts_of("00002").read_bytes())
    assert damage.lost_lines(measured) == [5]
    assert list(causes(measured)) == ["00002"]


def swap_levels(tree: dict[str, Any]) -> None:
    one, other = tree["scenarios"][:2]
    one["levels"], other["levels"] = other["levels"], one["levels"]


@pytest.mark.parametrize(
    ("name", "change"),
    [("plan.json", swap_levels), ("manifest.json", lambda tree: tree.update(objective_s=0.5))],
    ids=["plan", "manifest"],
)
def test_a_plan_or_a_manifest_that_was_changed_is_refused_with_what_to_do(
    name: str, change: Callable[[dict[str, Any]], None], measured: RunFolder
) -> None:
    tree = json.loads((measured.path / name).read_text())
    change(tree)
    (measured.path / name).write_text(json.dumps(tree))
    with pytest.raises(InputError) as refused:
        damage.rounds(measured)
    (problem,) = refused.value.problems
    assert problem.file == str(measured.path / name)
    assert "was changed after the rounds of this run were measured" in problem.message
    assert "restore it from a copy" in problem.hint


def test_what_a_run_notes_while_it_goes_on_is_no_change_of_its_manifest(measured: RunFolder) -> None:
    more = stored.manifest(measured).with_more("clients", {"native": {"version": "1"}})
    stored.write_manifest(measured, more.with_more("lanes", {"one": {"cores": 2}}))
    planned = stored.plan(measured)
    further = [*planned.rounds, PlannedRound(index=4, block=1, scenario=planned.scenarios[0].id)]
    stored.write_plan(measured, planned.model_copy(update={"rounds": further}))
    assert causes(measured) == {}
    assert damage.incomplete(measured, damage.rounds(measured)) == [
        f"1 of 5 rounds has no result yet; type `patternbench resume {measured.path}`"
    ]


def test_a_study_that_was_changed_is_said(measured: RunFolder) -> None:
    measured.study.write_text(measured.study.read_text() + "# more\n")
    (message,) = damage.sentences(measured, damage.rounds(measured))
    assert message.startswith(f"{measured.study} was changed after the rounds were measured; restore it")


def test_a_line_that_is_gone_is_said_although_every_other_is_whole(measured: RunFolder) -> None:
    lines = measured.journal.read_text().splitlines(keepends=True)
    measured.journal.write_text("".join([lines[0], *lines[2:]]))
    (message,) = damage.sentences(measured, damage.rounds(measured))
    assert f"{measured.journal} lacks what was written before line 2; type `patternbench resume" in message
    assert damage.lost_lines(measured) == [2], "its records are there, and no other round may take their name"


def test_rounds_that_failed_are_said_with_the_first_cause(measured: RunFolder) -> None:
    last = [line.entry for line in checked(measured.journal)][-1]
    assert last is not None
    Journal(measured.journal).append(replace(last, status=FAILED, cause="it died", file="00003-2"))
    (message,) = damage.incomplete(measured, damage.rounds(measured))
    assert message.startswith("1 of 4 rounds failed; the first: it died; type `patternbench resume")
    assert message.endswith("--retry-failed`")


def test_a_plan_of_before_that_is_written_anew_is_still_that_of_its_rounds(tmp_path: Path) -> None:
    """Such plans map the names of factors to their levels; written anew, they list them."""
    place = [Round(0, 0, "a")]
    run = pinned(RunFolder(tmp_path), [{"id": "a", "levels": {"users": 2}}], place, {"users": [2]})
    Journal(run.journal, seals.of_run(run)).append(entry(0, "a"))
    stored.write_plan(run, stored.plan(run))
    assert isinstance(json.loads(run.plan.read_text())["factors"], list)
    assert [one.scenario for one in damage.rounds(run)] == ["a"]
