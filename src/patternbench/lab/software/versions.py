"""What programs say of their version."""

from __future__ import annotations

import subprocess
from pathlib import Path


def told_by(program: Path | str | None) -> str | None:
    """Return what ``--version`` prints; None for a program that isn't there."""
    if program is None:
        return None
    return subprocess.run(
        [program, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    ).stdout.strip()
