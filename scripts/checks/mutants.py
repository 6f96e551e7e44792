"""``scripts/mutants [NAME]``: puts each defect of tests/mutants.toml in, and expects its tests to fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.checks import slips
from scripts.checks.skips import ROOT

LIST = ROOT / "tests" / "mutants.toml"
DIED, SURVIVED = "died", "SURVIVED"


@dataclass(frozen=True)
class Mutant:
    """One defect: the text of a file that it replaces, and the command, in a folder, that must notice.

    ``drawn``: by which seed its function was drawn, and whether it died before any test was written for it.
    """

    name: str
    file: str
    was: str
    becomes: str
    tests: str
    folder: str = "."
    drawn: str = ""

    def problem(self, root: Path) -> str:
        """Why the defect cannot be put in; empty when it can."""
        times = (root / self.file).read_text(encoding="utf-8").count(self.was)
        return "" if times == 1 else f"its text occurs {times} times in {self.file}, not once"


def listed(path: Path = LIST) -> list[Mutant]:
    """Read the list."""
    return [Mutant(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]]


@contextmanager
def put_in(mutant: Mutant, root: Path) -> Iterator[None]:
    """Put the defect into its file, and take it out again whatever happens."""
    path = root / mutant.file
    before = path.read_bytes()
    try:
        path.write_bytes(before.replace(mutant.was.encode(), mutant.becomes.encode()))
        yield
    finally:
        path.write_bytes(before)


def fate(mutant: Mutant, root: Path) -> str:
    """Whether the tests notice the defect; they must pass without it."""
    if mutant.problem(root):
        return mutant.problem(root)
    if not _passes(mutant, root):
        return "its tests fail without the defect"
    with put_in(mutant, root):
        return SURVIVED if _passes(mutant, root) else DIED


def _passes(mutant: Mutant, root: Path) -> bool:
    done = subprocess.run(mutant.tests.split(), cwd=root / mutant.folder, capture_output=True, check=False)
    return done.returncode == 0


def main(words: list[str], root: Path = ROOT, path: Path = LIST) -> int:
    """Try the mutants whose names hold one of the words, or all; return 0 when each of them died."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for number in (signal.SIGTERM, signal.SIGHUP):  # As Ctrl-C does: out by way of every ``finally``.
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if words[:1] == ["--draw"] and words[2:3] == ["--seed"]:
        return slips.main(int(words[1]), int(words[3]), words[4:] or slips.ROOMS)
    expected = [each for each in listed(path) if not words or any(word in each.name for word in words)]
    fates = []
    for mutant in expected:
        fates.append(fate(mutant, root))
        print(f"{fates[-1]:10}{mutant.name}", flush=True)
    print(f"{fates.count(DIED)} of {len(fates)} died")
    return 0 if expected and set(fates) == {DIED} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
