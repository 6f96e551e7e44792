"""Builds images with Docker or Podman, each on a base that is public or made from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.images.staged import EPOCH, Image, MissingPart

from patternbench.lab.containers import engine
from patternbench.lab.containers.engine import PODMAN, ProjectFailed, asked

PUBLIC, DEBIAN = "public", "debian"
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "plain": ("ca-certificates",),
    "java": ("ca-certificates", "openjdk-17-jre-headless"),
    "python": ("ca-certificates", "python3"),
}
"""Debian's packages of each kind of base, in addition to the smallest system."""
RELEASE = "bookworm"
UNUSED = ("var/cache/apt", "var/lib/apt/lists", "var/log", "usr/share/doc", "usr/share/man", "usr/share/locale")
"""What a base from packages need not have."""
BUILD_S = 1800
"""How long a build may take: a base may have to be pulled first."""
PATH = "PATH=/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Builder:
    """A program that builds images, and how it gets the time of their layers."""

    program: str

    def words(self, image: Image, folder: Path, base: str) -> list[str]:
        """Return the command line that builds an image from a folder."""
        own = ["--timestamp", str(EPOCH), "--format", "docker"] if self.program == PODMAN else []
        based = ["--build-arg", f"BASE={base}"] if base else []
        file = ["--file", str(folder / "Containerfile"), "--tag", f"patternbench-{image.name}"]
        return [self.program, "build", *own, *based, *file, str(folder)]

    def environment(self) -> dict[str, str]:
        """Return the variables of a build: the time of its layers, and the builder that is there."""
        has_buildx = self.program == PODMAN or _succeeds([self.program, "buildx", "version"])
        return {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "DOCKER_BUILDKIT": "1" if has_buildx else "0"}

    def build(self, image: Image, folder: Path, base: str) -> str:
        """Build an image and return its id; raise MissingPart with the builder's last words where it can't be built."""
        done = subprocess.run(
            self.words(image, folder, base), env=self.environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MissingPart(f"image {image.name} can't be built{engine.last_lines(done.stdout + done.stderr)}")
        return asked([self.program, "image", "inspect", "--format", "{{.Id}}", f"patternbench-{image.name}"]).strip()

    def has(self, base: str) -> bool:
        """Whether an image is here, or can be pulled."""
        return _succeeds([self.program, "image", "inspect", base]) or _succeeds([self.program, "pull", base])

    def made_base(self, kind: str) -> str:
        """Return a base from Debian's packages, made where it is not here. Raises MissingPart."""
        name = f"patternbench-base-{kind}"
        if not _succeeds([self.program, "image", "inspect", name]):
            with tempfile.TemporaryDirectory(prefix="patternbench-base-") as folder:
                _debootstrap(kind, Path(folder))
                self._import(Path(folder), name)
        return name

    def _import(self, folder: Path, name: str) -> None:
        sorted_ = ("--sort=name", f"--mtime=@{EPOCH}", "--numeric-owner")
        tar = subprocess.Popen(["tar", *sorted_, "-C", str(folder), "-c", "."], stdout=subprocess.PIPE)
        with tar:
            words = [self.program, "import", "--change", f"ENV {PATH}", "-", name]
            done = subprocess.run(words, stdin=tar.stdout, capture_output=True, text=True, check=False)
        if done.returncode or tar.returncode:
            raise MissingPart(f"base {name} can't be imported{engine.last_lines(done.stderr)}")


def builder() -> Builder:
    """Return the builder of this machine; raise MissingPart where there is none."""
    program = engine.runner()
    if program is None:
        raise MissingPart(f"{engine.runner_need().name} is not installed: {engine.runner_need().how}")
    try:
        asked([program, "version", "--format", "{{.Server.Version}}" if program != PODMAN else "{{.Client.Version}}"])
    except ProjectFailed as error:
        raise MissingPart(f"{program} does not answer: {error}") from None
    return Builder(program)


def base_of(image: Image, made_by: Builder, bases: str) -> str:
    """Return the base of an image: its Containerfile's own, as "", or one from packages where that can't be had."""
    if bases == DEBIAN:
        return made_by.made_base(image.base)
    public = public_base(image)
    if made_by.has(public):
        return ""
    print(f"{public} is not here and can't be pulled: a base is made from Debian's packages", flush=True)
    return made_by.made_base(image.base)


def public_base(image: Image, folder: Path | None = None) -> str:
    """Return the base that an image's Containerfile names."""
    file = (folder or Path(__file__).resolve().parents[2] / "images" / image.name) / "Containerfile"
    (line,) = (line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("ARG BASE="))
    return line.removeprefix("ARG BASE=")


def debootstrap_words(kind: str, folder: Path) -> list[str]:
    """Return the command line that puts the smallest Debian with the packages of a kind of base into a folder."""
    return ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES[kind])}", RELEASE, str(folder)]


def _debootstrap(kind: str, folder: Path) -> None:
    if shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin") is None or os.geteuid() != 0:
        raise MissingPart("a base from Debian's packages needs root and debootstrap: `apt-get install debootstrap`")
    done = subprocess.run(debootstrap_words(kind, folder), capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingPart(f"debootstrap failed{engine.last_lines(done.stdout + done.stderr)}")
    for unused in UNUSED:
        shutil.rmtree(folder / unused, ignore_errors=True)


def _succeeds(words: Sequence[str]) -> bool:
    return subprocess.run(words, capture_output=True, check=False, timeout=BUILD_S).returncode == 0


def exposed(config: Mapping[str, object]) -> Iterator[str]:
    """Yield what is wrong with an image: that root runs it, what its environment tells, that no check is there."""
    user = str(config.get("User") or "")
    if user.partition(":")[0] in ("", "0", "root"):
        yield f"it runs as {user or 'root'}"
    variables = config.get("Env")
    for variable in variables if isinstance(variables, list) else ():
        name = str(variable).partition("=")[0]
        if any(word in name.upper() for word in ("SECRET", "PASSWORD", "TOKEN", "KEY")):
            yield f"its environment has {name}"
    if not config.get("Healthcheck"):
        yield "it has no check of its health"
