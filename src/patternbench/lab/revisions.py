"""A revision of the user's repository as a folder of its own, and what prepares it there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from patternbench.terms.problems import InputError, Problem

WITHIN_S = 120.0
"""How long git may take to write a revision out."""
PREPARED_WITHIN_S = 1_800.0
MOST_SHOWN = 600
"""Characters of what a command printed last that an error repeats."""


@contextmanager
def worktree(revision: str, scratch: Path, prepare: str | None = None) -> Iterator[Path]:
    """Yield the current folder as it is in a revision; it is gone afterwards.

    ``prepare`` is a command that is carried out in it first, such as one that builds. Raises InputError where there is
    no such revision, or where the command fails.
    """
    top = Path(_git("rev-parse", "--show-toplevel"))
    inside = _git("rev-parse", "--show-prefix")
    commit = _commit(revision)
    place = scratch / commit[:12]
    _git("worktree", "add", "--detach", "--force", str(place), commit)
    try:
        folder = place / inside
        if prepare is not None:
            _prepare(prepare, folder)
        yield folder
    finally:
        subprocess.run(
            ["git", "-C", str(top), "worktree", "remove", "--force", str(place)],
            check=False,
            capture_output=True,
            timeout=WITHIN_S,
        )


def _commit(revision: str) -> str:
    try:
        return _git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except InputError:
        hint = "`git log --oneline` lists revisions"
        raise InputError(Problem("isn't a revision of this repository", value=revision, hint=hint)) from None


def _git(*words: str) -> str:
    return _carried_out(["git", *words], Path.cwd(), WITHIN_S, f"git {words[0]}").strip()


def _prepare(command: str, folder: Path) -> None:
    _carried_out(["sh", "-c", command], folder, PREPARED_WITHIN_S, "--prepare")


def _carried_out(words: Sequence[str], folder: Path, within_s: float, what: str) -> str:
    """Carry out a command and return what it prints. Raises InputError with its last words where it fails."""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=within_s,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise InputError(Problem(f"{words[0]} isn't installed", what, hint=f"install {words[0]}")) from None
    except subprocess.TimeoutExpired:
        raise InputError(Problem(f"took longer than {within_s:g} s", what)) from None
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip())[-MOST_SHOWN:]
        raise InputError(Problem(f"failed with exit code {done.returncode}: {output}", what))
    return done.stdout
