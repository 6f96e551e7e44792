"""A lane on its own machine: it carries out the orders that it is given, and hands over what came of each."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from patternbench.lab import machine
from patternbench.lab.host.scratch import ScratchFolder
from patternbench.records.folder import RunFolder
from patternbench.run.lanes.identity import identity, libraries
from patternbench.run.round.executor import LocalExecutor
from patternbench.run.round.orders import RoundOrder

MOST_OF_A_LOG = 1 << 20
"""Bytes of the end of each component's log that a lane hands over when it ends."""


@dataclass(frozen=True)
class LaneDelivery:
    """What came of an order: its result as plain data, and its records with the SHA-256 of each, by their names."""

    result: Mapping[str, object]
    files: Mapping[str, bytes]
    sha256: Mapping[str, str]


class LaneWorker:
    """Carries out orders on the machine where it is, and keeps the system up from one to the next.

    ``inputs`` are the run's copies of the files that its study names, by their names in its folder. Its own files on
    the disk are gone with its process, however that ends.
    """

    def __init__(self, inputs: Mapping[str, bytes], engine_only: bool) -> None:
        self._scratch = ScratchFolder("patternbench-lane-")
        self._folder = RunFolder(self._scratch.path / "run")
        self._folder.create()
        self._folder.inputs.mkdir(mode=0o700)
        for name, content in inputs.items():
            (self._folder.path / name).write_bytes(content)
        self._executor = LocalExecutor(self._folder, engine_only)

    def facts(self) -> dict[str, object]:
        """Return what this lane is: its machine, and the patternbench that it runs."""
        known = {"libraries": libraries(), "host": platform.node(), "boot": _boot()}
        return {**machine.facts(), **identity(), **known}

    def carry_out(self, plain: Mapping[str, object]) -> LaneDelivery:
        """Run a round, and give its records away."""
        result = self._executor.carry_out(RoundOrder.from_json(plain))
        names = [*result.files]
        for warm_up in result.warm_ups:
            names += self._folder.files_of(warm_up.file)
        files = {name: (self._folder.path / name).read_bytes() for name in names}
        for name in names:
            (self._folder.path / name).unlink()
        return LaneDelivery(result.as_json(), files, {name: sha256(content) for name, content in files.items()})

    def close(self) -> Mapping[str, bytes]:
        """Take the system down and leave nothing behind; returns the ends of the components' logs, by name."""
        self._executor.__exit__(None, None, None)
        logs = {str(path.relative_to(self._folder.logs)): _end_of(path) for path in self._files_of_logs()}
        self._folder.unlock()
        self._scratch.close()
        return logs

    def _files_of_logs(self) -> list[Path]:
        return [path for path in sorted(self._folder.logs.rglob("*.log")) if path.is_file()]


def _boot() -> str:
    """Return what lanes on one machine have in common: the number that its kernel gave this boot."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text("utf-8").strip() if path.exists() else platform.node()


def sha256(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hex digits."""
    return hashlib.sha256(content).hexdigest()


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - MOST_OF_A_LOG))
        return file.read()
