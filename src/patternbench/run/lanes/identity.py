"""Which patternbench a lane runs: two of one version and one hash measure alike, with the libraries that they need."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import patternbench
from patternbench.lab.carried import FOLDERS
from patternbench.lab.software import engine
from patternbench.run.lanes.package import sent_hash

PACKAGE = Path(patternbench.__file__).parent
CARRIED = {f"_{name}" for name in (*FOLDERS, "bin", "clients", "agents")}
"""What a wheel has inside the package, and a checkout next to it."""


def identity() -> dict[str, object]:
    """Return the version of the package, the hashes of its code and of its engine, and of all of it if it was sent."""
    hashes = {"code_sha256": code_hash(), "engine_sha256": _engine_hash(), "sent_sha256": sent_hash()}
    return {"version": version("patternbench"), **hashes}


def libraries() -> dict[str, str]:
    """Return the versions of the packages that ours depends on, without those of its extras.

    Empty for one that is missing.
    """
    needed = [line for line in requires("patternbench") or [] if "extra ==" not in line]
    return {name: _version(name) for name in (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed)}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def why_unlike(facts: Mapping[str, object], expected: Mapping[str, object]) -> str:
    """Why a lane with these facts can't measure for those who expect an identity; empty where it can."""
    unlike = [what for what, ours in expected.items() if facts.get(what) != ours]
    if unlike:
        return f"runs another patternbench ({', '.join(unlike)} differ)"
    found = facts.get("libraries")
    lacking = [name for name, one in found.items() if not one] if isinstance(found, Mapping) else []
    return f"lacks packages ({', '.join(lacking)})" if lacking else ""


def code_hash() -> str:
    """Return the hash of the package's own code, whatever folder it is in: the same for a wheel and its checkout."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in CARRIED:
            whole.update(f"{name}\0".encode())
            whole.update(path.read_bytes())
    return whole.hexdigest()


def _engine_hash() -> str:
    binary = engine.find()
    return hashlib.sha256(binary.read_bytes()).hexdigest() if binary else ""
