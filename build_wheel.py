"""Puts into a wheel what builds make: the engine's binary, clients, agents, the reports' script, and licences."""

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
        included[self._made(root, "vega.js", vega())] = "patternbench/_scripts/vega.js"
        notices = loaded(root / "scripts" / "third_party_notices.py").notices(root)
        included[self._made(root, "THIRD-PARTY-NOTICES.txt", notices)] = "patternbench/THIRD-PARTY-NOTICES.txt"

    def _made(self, root: Path, name: str, text: str) -> str:
        """Write a file into ``dist``, and return where it is."""
        file = root / "dist" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
        return str(file.relative_to(root))


def loaded(script: Path) -> ModuleType:
    """Return the module of a file, whose package may not be installed where wheels are built."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def vega() -> str:
    """Return the script with which pages draw figures, from the library that only SVG files need where it runs."""
    import vl_convert  # noqa: PLC0415 - editable installs need none of it

    return str(vl_convert.javascript_bundle())


def platform_tag(binary: Path) -> str:
    """Return the tag of every Linux on which the binary runs.

    That of the newest glibc whose symbols it asks for (PEP 600).
    """
    versions = [int(minor) for minor in GLIBC.findall(binary.read_bytes())]
    return f"manylinux_2_{max([OLDEST_GLIBC, *versions])}_{platform.machine()}"
