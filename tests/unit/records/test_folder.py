"""The folder of a run in the hands of several processes."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest

from patternbench.records.folder import RunFolder, drafted, unused
from patternbench.terms.problems import InputError


@pytest.mark.parametrize("locked", [True, False])
def test_a_folder_that_is_or_was_locked_can_be_handed_to_another_process(tmp_path: Path, locked: bool) -> None:
    """The report of a run of many rounds is made by several processes, in the command that has just run it."""
    folder = RunFolder(tmp_path)
    folder.lock()
    if not locked:
        folder.unlock()
    handed: RunFolder = pickle.loads(pickle.dumps(folder))
    assert (handed.path, handed.attempts) == (folder.path, folder.attempts)
    handed.unlock()
    if locked:
        with pytest.raises(InputError, match="another process"):
            RunFolder(tmp_path).lock()


@pytest.mark.parametrize(
    "name",
    [
        "study.yaml",
        "study.json",
        "manifest.json",
        "plan.json.tmp",
        "attempts/00000.parquet",
        "attempts/own.tmp",
        "logs/own.log",
        "inputs/own.csv",
        ".lock",
    ],
)
def test_a_users_own_file_of_one_of_our_names_is_never_written_over(tmp_path: Path, name: str) -> None:
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_text("the user's own")
    with pytest.raises(InputError, match="not empty"):
        RunFolder(tmp_path).create()
    assert own.read_text() == "the user's own"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [own]


def test_a_folder_whose_creation_was_killed_is_begun_again_in(tmp_path: Path) -> None:
    killed = RunFolder(tmp_path / "run")
    killed.create()
    (killed.path / "study.yaml.tmp").write_text("half a st")
    killed.unlock()
    RunFolder(killed.path).create()


def test_a_marked_folder_with_a_file_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    killed = RunFolder(tmp_path)
    killed.create()
    killed.unlock()
    (tmp_path / "notes.txt").write_text("the user's own")
    with pytest.raises(InputError, match="not empty"):
        RunFolder(tmp_path).create()


def test_of_two_runs_that_begin_in_one_folder_the_second_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    first = RunFolder(tmp_path)
    first.create()
    first.study.write_text("the first's")
    with pytest.raises(InputError, match="another process is writing"):
        RunFolder(tmp_path).create()
    assert first.study.read_text() == "the first's"


def test_two_runs_of_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    names = [unused(tmp_path / "runs" / "quickstart-20260101-000000").name for _ in range(3)]
    assert names == [f"quickstart-20260101-000000{number}" for number in ("", "-2", "-3")]


def test_a_lock_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(InputError, match="is a pipe"):
        RunFolder(tmp_path).lock()


def test_links_that_form_a_circle_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="circle"):
        RunFolder(tmp_path / "a" / "run").create()


def test_what_a_report_writes_replaces_a_pipe_and_waits_for_no_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rounds.parquet")
    with drafted(tmp_path / "rounds.parquet") as draft:
        draft.write_text("whole")
    assert (tmp_path / "rounds.parquet").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["rounds.parquet"]


def test_what_cannot_be_written_whole_leaves_the_old_file_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(OSError, match="No space left") as failed, drafted(tmp_path / "a.csv") as draft:
        draft.write_text("ha")
        raise OSError(errno.ENOSPC, "while it was written")
    assert failed.value.filename == str(tmp_path / "a.csv")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.csv": "old"}


def test_a_folder_that_is_moved_deleted_or_replaced_while_it_is_written_to_is_said_with_its_place(
    tmp_path: Path,
) -> None:
    """Another run may lie in its place, whose records the next round would write over."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.check_held()
    folder.path.rename(tmp_path / "moved")
    other = RunFolder(tmp_path / "run")
    other.create()
    with pytest.raises(InputError, match=rf"was moved away .*; type `patternbench resume {tmp_path}/moved`"):
        folder.check_held()
    other.check_held()
    for file in sorted((tmp_path / "moved").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    with pytest.raises(InputError, match="was deleted while the run went on"):
        folder.check_held()


def test_a_folder_that_no_one_locked_is_nobodys_to_lose(tmp_path: Path) -> None:
    RunFolder(tmp_path / "none").check_held()


@pytest.mark.parametrize("kind", ["a file", "a pipe", "a device"])
def test_a_run_that_is_to_be_made_where_no_folder_is_says_so_and_changes_nothing(kind: str, tmp_path: Path) -> None:
    place = Path("/dev/null") if kind == "a device" else tmp_path / "place"
    if kind == "a file":
        place.write_text("mine")
    elif kind == "a pipe":
        os.mkfifo(place)
    with pytest.raises(InputError, match="isn't a folder; name a new or an empty folder with --out"):
        RunFolder(place).create()
    assert kind != "a file" or place.read_text() == "mine"


def test_two_who_write_the_same_file_at_once_both_write_it_whole_and_leave_nothing_else(tmp_path: Path) -> None:
    """Such as two reports of one run: with one draft for both, one of them would find it gone, or half written."""
    path = tmp_path / "rounds.parquet"
    with drafted(path) as one:
        one.write_text("one, which takes longer")
        with drafted(path) as other:
            other.write_text("other")
        assert path.read_text() == "other"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(path.name, "one, which takes longer")]


def test_a_file_that_others_may_not_read_stays_so_when_it_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o600)
    with drafted(path) as draft:
        draft.write_text("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)
