"""Which patternbench a lane runs: two of one version and one hash measure alike."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import patternbench
from patternbench.lab.software import engine

PACKAGE = Path(patternbench.__file__).parent


def identity() -> dict[str, object]:
    """The version of the package, and the hashes of its code and of its engine."""
    return {"version": version("patternbench"), "code_sha256": code_hash(), "engine_sha256": _engine_hash()}


def code_hash() -> str:
    """The hash of the package's own code, whatever folder it is in."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        whole.update(f"{path.relative_to(PACKAGE)}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def _engine_hash() -> str:
    binary = engine.find()
    return hashlib.sha256(binary.read_bytes()).hexdigest() if binary else ""
