"""Takes the pictures of the documentation: ``scripts/screenshots PICTURE RUN``, or of made-up rounds without a run."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.checks.skips import ROOT

PICTURES: Mapping[str, tuple[int, int]] = {
    "docs/images/report.png": (1200, 1000),
    "docs/find-the-right-retry/report.png": (1100, 900),
}
"""The pictures of reports' first screens, and how many pixels wide and high the window is."""
MADE_UP: Mapping[str, tuple[str, int, int]] = {
    "docs/images/comparison.png": ("release", 1200, 760),
    "docs/images/recommendation.png": ("recommend", 1200, 760),
    "docs/images/load-test.png": ("load", 1200, 860),
    "docs/images/capacity.png": ("rate", 1200, 640),
    "docs/images/limits.png": ("limiter", 1200, 640),
    "docs/images/calls.png": ("calls", 1200, 640),
    "docs/images/watch.png": ("watch", 1200, 820),
}
"""The pictures of made-up rounds: which page of ``tests/support/pictures.py``, and the window's width and height."""
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
LONGEST_S = 60


def main(words: Sequence[str]) -> int:
    """Take one picture from a run; return 0 when it has been taken."""
    problem = _problem(words)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    if words[0] in MADE_UP:
        name, width, height = MADE_UP[words[0]]
        importlib.import_module("tests.support.pictures").photograph(name, ROOT / words[0], width, height)
    else:
        _of_run(words[0], Path(words[1]))
    print(words[0])
    return 0


def _of_run(picture: str, run: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(command(picture, run, profile), check=True, timeout=LONGEST_S, capture_output=True)


def _problem(words: Sequence[str]) -> str:
    """Return what keeps a picture from being taken, and what to type; empty when nothing does."""
    picture, *run = [*words] or [""]
    if (len(run), True) not in ((0, picture in MADE_UP), (1, picture in PICTURES)):
        of_runs, made_up = ", ".join(PICTURES), ", ".join(MADE_UP)
        return f"usage: scripts/screenshots PICTURE RUN with {of_runs}; or scripts/screenshots PICTURE with {made_up}"
    if words[0] in PICTURES and not (Path(words[1]) / "report.html").is_file():
        return f"{words[1]} has no report.html; type `patternbench report {words[1]}`"
    return "" if shutil.which("chromium") else "there is no chromium on PATH; type `make setup-test`"


def command(picture: str, run: Path, profile: str) -> list[str]:
    """Return the command that takes a picture of a run's report."""
    width, height = PICTURES[picture]
    where = [f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={ROOT / picture}"]
    return ["chromium", *OPTIONS, *where, (run / "report.html").resolve().as_uri()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
