"""Which patternbench a lane runs: two of one version and one hash measure alike, with the libraries that they need."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import patternbench
from patternbench.lab.software import engine

PACKAGE = Path(patternbench.__file__).parent


def identity() -> dict[str, object]:
    """Return the version of the package, and the hashes of its code and of its engine."""
    return {"version": version("patternbench"), "code_sha256": code_hash(), "engine_sha256": _engine_hash()}


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


def why_unlike(facts: Mapping[str, object]) -> str:
    """Why a lane with these facts can't measure for us; empty where it can."""
    unlike = [what for what, ours in identity().items() if facts.get(what) != ours]
    if unlike:
        return f"runs another patternbench ({', '.join(unlike)} differ)"
    found = facts.get("libraries")
    lacking = [name for name, one in found.items() if not one] if isinstance(found, Mapping) else []
    return f"lacks packages ({', '.join(lacking)})" if lacking else ""


def code_hash() -> str:
    """Return the hash of the package's own code, whatever folder it is in."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        whole.update(f"{path.relative_to(PACKAGE)}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def _engine_hash() -> str:
    binary = engine.find()
    return hashlib.sha256(binary.read_bytes()).hexdigest() if binary else ""
