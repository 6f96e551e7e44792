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
    Entry,
    Journal,
    RerunSelection,
    RoundWarning,
    checked,
    latest,
    read,
)
from patternbench.terms.problems import InputError


def entry(index: int, status: str = DONE) -> Entry:
    warnings = [RoundWarning("cpu_stolen", "é\n", "rest")] if index % 2 else []
    return Entry(index, 0, f"s{index}", status, f"{index:05d}", 1.0, 2.0, doubts=warnings)


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
    assert [(one.number, one.entry is not None) for one in checked(path)] == [(1, True), (2, False), (3, True)]
    assert [known.round for known in read(path)] == [0, 2]


def test_damaged_rounds_are_run_again_when_asked_for_and_only_they() -> None:
    damaged = replace(entry(1), status=DAMAGED)
    assert RerunSelection(damaged=True).wants(damaged)
    assert not RerunSelection(damaged=True).wants(entry(2, FAILED))
    assert not RerunSelection(failed=True, invalid=True).wants(damaged)


def test_rounds_run_again_only_for_the_reason_that_was_asked_for() -> None:
    late = Entry(
        3, 0, "s", DONE, "00003", 1.0, 2.0, doubts=[RoundWarning("late_schedule", "late", "rest", invalidates=True)]
    )
    noisy, failed = entry(1), entry(2, FAILED)
    assert not any(RerunSelection().wants(each) for each in (late, noisy, failed))
    assert [RerunSelection(failed=True).wants(each) for each in (late, noisy, failed)] == [False, False, True]
    assert [RerunSelection(invalid=True).wants(each) for each in (late, noisy, failed)] == [True, False, False]


def test_a_round_counts_when_it_is_done_and_no_warning_invalidates_it() -> None:
    assert entry(0).counts
    assert entry(1).counts
    assert not replace(entry(1), doubts=[RoundWarning("late", "was late", "slow down", invalidates=True)]).counts
    assert not entry(0, FAILED).counts


@pytest.mark.parametrize("target", ["journal.jsonl", "gone"])
def test_a_journal_that_is_a_link_to_nowhere_is_no_run_without_rounds(tmp_path: Path, target: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.symlink_to(target)
    for look in (lambda: list(read(path)), lambda: Journal(path)):
        with pytest.raises(InputError, match=r"journal\.jsonl"):
            look()


@pytest.fixture
def journal_of_five(tmp_path: Path) -> Path:
    journal = Journal(tmp_path / "journal.jsonl", {"plan": "p", "manifest": "m", "study": "s"})
    for index in range(5):
        journal.append(entry(index))
    return tmp_path / "journal.jsonl"


def rewritten(path: Path, lines: list[bytes]) -> list[tuple[int, bool, bool]]:
    """The lines of a journal with this content: number, whether it is damaged, whether one is missing before it."""
    path.write_bytes(b"\n".join([*lines, b""]))
    return [(line.number, line.entry is None, line.gap) for line in checked(path)]


def test_a_journal_as_it_was_written_has_neither_damage_nor_gaps(journal_of_five: Path) -> None:
    lines = journal_of_five.read_bytes().splitlines()
    assert rewritten(journal_of_five, lines) == [(number, False, False) for number in range(1, 6)]
    again = Journal(journal_of_five)
    again.append(entry(7))
    again.append(entry(8))
    assert not any(line.gap or line.entry is None for line in checked(journal_of_five))


@pytest.mark.parametrize("place", range(0, 200, 7))
def test_no_changed_sign_of_a_line_is_believed(place: int, journal_of_five: Path) -> None:
    """But for the name of the hash itself, without which a line is one of an earlier version, with all it says."""
    lines = journal_of_five.read_bytes().splitlines()
    line = bytearray(lines[2])
    line[place % len(line)] ^= 1
    lines[2] = bytes(line)
    assert rewritten(journal_of_five, lines)[2][1:] == (True, False)
    assert [one.round for one in read(journal_of_five)] == [0, 1, 3, 4]


def test_a_line_that_was_removed_is_missed_by_the_one_after_it(journal_of_five: Path) -> None:
    lines = journal_of_five.read_bytes().splitlines()
    found = rewritten(journal_of_five, [*lines[:1], *lines[2:]])
    assert found == [(1, False, False), (2, False, True), (3, False, False), (4, False, False)]
    assert rewritten(journal_of_five, lines[1:])[0] == (1, False, True)


def test_a_line_that_is_there_twice_counts_once(journal_of_five: Path) -> None:
    """A copy of an earlier try at the end would otherwise be the one that counts."""
    lines = journal_of_five.read_bytes().splitlines()
    assert rewritten(journal_of_five, [*lines, lines[1]])[-1] == (6, True, False)
    assert [one.round for one in read(journal_of_five)] == [0, 1, 2, 3, 4]


def test_lines_that_changed_places_are_noticed(journal_of_five: Path) -> None:
    lines = journal_of_five.read_bytes().splitlines()
    found = rewritten(journal_of_five, [lines[0], lines[2], lines[1], *lines[3:]])
    assert [gap for _, _, gap in found] == [False, True, True, True, False]


def test_after_a_damaged_line_a_journal_goes_on_without_a_gap(journal_of_five: Path) -> None:
    lines = journal_of_five.read_bytes().splitlines()
    rewritten(journal_of_five, [*lines[:-1], b"damaged"])
    Journal(journal_of_five).append(entry(9))
    assert [(line.entry is None, line.gap) for line in checked(journal_of_five)][-2:] == [(True, False), (False, False)]


def test_the_lines_of_an_earlier_version_are_read_and_others_follow_them(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"round":0,"block":0,"scenario":"s","status":"done","file":"00000","started":1,"seconds":2}\n')
    for index in (1, 2):
        Journal(path).append(entry(index))
    assert [(line.entry is None, line.gap) for line in checked(path)] == [(False, False)] * 3
