"""The CRDT sidecar: rate-limit state next to one load balancer, shared with the others by gossip."""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import cache
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from patternbench import caches
from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import ReadyLine
from patternbench.lab.host.references import reference
from patternbench.lab.software import filters
from patternbench.lab.software.needs import Need
from patternbench.study.model.limiter import GOSSIP
from patternbench.terms.units import Duration

SOURCE = filters.FOLDER / "crdt-sidecar"
GO = "/usr/local/go/bin"


class CrdtSidecar(Component):
    """Settings of the sidecar: the peer that it joins, how often it gossips, how far its peers are.

    ``distance`` (one way) is added to the interval. In the worst case, the other nodes then hear of a grant as late as
    over a network with that delay. Traffic between a balancer and its own sidecar is not delayed.
    """

    kind: ClassVar[str] = "crdt_sidecar"
    join: str = ""
    interval: Duration = GOSSIP
    distance: Duration = Duration(0)
    max_keys: int = Field(default=1_000_000, ge=1, le=100_000_000)

    @staticmethod
    def needs() -> list[Need]:
        """Return the sidecar, built from its source by Go."""
        go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:{GO}")
        built = binary()
        how = (
            "type `patternbench doctor --install`" if go else "install Go 1.26 (https://go.dev/dl), then type the same"
        )
        build = (go or "go", "-C", str(SOURCE), "build", "-trimpath", "-ldflags=-s -w", "-o", str(built), ".")
        return [Need("crdt-sidecar", str(built) if built.is_file() else None, how, (build,))]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return the sidecar, which says that it is ready once it has joined its peer and answers."""
        command: tuple[str, ...] = (str(binary()), "--name", name, "--max-keys", str(self.max_keys))
        command += ("--listen", "127.0.0.1:${self.port.crdt}", "--gossip", "127.0.0.1:${self.port.gossip}")
        command += ("--interval", f"{self.interval.us + self.distance.us}us")
        return Launch(
            kind=self.kind,
            name=name,
            command=command + self._join(name, registry),
            ports={"crdt": 0, "gossip": 0},
            url="crdt://127.0.0.1:${self.port.crdt}",
            endpoints={"gossip": "gossip://127.0.0.1:${self.port.gossip}"},
            ready=ReadyLine("ready"),
        )

    def _join(self, name: str, registry: ComponentRegistry) -> tuple[str, ...]:
        if not self.join:
            return ()
        registry.named(self.join, f"{name}.join")
        return ("--join", reference(self.join, "gossip.address"))


def binary() -> Path:
    """Where the built sidecar is: one per content of its source."""
    return caches.folder() / f"crdt-sidecar-{_fingerprint()}"


@cache
def _fingerprint() -> str:
    sha256 = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        if path.name in ("go.mod", "go.sum") or (path.suffix == ".go" and not path.name.endswith("_test.go")):
            sha256.update(path.relative_to(SOURCE).as_posix().encode() + b"\0" + path.read_bytes())
    return sha256.hexdigest()[:12]
