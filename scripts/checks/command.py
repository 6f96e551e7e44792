"""Starts a check's command, shows what it says as it comes, and keeps it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable


def run(command: list[str], folder: str, show: Callable[[str], str] = str) -> tuple[int, str]:
    """Run a command; return its exit code and its standard output, of which ``show`` chooses what is printed."""
    lines = []
    try:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, errors="replace")
    except FileNotFoundError:
        print(f"{command[0]} is not installed; type `make setup-test`", flush=True)
        return 127, ""
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            print(show(line), end="", flush=True)
    return process.returncode, "".join(lines)


def silent(_: str) -> str:
    """Show nothing of a line."""
    return ""
