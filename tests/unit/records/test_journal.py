"""The journal: what it holds is done, whatever was being written when the power went."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.records import attempts
from patternbench.records.folder import write_text
from patternbench.records.journal import (
    DAMAGED,
    DONE,
    FAILED,
    WARM_UP,
    Doubt,
    Entry,
    Journal,
    RerunSelection,
    files_of_rounds,
    latest,
    lines,
    read,
)
from patternbench.terms.problems import InputError


def entry(index: int, status: str = DONE) -> Entry:
    doubts = [Doubt("cpu_stolen", "é\n", "rest")] if index % 2 else []
    return Entry(index, 0, f"s{index}", status, f"{index:05d}", 1.0, 2.0, doubts=doubts)


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    for index in range(5):
        journal.append(entry(index))
    assert journal.entries() == [entry(index) for index in range(5)]


def test_an_entry_is_on_disk_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "journal.jsonl", []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append((os.fstat(number).st_ino, path.read_bytes())))
    journal = Journal(path)
    for index in range(3):
        journal.append(entry(index))
        assert (path.stat().st_ino, path.read_bytes()) in synced, "all of the line was handed to the disk"
        synced.clear()


def test_the_folder_of_a_new_journal_is_on_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.fstat(number).st_ino))
    Journal(tmp_path / "journal.jsonl").append(entry(0))
    assert tmp_path.stat().st_ino in synced


def test_an_entry_that_could_not_be_brought_to_disk_is_not_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(entry(0))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        journal.append(entry(1))
    assert journal.entries() == [entry(0)]


def test_of_a_first_entry_that_could_not_be_brought_to_disk_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Journal(tmp_path / "journal.jsonl").append(entry(0))
    assert (tmp_path / "journal.jsonl").read_bytes() == b""


def test_what_is_read_back_means_what_it_meant(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    written = [entry(0, WARM_UP), entry(1), entry(2, FAILED)]
    for each in written:
        journal.append(each)
    found = journal.entries()
    assert [each.counts for each in found] == [each.counts for each in written] == [False, True, False]
    assert [RerunSelection(failed=True).wants(each) for each in found] == [False, False, True]
    assert [each.round for each in latest(found)] == [1, 2]


def test_a_round_of_which_nothing_is_known_has_no_rows_and_took_no_cpu_time() -> None:
    assert (entry(0).rows, entry(0).cpu_seconds, entry(0).cause) == (0, 0.0, None)


@given(st.integers(0, 2000))
def test_a_journal_cut_anywhere_keeps_every_whole_line(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = Journal(path)
        for index in range(5):
            journal.append(entry(index))
        content = path.read_bytes()[:cut]
        path.write_bytes(content)
        whole = content.count(b"\n")
        assert list(read(path)) == [entry(index) for index in range(whole)]
        again = Journal(path)
        again.append(entry(9))
        assert again.entries()[-1] == entry(9)
        assert len(again.entries()) == whole + 1


def test_a_name_is_on_disk_before_what_it_names_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(str(Path(f"/proc/self/fd/{handle}").readlink())))
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(entry(0))
    assert synced == [str(tmp_path / "journal.jsonl"), str(tmp_path)]
    journal.append(entry(1))
    assert synced[2:] == [str(tmp_path / "journal.jsonl")]
    write_text(tmp_path / "report.html", "page")
    assert synced[3:] == [str(tmp_path / "report.html.tmp"), str(tmp_path)]
    attempts.write(tmp_path / "00000.parquet", attempts.SCHEMA.empty_table())
    assert synced[5:] == [str(tmp_path / "00000.parquet.tmp"), str(tmp_path)]


def test_a_round_that_was_run_again_counts_once_and_warm_ups_never() -> None:
    found = latest([entry(0, WARM_UP), entry(2), entry(1, FAILED), entry(1)])
    assert [(e.round, e.status) for e in found] == [(1, DONE), (2, DONE)]


def test_a_damaged_line_is_named_by_its_number_and_the_rounds_around_it_stay(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    for index in range(3):
        journal.append(entry(index))
    whole = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([whole[0], b"[1, 2]", *whole[2:]]))
    assert [(number, known is not None) for number, known in lines(path)] == [(1, True), (2, False), (3, True)]
    assert [known.round for known in read(path)] == [0, 2]


def test_the_records_of_a_round_are_those_of_its_last_try(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    for each in (entry(0, WARM_UP), entry(1, FAILED), replace(entry(1), file="00001-2"), entry(2)):
        journal.append(each)
    assert files_of_rounds(tmp_path / "journal.jsonl") == {1: "00001-2", 2: "00002"}


def test_damaged_rounds_are_run_again_when_asked_for_and_only_they() -> None:
    damaged = replace(entry(1), status=DAMAGED)
    assert RerunSelection(damaged=True).wants(damaged)
    assert not RerunSelection(damaged=True).wants(entry(2, FAILED))
    assert not RerunSelection(failed=True, invalid=True).wants(damaged)


def test_rounds_run_again_only_for_the_reason_that_was_asked_for() -> None:
    late = Entry(3, 0, "s", DONE, "00003", 1.0, 2.0, doubts=[Doubt("late_schedule", "late", "rest", invalidates=True)])
    noisy, failed = entry(1), entry(2, FAILED)
    assert not any(RerunSelection().wants(each) for each in (late, noisy, failed))
    assert [RerunSelection(failed=True).wants(each) for each in (late, noisy, failed)] == [False, False, True]
    assert [RerunSelection(invalid=True).wants(each) for each in (late, noisy, failed)] == [True, False, False]


def test_a_round_counts_when_it_is_done_and_no_doubt_invalidates_it() -> None:
    assert entry(0).counts
    assert entry(1).counts
    assert not replace(entry(1), doubts=[Doubt("late", "was late", "slow down", invalidates=True)]).counts
    assert not entry(0, FAILED).counts


@pytest.mark.parametrize("target", ["journal.jsonl", "gone"])
def test_a_journal_that_is_a_link_to_nowhere_is_no_run_without_rounds(tmp_path: Path, target: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.symlink_to(target)
    for look in (lambda: list(read(path)), lambda: Journal(path)):
        with pytest.raises(InputError, match=r"journal\.jsonl"):
            look()
