"""Puts the native parts into a wheel: the engine's binary, built clients and agents, and their licences."""

from __future__ import annotations

import importlib.util
import platform
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GLIBC = re.compile(rb"GLIBC_2\.(\d+)")
OLDEST_GLIBC = 17


class NativeParts(BuildHookInterface):
    """Includes what cargo and Maven have built; an editable install finds them where they were built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files that exist; a wheel without the engine is refused, since it could measure nothing."""
        if version == "editable":
            return
        root = Path(self.root)
        carried = loaded(root / "src/patternbench/lab/carried.py")
        if not (root / carried.ENGINE).is_file():
            raise FileNotFoundError(f"{carried.ENGINE} is missing; type `make setup` first")
        build_data["tag"] = f"py3-none-{platform_tag(root / carried.ENGINE)}"
        build_data["pure_python"] = False
        included = build_data["force_include"]
        for file, name in carried.native_parts(root):
            included[str(file.relative_to(root))] = f"patternbench/{name}"
        included[str(self._notices(root))] = "patternbench/THIRD-PARTY-NOTICES.txt"

    def _notices(self, root: Path) -> Path:
        """Write the licences of what the native parts contain, by ``scripts/third_party_notices.py``."""
        module = loaded(root / "scripts" / "third_party_notices.py")
        file = root / "dist" / "THIRD-PARTY-NOTICES.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(module.notices(root), encoding="utf-8")
        return file.relative_to(root)


def loaded(script: Path) -> ModuleType:
    """Return the module of a file, whose package may not be installed where wheels are built."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def platform_tag(binary: Path) -> str:
    """Return the tag of every Linux on which the binary runs.

    That of the newest glibc whose symbols it asks for (PEP 600).
    """
    versions = [int(minor) for minor in GLIBC.findall(binary.read_bytes())]
    return f"manylinux_2_{max([OLDEST_GLIBC, *versions])}_{platform.machine()}"
