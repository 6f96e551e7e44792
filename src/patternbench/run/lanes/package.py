"""The package on its way to nodes that lack it: an unpacked folder, as a wheel would install it, with its hash."""

from __future__ import annotations

import hashlib
import shutil
from importlib.metadata import distribution
from pathlib import Path

from patternbench.lab import shipped
from patternbench.lab.carried import FOLDERS, native_parts
from patternbench.lab.software import engine

NAME = "patternbench"
MARK = "patternbench-was-sent"
"""The file next to the package that tells one that was sent from one that is installed."""
COMPILED = "__pycache__"
_LEFT_OUT = shutil.ignore_patterns(COMPILED, ".gitignore", ".rayignore")
"""What Python makes again where the package is, and the files by which Ray would leave others out."""


def unpack_into(folder: Path) -> str:
    """Write the package into an empty folder; returns the hash of all that. Raises InputError without an engine."""
    inside = folder / NAME
    shutil.copytree(shipped.PACKAGE, inside, ignore=_LEFT_OUT)
    if not shipped.from_wheel():
        _add_parts(inside)
    _copy(Path(engine.binary()), inside / "_bin" / engine.NAME)
    _add_metadata(folder)
    (folder / MARK).touch()
    return tree_hash(folder)


def sent_hash() -> str:
    """Return the hash of the package that runs here, where it was sent; empty for one that is installed."""
    folder = shipped.PACKAGE.parent
    return tree_hash(folder) if (folder / MARK).is_file() else ""


def tree_hash(folder: Path) -> str:
    """Return the SHA-256 of all files of a folder with their names, without what Python has compiled."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and COMPILED not in path.parts:
            whole.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            whole.update(path.read_bytes())
    return whole.hexdigest()


def _add_parts(inside: Path) -> None:
    """Add what a wheel carries and a checkout has elsewhere, as far as it is built."""
    for name in FOLDERS:
        shutil.copytree(shipped.CHECKOUT / name, inside / f"_{name}", ignore=_LEFT_OUT)
    for file, name in native_parts(shipped.CHECKOUT):
        if file.is_file():
            _copy(file, inside / name)


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, to)


def _add_metadata(folder: Path) -> None:
    """Add what says the package's version, and which others it needs."""
    installed = distribution(NAME)
    about = folder / f"{NAME}-{installed.version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(installed.read_text("METADATA") or "", encoding="utf-8")
