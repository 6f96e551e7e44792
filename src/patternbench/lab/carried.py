"""What a wheel carries next to the package's own code: where it is in a checkout, and its name inside the package.

The build of a wheel loads this file by itself, so it imports nothing of patternbench.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ENGINE = "engine/target/release/patternbench-engine"
FOLDERS = ("systems", "contracts", "studies", "filters")
"""Carried whole, under a leading underscore. pyproject.toml names them for the build as well."""
CARRIES = re.compile(r"^carries: \[(.*)\]$", re.MULTILINE)
"""The field of a ``client.yaml``; no YAML library is there where wheels are built."""
KIT_SOURCES = {".py", ".js", ".json", ".go", ".mod", ".cs", ".csproj", ".props"}


def native_parts(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a checkout that builds made or clients need, each with its name inside the package."""
    yield root / ENGINE, "_bin/patternbench-engine"
    for file in client_files(root / "clients"):
        yield file, f"_clients/{file.relative_to(root / 'clients').as_posix()}"
    for jar in (root / "agents").glob("*/target/patternbench-*.jar"):
        yield jar, f"_agents/{jar.relative_to(root / 'agents').as_posix()}"


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
