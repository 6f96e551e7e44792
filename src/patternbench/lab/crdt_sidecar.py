"""The CRDT sidecar: rate-limit state beside one load balancer, shared with the others by gossip."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from patternbench.lab import filters
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, StartError, absolute
from patternbench.study.units import Duration

SOURCE = filters.FOLDER / "crdt-sidecar"
GO = "/usr/local/go/bin"


class CrdtSidecar(Settings):
    """Settings of the sidecar: its peer (a sidecar that is already up), how often it gossips, how far its peers are.

    ``distance`` (one way) is added to the interval: what one node grants is then known to the others at worst as
    late as if the gossip had that way to go. The balancer's own way to its sidecar has none.
    """

    kind: ClassVar[str] = "crdt_sidecar"
    join: str = ""
    interval: Duration = Duration.parse("10ms")
    distance: Duration = Duration(0)
    max_keys: int = Field(default=1_000_000, ge=1, le=100_000_000)

    @staticmethod
    def needs() -> list[Need]:
        """The sidecar, built from its source by Go."""
        go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:{GO}")
        built = binary()
        how = (
            "type `patternbench doctor --install`" if go else "install Go 1.26 (https://go.dev/dl), then type the same"
        )
        build = (go or "go", "-C", str(SOURCE), "build", "-trimpath", "-ldflags=-s -w", "-o", str(built), ".")
        return [Need("crdt-sidecar", str(built) if built.is_file() else None, how, (build,))]

    def start(self, name: str, place: Place) -> Running:
        """Start the sidecar; it prints its addresses once it has joined its peer and answers."""
        if not binary().is_file():
            raise StartError(f"crdt-sidecar is not built; {self.needs()[0].how}")
        command = [str(binary()), "--name", name, "--listen", "127.0.0.1:0", "--gossip", "127.0.0.1:0"]
        command += ["--interval", f"{self.interval.us + self.distance.us}us", "--max-keys", str(self.max_keys)]
        if self.join:
            command += ["--join", place.urls[f"{self.join}.gossip"].removeprefix("gossip://")]
        process = Process(name, command, place.folder)
        try:
            ready = process.announced("ready")
        except BaseException:
            process.close()
            raise
        return Running(process, f"crdt://{ready['listen']}", {"gossip": f"gossip://{ready['gossip']}"})


def binary() -> Path:
    """Where the built sidecar is: one per content of its source."""
    home = Path(absolute(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"))
    return home / "patternbench" / f"crdt-sidecar-{_fingerprint()}"


def _fingerprint() -> str:
    found = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        if path.name in ("go.mod", "go.sum") or (path.suffix == ".go" and not path.name.endswith("_test.go")):
            found.update(path.relative_to(SOURCE).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]
