"""What goes into an image, in a folder of its own: the same sources make the same files, byte by byte.

Permissions and times of the files are the same everywhere, so that a builder that keeps times makes the same layers. A
layer is a folder that is copied to the root of the image with all folders below it: one that a builder had to make
itself would have the time of the moment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from patternbench.lab.config import envoy
from patternbench.lab.software import engine, java

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "images"
MADE = ROOT / "target" / "images"
EPOCH = 1_767_225_600
"""2026-01-01, the time that also the jars' own entries have."""
MOMENT = (2026, 1, 1, 0, 0, 0)
"""The same, as an entry of a jar has it."""
LOCK = ROOT / "systems" / "httpbin.requirements.lock"
OWN, LIBRARIES = "own", "libraries"
"""The folders of which each becomes a layer: libraries change less often than what is ours."""
PACKAGED = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""Files in which pip says when and from where it has installed: they differ from machine to machine."""


class MissingPart(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """Something that goes into an image is not there: what to type."""


@dataclass(frozen=True)
class Image:
    """An image of ours: its name, the kind of base that it needs, and what fills its folder ``app``."""

    name: str
    base: str
    fill: Callable[[Path], None]


def application(name: str) -> Callable[[Path], None]:
    """Return what fills a folder with the jars of an application, whose libraries are shared."""

    def fill(app: Path) -> None:
        jars = sorted((ROOT / "apps" / name).glob("*/target/*-app.jar"))
        if not jars:
            raise MissingPart(f"the jars of the {name} are not built: type `make apps`")
        (app / "lib").mkdir()
        for jar in jars:
            _take_apart(jar, app)

    return fill


def _take_apart(jar: Path, app: Path) -> None:
    """Put a jar and its libraries into a folder, by the tool of Spring Boot that it holds."""
    apart = app / "apart"
    command = [java.find() or "java", "-Djarmode=tools", "-jar", str(jar), "extract", "--destination", str(apart)]
    _done(command)
    for library in (apart / "lib").iterdir():
        _put(library, app / "lib" / library.name)
    settle_jar(apart / jar.name, app / jar.name)
    shutil.rmtree(apart)


def settle_jar(jar: Path, place: Path) -> None:
    """Write a jar with the time that its entries have everywhere: the tool gives them that of the moment."""
    with zipfile.ZipFile(jar) as read, zipfile.ZipFile(place, "w") as written:
        for entry in read.infolist():
            settled = zipfile.ZipInfo(entry.filename, MOMENT)
            settled.compress_type = entry.compress_type
            written.writestr(settled, read.read(entry))
    jar.unlink()


def _done(command: Sequence[str]) -> None:
    """Carry a command out; raise MissingPart with its last words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise MissingPart(f"`{Path(command[0]).name}` ended with code {done.returncode}: {' | '.join(last)}")


def _put(file: Path, place: Path) -> None:
    """Put a file in its place; raise MissingPart where another one of that name and other content is there."""
    if place.exists() and not _same(file, place):
        raise MissingPart(
            f"two services have different libraries called {file.name}; build all of them again: `make apps`"
        )
    file.replace(place)


def _same(one: Path, other: Path) -> bool:
    """Whether two jars hold the same; the times of their entries do not count."""
    contents = [{entry.filename: entry.CRC for entry in _entries(path)} for path in (one, other)]
    return contents[0] == contents[1]


def _entries(jar: Path) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(jar) as archive:
        return archive.infolist()


def target(app: Path) -> None:
    """Fill a folder with the native engine."""
    _copy(engine.find(), app / engine.NAME, "the native engine is not built: type `make setup`")


def proxy(app: Path) -> None:
    """Fill a folder with Envoy: the binary that the package brings, as its command is a script that starts it."""
    spec = find_spec("envoy")
    brought = [Path(folder) / "_bin" / "envoy" for folder in (spec and spec.submodule_search_locations) or ()]
    found = [file for file in (*brought, Path(envoy.find() or "")) if file.is_file() and _is_program(file)]
    _copy(next(iter(found), None), app / "envoy", "Envoy is not installed: type `make setup`")


def _is_program(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(4) == b"\x7fELF"


def _copy(file: Path | None, place: Path, how: str) -> None:
    if file is None:
        raise MissingPart(how)
    shutil.copyfile(file, place)
    place.chmod(0o755)


def httpbin(app: Path) -> None:
    """Fill a folder with httpbin's packages, whose hashes are pinned."""
    packages = app / "packages"
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--require-hashes", "--only-binary", ":all:")
    command = [sys.executable, "-m", "pip", "install", *options, "-r", str(LOCK), "--target", str(packages)]
    _done(command)
    shutil.rmtree(packages / "bin", ignore_errors=True)  # scripts that name the Python that has installed them
    for name in PACKAGED:
        for file in packages.glob(f"*.dist-info/{name}"):
            file.unlink()


IMAGES = {
    image.name: image
    for image in (
        Image("target", "plain", target),
        Image("envoy", "plain", proxy),
        Image("httpbin", "python", httpbin),
        Image("cinema", "java", application("cinema")),
        Image("insurance", "java", application("insurance")),
        Image("shop", "java", application("shop")),
    )
}


def staged(image: Image, made: Path = MADE) -> Path:
    """Return a folder with all that an image is built from; raise MissingPart where a part is missing."""
    folder = made / image.name
    shutil.rmtree(folder, ignore_errors=True)
    app = folder / OWN / "app"
    app.mkdir(parents=True)
    image.fill(app)
    _set_apart(app / "lib", folder / LIBRARIES / "app" / "lib")
    shutil.copyfile(FOLDER / image.name / "Containerfile", folder / "Containerfile")
    shutil.copyfile(FOLDER / "health", app / "health")
    (app / "health").chmod(0o755)
    settle(folder)
    return folder


def _set_apart(folder: Path, place: Path) -> None:
    """Put a folder elsewhere, where there is one."""
    if folder.is_dir():
        place.parent.mkdir(parents=True)
        folder.rename(place)


def settle(folder: Path) -> None:
    """Give every file of a folder the permissions and the time that it has everywhere."""
    for path in sorted(folder.rglob("*"), reverse=True):  # a folder after what is in it
        runs = path.is_dir() or (os.access(path, os.X_OK) and path.stat().st_mode & 0o100)
        path.chmod(0o755 if runs else 0o644)
        os.utime(path, (EPOCH, EPOCH))


def digest(folder: Path) -> str:
    """Return the hash of the names, the permissions and the contents of all files of a folder."""
    total = hashlib.sha256()
    for path in files_of(folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(folder)} {path.stat().st_mode:o} {content}\n".encode())
    return total.hexdigest()


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in the order of their names."""
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def unwanted(names: Iterable[str]) -> list[str]:
    """Return those names of files that no image of ours may have: sources, caches of builds, keys, histories."""
    return sorted(name for name in names if _is_unwanted(name))


FORBIDDEN = (".git", ".m2", ".cache", "__pycache__", ".ssh", ".aws", ".docker", "node_modules", "target", "apart")
ENDINGS = (".pyc", ".java", ".class", ".env", ".pem", ".key", ".p12", ".jks", ".log")
PUBLIC = ("certifi/cacert.pem",)
"""Authorities that everyone knows."""


def _is_unwanted(name: str) -> bool:
    parts = name.strip("/").split("/")
    return any(part in FORBIDDEN for part in parts) or (name.endswith(ENDINGS) and not name.endswith(PUBLIC))
