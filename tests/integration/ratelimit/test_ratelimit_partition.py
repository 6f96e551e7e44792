"""Two balancers whose sidecars are cut off from each other: how much they admit meanwhile, and that they agree again.

Each sidecar lives in its own network namespace with a cable between them, and is asked over a Unix socket. To take
the cable down is the partition; nothing of the machine's own network is touched.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    Component,
    Nginx,
    Sidecar,
    balancer,
    burst,
    eventually,
    get,
    limit,
    rules_of,
    running,
)

LIMIT = 100
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def namespaces_work() -> bool:
    tools = [shutil.which(name, path=PATH) for name in ("ip", "nsenter", "unshare")]
    return all(tools) and subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not namespaces_work(), reason="needs root, and iproute2 and util-linux")


class Island(Component):
    """A network namespace, kept by a process that sleeps in it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(["unshare", "-n", "sleep", "600"], folder / "island.log")

    def start(self) -> "Island":
        self.launch()
        mine = Path("/proc/self/ns/net").readlink()
        eventually(lambda: Path(f"/proc/{self.pid}/ns/net").readlink() != mine)
        self.ip("link", "set", "lo", "up")
        return self

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-n", "--", *command]

    def ip(self, *words: str) -> None:
        ip = shutil.which("ip", path=PATH) or "ip"
        subprocess.run(self.inside(ip, *words), check=True, capture_output=True)


class IslandSidecar(Sidecar):
    """A sidecar on an island, asked over a Unix socket."""

    def __init__(self, binary: Path, folder: Path, island: Island, address: str, join: str = "") -> None:
        super().__init__(binary, folder, folder.name, join)
        self.path, self.gossip = folder / "s.sock", f"{address}:7946"
        flags = ["-name", folder.name, "-listen", f"unix:{self.path}", "-socket-mode", "0666", "-interval", "10ms"]
        secret = folder / "secret"
        secret.write_text("MDEyMzQ1Njc4OWFiY2RlZg==\n", encoding="utf-8")
        flags += ["-secret-file", str(secret), "-gossip", self.gossip, *(["-join", join] if join else [])]
        self.command = island.inside(str(binary), *flags)

    def start(self) -> "IslandSidecar":
        self.launch()
        eventually(self.path.exists)
        return self

    def store(self) -> dict[str, Any]:
        return {"kind": "crdt", "address": f"unix:{self.path}", "timeout": "1s"}


class Archipelago:
    """Two islands, their cable, and a balancer for each."""

    def __init__(self, folder: Path, binary: Path, behind: Nginx) -> None:
        self.islands = [Island(folder / f"i{n}").start() for n in (1, 2)]
        first, second = self.islands
        first.ip("link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(second.pid))
        for number, island in enumerate(self.islands, 1):
            island.ip("addr", "add", f"10.77.0.{number}/24", "dev", "cable")
            island.ip("link", "set", "cable", "up")
        one = IslandSidecar(binary, folder / "s1", first, "10.77.0.1")
        self.cells = [one, IslandSidecar(binary, folder / "s2", second, "10.77.0.2", one.gossip)]
        rules = limit(store="near", when_store_fails="closed")
        self.balancers = [
            balancer(folder / f"b{n}", rules_of(rules, stores={"near": cell.store()}, balancer=f"b{n}"), behind.port)
            for n, cell in enumerate(self.cells, 1)
        ]

    def cut(self) -> None:
        self.islands[0].ip("link", "set", "cable", "down")

    def mend(self) -> None:
        self.islands[0].ip("link", "set", "cable", "up")

    def stop(self) -> None:
        for component in [*self.balancers, *self.cells]:
            component.stop()
        for island in self.islands:
            island.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def apart(workshop: Path, sidecar_binary: Path, behind: Nginx) -> Iterator[Archipelago]:
    made = Archipelago(workshop / "apart", sidecar_binary, behind)
    try:
        with running(*made.cells, *made.balancers):
            yield made
    finally:
        made.stop()


def left(nginx: Nginx, client: str) -> int:
    """Take one unit and return what remains."""
    answer = get(nginx, client)
    assert answer.status_code in (200, 429), nginx.errors()
    return int(answer.headers["RateLimit"].split("r=")[1].split(";")[0])


def agree(apart: Archipelago, client: str) -> None:
    """Take units until the second balancer sees what the first one has just taken."""

    def same() -> bool:
        before = left(apart.balancers[0], client)
        time.sleep(0.1)
        return left(apart.balancers[1], client) == before - 1

    eventually(same, 30)


def test_two_halves_admit_at_most_the_limit_each_and_agree_after_they_are_mended(apart: Archipelago) -> None:
    agree(apart, "busy")
    agree(apart, "calm")
    rest = left(apart.balancers[0], "busy")
    time.sleep(0.1)
    apart.cut()
    try:
        admitted = [burst([nginx], 300, "busy")[200] for nginx in apart.balancers]
        calm = [left(nginx, "calm") for nginx in apart.balancers for _ in range(10)]
    finally:
        apart.mend()
    # Apart, each half knows what was taken before, and gives the rest once: twice the rest in all, never more.
    assert admitted == [rest, rest]
    # Ten more on each side, unseen by the other: both end ten below where they began.
    assert calm[9] == calm[19]
    eventually(lambda: left(apart.balancers[0], "calm") <= calm[9] - 11, 30)
    agree(apart, "calm")
    assert [get(nginx, "busy").status_code for nginx in apart.balancers] == [429, 429]
