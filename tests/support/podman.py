"""Podman of our own for tests: its own images, containers and networks, and a machine on which no Docker is found."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.checks import skips
from tests.support.docker import BUSYBOX, IMAGE, alone, packed_image

NEEDED = ("podman", "podman-compose", "runc", "fuse-overlayfs", "iptables")
HIDDEN = ("docker", "docker-compose")
"""What patternbench would find first."""
CONTAINERS = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{folder}/tmp"
[network]
network_config_dir = "{folder}/networks"
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
"""
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
[storage.options.overlay]
mount_program = "{fuse}"
"""


def lacking() -> str:
    """Why no Podman can be tried here; nothing where it can."""
    if os.geteuid() != 0 or not skips.administers():
        return "only root with CAP_SYS_ADMIN can run Podman as these tests do"
    missing = [program for program in NEEDED if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    missing += [] if BUSYBOX.exists() else ["busybox-static"]
    return f"missing: {', '.join(missing)}" if missing else ""


@dataclass(frozen=True)
class Podman:
    """Podman with files of its own; ``env`` has what lets ``podman`` find them."""

    env: dict[str, str]

    def __call__(self, *words: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(["podman", *words], env={**os.environ, **self.env}, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode().strip()

    def left(
        self, kinds: Sequence[tuple[str, ...]] = (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
    ) -> list[str]:
        """Return the containers, volumes and networks of projects that are there."""
        label = ("--quiet", "--filter", "label=com.docker.compose.project")
        kinds = (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        return [found for kind in kinds for found in self(*kind, *label).split()]


@contextmanager
def prepared(folder: Path) -> Iterator[Podman]:
    """Have files for Podman below a folder, with the image of tests, and remove at the end what they hold."""
    (folder / "containers.conf").write_text(CONTAINERS.format(folder=folder))
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder, fuse=shutil.which("fuse-overlayfs")))
    env = {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "PATH": f"{_without(HIDDEN, folder / 'bin')}:/usr/sbin:/sbin",
    }
    with alone():
        podman = Podman(env)
        words = ["podman", "import", "--change", "ENV PATH=/bin", "-", IMAGE]
        subprocess.run(words, env={**os.environ, **env}, input=packed_image(), check=True, capture_output=True)
        try:
            yield podman
        finally:
            podman("rm", "--all", "--force", "--time", "0")
            podman("rmi", "--all", "--force")


def _without(hidden: Sequence[str], folder: Path) -> Path:
    """Return a folder of links to all programs but some: a folder of the machine's has them next to each other."""
    folder.mkdir()
    for place in os.environ["PATH"].split(":"):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if program.name not in hidden and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder
