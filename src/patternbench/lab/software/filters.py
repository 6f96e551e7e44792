"""The shipped filters, and the command of the rate limiter."""

from __future__ import annotations

import subprocess

from patternbench.lab import shipped

FOLDER = shipped.folder("filters")


def command(luajit: str, *words: str) -> int:
    """Run the rate-limiting filter's own command ``ratelimit``, which prints what it finds; return its exit code."""
    script = FOLDER / "nginx-ratelimit" / "bin" / "ratelimit"
    return subprocess.run([luajit, str(script), *words], stdin=subprocess.DEVNULL, check=False).returncode
