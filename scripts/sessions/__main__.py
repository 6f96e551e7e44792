"""Measures studies of a list in their order: ``python -m scripts.sessions [NAME ...] --minutes N``."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from scripts.sessions import quiet
from scripts.sessions.studies import ROOT, ListedStudy, lines, listed, names_in

LIST = ROOT / "scripts" / "evidence.list"
COMMIT = "COMMIT"
"""The file in the folder of runs that says from which commit they are."""
WHOLE, TIME_UP, NOT_QUIET = 0, 1, 3
LEAST_S = 60.0
"""With less time than this, no study is begun."""


@click.command()
@click.argument("names", metavar="[NAME ...]", nargs=-1)
@click.option(
    "--minutes", type=click.FloatRange(min=0), default=0.0, help="How long to measure; 0 prints what is left."
)
@click.option("--list", "file", type=click.Path(path_type=Path), default=LIST, help="The list of studies, in order.")
@click.option("--runs", type=click.Path(path_type=Path), default=ROOT / "runs" / "evidence", help="Where the runs are.")
def main(names: tuple[str, ...], minutes: float, file: Path, runs: Path) -> None:
    """Measure the studies NAME, or those of the list, one after another, for a number of minutes.

    A study's name ends with -quick for its quick form. A block that would not end in time is not begun, and the next
    session continues there. All sessions of a folder of runs come from one commit without changes. Each study begins
    only on a quiet machine: exit code 3. Exit code 1: the time is up, and something is left.
    """
    studies = listed(names or names_in(file.read_text(encoding="utf-8")), runs)
    if minutes:
        hold_commit(runs, commit(), changes())
        session(studies, minutes * 60, subprocess.call)
    for line in lines(studies):
        click.echo(line)
    sys.exit(TIME_UP if minutes and any(is_left(one) for one in studies) else WHOLE)


def session(
    studies: Sequence[ListedStudy],
    seconds: float,
    run: Callable[[Sequence[str]], int],
    clock: Callable[[], float] = time.monotonic,
    look: Callable[[], quiet.Noise] = quiet.look,
) -> None:
    """Measure what is left of each study, as long as there is time; ends with 3 where the machine is not quiet."""
    ends = clock() + seconds
    for one in filter(is_left, studies):
        rest = ends - clock()
        if rest < LEAST_S:
            return
        refuse_noise(look())
        click.echo(f"== {one.name}, at most {rest / 60:.0f} min", err=True)
        before = one.measured()
        run(one.command(rest))
        if one.measured() == before:
            click.echo(f"{one.name}: no round came of it; the next study follows", err=True)


def is_left(one: ListedStudy) -> bool:
    """Whether there is something to measure."""
    measured = one.measured()
    return measured is None or not measured.is_whole


def refuse_noise(noise: quiet.Noise) -> None:
    """End where the machine is not quiet, saying why."""
    reasons = list(quiet.reasons(noise))
    if reasons:
        click.echo(f"the machine is not quiet: {'; '.join(reasons)}. End them, then call this again.", err=True)
        sys.exit(NOT_QUIET)


def hold_commit(runs: Path, now: str, changed: str) -> None:
    """Note from which commit the runs of a folder are; end where that was another one, or files are changed."""
    if changed:
        sys.exit(f"commit or undo these changes first, as all rounds are to come from one commit:\n{changed}")
    noted = runs / COMMIT
    if noted.is_file() and noted.read_text(encoding="utf-8").strip() != now:
        before = noted.read_text(encoding="utf-8").strip()
        sys.exit(
            f"the runs in {runs} are from commit {before}, and this is {now}: check that out, or name other --runs"
        )
    runs.mkdir(parents=True, exist_ok=True)
    noted.write_text(f"{now}\n", encoding="utf-8")


def commit() -> str:
    """Return the commit that is checked out."""
    return _git("rev-parse", "HEAD")


def changes() -> str:
    """Return the files of the checkout that differ from its commit, as git lists them."""
    return _git("status", "--porcelain", "--untracked-files=no")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
