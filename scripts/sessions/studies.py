"""The studies of a list: what of each is measured, and how long the rest takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patternbench.records import damage, stored
from patternbench.records.folder import RunFolder
from patternbench.study.forms import SUFFIX

ROOT = Path(__file__).resolve().parents[2]
PATTERNBENCH = (sys.executable, "-m", "patternbench")


@dataclass(frozen=True)
class Measured:
    """How many rounds of a run are over, of how many."""

    done: int
    planned: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left."""
        return self.done >= self.planned


@dataclass(frozen=True)
class ListedStudy:
    """A study by its name, which ends with ``-quick`` for a quick form; its run has a folder in ``runs``."""

    name: str
    runs: Path

    @property
    def file(self) -> Path:
        """Its file, which holds both forms."""
        return ROOT / "studies" / f"{self.name.removesuffix(SUFFIX)}.yaml"

    @property
    def words(self) -> list[str]:
        """What a command takes to mean it."""
        return [str(self.file), *(["--quick"] if self.name.endswith(SUFFIX) else [])]

    @property
    def folder(self) -> Path:
        """Where its run is."""
        return self.runs / self.name

    @property
    def begun(self) -> bool:
        """Whether there is a run of it."""
        return RunFolder(self.folder).plan.is_file()

    def measured(self) -> Measured | None:
        """Return how much of its run is over; None where there is none."""
        if not self.begun:
            return None
        run = RunFolder(self.folder)
        return Measured(len(damage.rounds(run)), len(stored.plan(run).rounds))

    def planned_s(self) -> float:
        """Return how long all of it takes by its plan, in seconds."""
        command = [*PATTERNBENCH, "plan", *self.words, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{self.name} can't be planned:\n{done.stderr or done.stdout}")
        return float(json.loads(done.stdout)["seconds"])

    def command(self, seconds: float) -> list[str]:
        """Return the command that measures it for a time at most: it begins its run, or continues with it."""
        verb = ["resume", str(self.folder)] if self.begun else ["run", *self.words, "--out", str(self.folder)]
        return [*PATTERNBENCH, *verb, "--at-most", f"{max(1, int(seconds))}s"]


def names_in(text: str) -> list[str]:
    """Return the names in a list: one a line, without comments."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def listed(names: Iterable[str], runs: Path) -> list[ListedStudy]:
    """Return the studies of these names; ends with those that have no file."""
    studies = [ListedStudy(name, runs) for name in dict.fromkeys(names)]
    missing = [one.name for one in studies if not one.file.is_file()]
    if missing:
        sys.exit(f"no study in {ROOT / 'studies'} is called {', '.join(missing)}")
    return studies


def left_s(planned_s: float, measured: Measured | None) -> float:
    """Return how long the rest takes, as a part of the whole plan."""
    return planned_s if measured is None else planned_s * max(0, measured.planned - measured.done) / measured.planned


def lines(studies: Sequence[ListedStudy]) -> Iterator[str]:
    """Yield a line for each study with what is left and how long that takes by the plan, and the sum."""
    total = 0.0
    for one in studies:
        measured = one.measured()
        rest = 0.0 if measured and measured.is_whole else left_s(one.planned_s(), measured)
        total += rest
        state = f"{measured.done} of {measured.planned} rounds" if measured else "not begun"
        yield f"{one.name:36} {state:>20}  {told(rest) if rest else 'done':>10}"
    yield f"{'left in all':36} {'':>20}  {told(total):>10}"


def told(seconds: float) -> str:
    """Return a length of time as hours and minutes, rounded up to whole minutes."""
    minutes = -(-int(seconds) // 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"  # noqa: PLR2004
