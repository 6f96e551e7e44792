"""A folder for the time that a process lives: it is removed however that ends, by SIGKILL as well."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from patternbench.lab.host.processes import Process, SilentProcessError, StartError
from patternbench.terms.units import Duration

REMOVES = """
trap 'until rm -rf -- "$1"; do sleep 0.1; done; exit 0' TERM
echo ready
while :; do sleep 3600 & wait $!; done
"""
"""Waits until the guard asks it to end. Others may still write into the folder then, so one try may not be enough."""
READY_S = 20.0
GRACE = Duration.parse("30s")
"""How long the files of a lane may take to be removed: databases leave gigabytes."""


class ScratchFolder:
    """A new folder, and the process that removes it. Raises StartError."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        command = ["sh", "-c", REMOVES, "remove-scratch", str(self.path)]
        self._remover = Process("scratch", command, self.path, cwd=Path("/"), grace=GRACE)
        try:
            self._await_ready()
        except StartError:
            self._remover.close()
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def _await_ready(self) -> None:
        """Return once it listens to the signal by which it is asked to end."""
        try:
            ready = next(self._remover.lines(READY_S), b"")
        except SilentProcessError:
            ready = b""
        if not ready:
            raise StartError(self._remover.why_not())

    def close(self) -> None:
        """Remove the folder, and return once it is gone."""
        self._remover.close()
