"""Writes the licences of all third-party code that a wheel carries.

That is what is inside the engine's binary, the clients' binaries and jars, and the script of reports.

Python packages that patternbench depends on are installed next to it with licences of their own; the rate limiter's
sidecar travels as source and is built where it runs. Neither is listed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Entry = tuple[str, str, list[str]]
"""What it is, its licence, its licence texts."""

TEXTS = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")
LINE = "=" * 100


def notices(root: Path) -> str:
    """Return the whole text: one entry per crate and per Java library, with the texts that they bring."""
    engine = _crates(root / "engine", "patternbench-engine")
    entries = [*engine, *_of_clients(root / "clients"), *_jars(root), _script(root)]
    listed = "\n".join(f"  {name}  ({licence})" for name, licence, _ in entries)
    body = "\n".join(f"{LINE}\n{', '.join(names)}\n{LINE}\n{text}\n" for text, names in _by_text(entries).items())
    return f"Third-party code in patternbench's native parts\n\n{listed}\n\n{body}"


def _of_clients(clients: Path) -> Iterator[Entry]:
    """Every crate that is linked into the clients in Rust that were built."""
    built = [path.name for path in clients.glob("*/bin/patternbench-client-*") if (clients / "Cargo.lock").is_file()]
    if built:
        yield from _crates(clients, *built)


def _by_text(entries: list[Entry]) -> dict[str, list[str]]:
    """Each licence text once, with the names of all that bring it."""
    found: dict[str, list[str]] = {}
    for name, _, texts in entries:
        for text in texts:
            found.setdefault(text, []).append(name)
    return found


def _crates(workspace: Path, *binaries: str) -> Iterator[Entry]:
    """Every crate that is linked into binaries of a workspace: its name, its licence, its licence texts."""
    metadata = _metadata(workspace)
    packages = {package["id"]: package for package in metadata["packages"]}
    linked = _linked(metadata, [p["id"] for p in metadata["packages"] if p["name"] in binaries])
    for package in sorted((packages[one] for one in linked), key=lambda each: str(each["name"])):
        if package["source"]:
            texts = _texts(Path(package["manifest_path"]).parent)
            yield f"{package['name']} {package['version']} (crate)", package["license"] or "see text", texts


def _metadata(workspace: Path) -> dict[str, Any]:
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo/bin/cargo")
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--filter-platform", _host()]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, check=True, env=os.environ)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _host() -> str:
    """Return the platform that cargo builds for here, such as x86_64-unknown-linux-gnu."""
    rustc = shutil.which("rustc") or str(Path.home() / ".cargo/bin/rustc")
    told = subprocess.run([rustc, "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))


def _linked(metadata: dict[str, Any], starts: list[str]) -> set[str]:
    """Return what is reached from packages over normal dependencies; what only builds or tests them is not inside."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    seen, todo = set(), [*starts]
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        todo += [dep["pkg"] for dep in nodes[one]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    return seen


def _texts(folder: Path) -> list[str]:
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.upper().startswith(TEXTS)]
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def _jars(root: Path) -> Iterator[Entry]:
    for jar in sorted((root / "clients").glob("*/target/patternbench-client-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            inside = [name for name in archive.namelist() if name.startswith("META-INF/")]
            texts = [name for name in inside if Path(name).name.upper().startswith((*TEXTS, "THIRD", "DEPENDENCIES"))]
            found = [archive.read(name).decode(errors="replace").strip() for name in texts if not name.endswith("/")]
        yield f"{jar.name} (Java libraries, as its file META-INF/THIRD-PARTY.txt lists them)", "see text", found


def _script(root: Path) -> Entry:
    """Return the script of reports, whose libraries bring no licence texts with it."""
    text = (root / "scripts" / "vega-notices.txt").read_text(encoding="utf-8")
    return "Vega, Vega-Lite, Vega-Embed and what they contain (script of reports)", "see text", [text.strip()]


if __name__ == "__main__":
    sys.stdout.write(notices(Path(__file__).resolve().parent.parent))
