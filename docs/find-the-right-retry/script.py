"""Takes the picture of docs/find-the-right-retry.md from a run.

.venv/bin/python docs/find-the-right-retry/script.py runs/retry

Needs Chromium on PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parent / "report.png"
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")


def main() -> None:
    """Take it."""
    report = (Path(sys.argv[1]) / "report.html").resolve()
    chromium = shutil.which("chromium") or sys.exit("error: there is no chromium on PATH")
    with tempfile.TemporaryDirectory() as profile:
        where = (f"--user-data-dir={profile}", "--window-size=1100,900", f"--screenshot={PICTURE}", report.as_uri())
        subprocess.run([chromium, *OPTIONS, *where], check=True, timeout=60, capture_output=True)


if __name__ == "__main__":
    main()
