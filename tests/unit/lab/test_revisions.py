"""A revision of a repository is a folder of its own, which is gone afterwards."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from patternbench.lab.revisions import worktree
from patternbench.terms.problems import InputError


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example")
    done = subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = tmp_path / "repository" / "shop"
    inside.mkdir(parents=True)
    git(inside.parent, "init", "--quiet", "--initial-branch", "main")
    for number in (1, 2):
        (inside / "version").write_text(str(number))
        git(inside.parent, "add", ".")
        git(inside.parent, "commit", "--quiet", "-m", f"version {number}")
    monkeypatch.chdir(inside)
    return inside


def test_a_revision_is_the_current_folder_as_it_was(repository: Path, tmp_path: Path) -> None:
    with worktree("HEAD~1", tmp_path, "cat version > built") as folder:
        assert (folder.name, (folder / "version").read_text(), (folder / "built").read_text()) == ("shop", "1", "1")
        place = folder
    assert not place.exists()
    assert git(repository, "worktree", "list").count("\n") == 0
    assert (repository / "version").read_text() == "2"


@pytest.mark.parametrize("revision", ["nowhere", "--help", ""])
def test_what_is_no_revision_is_refused(repository: Path, tmp_path: Path, revision: str) -> None:
    with pytest.raises(InputError, match="isn't a revision of this repository"), worktree(revision, tmp_path):
        pass


def test_what_fails_to_prepare_says_why_and_leaves_nothing(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such tool"), worktree("HEAD", tmp_path, "echo no such tool >&2; exit 4"):
        pass
    assert git(repository, "worktree", "list").count("\n") == 0


def test_outside_of_a_repository_there_is_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match="not a git repository"), worktree("HEAD", tmp_path):
        pass
