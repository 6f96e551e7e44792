"""Takes the pictures of the documentation from runs: ``scripts/screenshots docs/images/report.png runs/quickstart``."""

from __future__ import annotations

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
    picture, run = words
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(command(picture, Path(run), profile), check=True, timeout=LONGEST_S, capture_output=True)
    print(picture)
    return 0


def _problem(words: Sequence[str]) -> str:
    """Return what keeps a picture from being taken, and what to type; empty when nothing does."""
    if len(words) != 2 or words[0] not in PICTURES:  # noqa: PLR2004 - the picture and the run
        return f"usage: scripts/screenshots PICTURE RUN; PICTURE is one of {', '.join(PICTURES)}"
    if not (Path(words[1]) / "report.html").is_file():
        return f"{words[1]} has no report.html; type `patternbench report {words[1]}`"
    return "" if shutil.which("chromium") else "there is no chromium on PATH; type `make setup-test`"


def command(picture: str, run: Path, profile: str) -> list[str]:
    """Return the command that takes a picture of a run's report."""
    width, height = PICTURES[picture]
    where = [f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={ROOT / picture}"]
    return ["chromium", *OPTIONS, *where, (run / "report.html").resolve().as_uri()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
