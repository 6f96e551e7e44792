"""A folder for the time that a process lives: it is removed however that ends, by SIGKILL as well."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from patternbench.lab.host.processes import Process, SilentProcessError, StartError
from patternbench.terms.units import Duration

REMOVES = """
trap 'until rm -rf -- "$1"; do sleep 0.1; done; exit 0' TERM
mkdir -m 700 -- "$1" 2>&1 || exit 1
echo ready
while :; do sleep 3600 & wait $!; done
"""
"""Makes the folder once it can remove it, and waits until the guard asks it to end.

A folder that whoever wants it made would stay where that one is killed in between. Others may still write into it at
the end, so one try to remove it may not be enough.
"""
READY = b"ready"
READY_S = 20.0
GRACE = Duration.parse("30s")
"""How long the files of a lane may take to be removed: databases leave gigabytes."""


class ScratchFolder:
    """A new folder, and the process that removes it. Raises StartError."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.gettempdir()) / f"{prefix}{secrets.token_hex(8)}"
        command = ["sh", "-c", REMOVES, "remove-scratch", str(self.path)]
        self._remover = Process("scratch", command, None, cwd=Path("/"), grace=GRACE)
        try:
            self._await_ready()
        except StartError:
            self._remover.close()
            raise

    def _await_ready(self) -> None:
        """Return once it listens to the signal by which it is asked to end."""
        try:
            said = next(self._remover.lines(READY_S), b"")
        except SilentProcessError:
            said = b""
        if said != READY:
            raise StartError(f"{self.path} can't be made: {said.decode(errors='replace') or self._remover.why_not()}")

    def close(self) -> None:
        """Remove the folder, and return once it is gone."""
        self._remover.close()
