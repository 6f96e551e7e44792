"""Puts the native parts into a wheel: the engine's binary, built clients and agents, and their licences."""

from __future__ import annotations

import importlib.util
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = "engine/target/release/patternbench-engine"
GLIBC = re.compile(rb"GLIBC_2\.(\d+)")
OLDEST_GLIBC = 17
CARRIES = re.compile(r"^carries: \[(.*)\]$", re.MULTILINE)
"""The field of a ``client.yaml``; no YAML library is there where wheels are built."""
KIT_SOURCES = {".py", ".js", ".json", ".go", ".mod", ".cs", ".csproj", ".props"}


class NativeParts(BuildHookInterface):
    """Includes what cargo and Maven have built; an editable install finds them where they were built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files that exist; a wheel without the engine is refused, since it could measure nothing."""
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / ENGINE).is_file():
            raise FileNotFoundError(f"{ENGINE} is missing; type `make setup` first")
        build_data["tag"] = f"py3-none-{platform_tag(root / ENGINE)}"
        build_data["pure_python"] = False
        included = build_data["force_include"]
        included[ENGINE] = "patternbench/_bin/patternbench-engine"
        for file in client_files(root / "clients"):
            inside = file.relative_to(root / "clients").as_posix()
            included[str(file.relative_to(root))] = f"patternbench/_clients/{inside}"
        for jar in (root / "agents").glob("*/target/patternbench-*.jar"):
            inside = jar.relative_to(root / "agents").as_posix()
            included[str(jar.relative_to(root))] = f"patternbench/_agents/{inside}"
        included[str(self._notices(root))] = "patternbench/THIRD-PARTY-NOTICES.txt"

    def _notices(self, root: Path) -> Path:
        """Write the licences of what the native parts contain, by ``scripts/third_party_notices.py``."""
        script = root / "scripts" / "third_party_notices.py"
        spec = importlib.util.spec_from_file_location("third_party_notices", script)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        file = root / "dist" / "THIRD-PARTY-NOTICES.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(module.notices(root), encoding="utf-8")
        return file.relative_to(root)


def client_files(clients: Path) -> Iterator[Path]:
    """Return every ``client.yaml``, the files that it says a wheel carries, and kits that run as they are."""
    for description in sorted(clients.glob("*/client.yaml")):
        yield description
        for patterns in CARRIES.findall(description.read_text(encoding="utf-8")):
            for pattern in patterns.split(", "):
                yield from sorted(description.parent.glob(pattern))
    for kit in ("python", "node", "go", "dotnet"):
        folder = clients / "kits" / kit
        yield from sorted(file for file in folder.rglob("*.*") if _is_source(file.relative_to(folder)))


def _is_source(file: Path) -> bool:
    """Whether a file of a kit is one that clients are run or built from."""
    return file.suffix in KIT_SOURCES and not {"bin", "obj"} & set(file.parts)


def platform_tag(binary: Path) -> str:
    """Return the tag of every Linux on which the binary runs.

    That of the newest glibc whose symbols it asks for (PEP 600).
    """
    versions = [int(minor) for minor in GLIBC.findall(binary.read_bytes())]
    return f"manylinux_2_{max([OLDEST_GLIBC, *versions])}_{platform.machine()}"
