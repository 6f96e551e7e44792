"""``scripts/clients build [NAME...|with TOOL|without TOOL]``: builds our clients as their ``client.yaml`` says.

It builds those whose tools are there, and says what the others need.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patternbench.drivers import registry

BUILT, READY, LACKING, FAILED = "built", "ready", "lacking", "failed"
MADE = {"target", ".venv", "node_modules", "__pycache__", "bin", "obj"}
"""Folders that builds and tests fill; they hold no sources."""


@dataclass(frozen=True)
class Client:
    """One of our clients, as its ``client.yaml`` describes it; needed is the file that must be there to start it."""

    name: str
    build: tuple[str, ...]
    needed: Path
    sources: tuple[Path, ...]
    how: str

    @property
    def fresh(self) -> bool:
        """Whether what it needs is there, and no source is newer."""
        if not self.needed.is_file():
            return False
        made = self.needed.stat().st_mtime
        return all(source.stat().st_mtime <= made for folder in self.sources for source in files_of(folder))


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the sources in a folder."""
    if folder.is_file():
        yield folder
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name not in MADE:
            yield from files_of(path)


def clients(names: Sequence[str] = ()) -> list[Client]:
    """Our clients that have to be built; all of them, or those that are named."""
    described = {name: registry.described(name) for name in names or registry.names()}
    return [_client(name, file) for name, file in described.items() if file.build]


def _client(name: str, file: registry.ClientFile) -> Client:
    marks = registry.marks_of(name)
    build = tuple(registry.filled(word, marks) for word in file.build)
    return Client(name, build, Path(registry.filled(file.needs, marks)), tuple(_sources(name, file)), file.how)


def _sources(name: str, file: registry.ClientFile) -> Iterator[Path]:
    """Yield what a client is built from: where its sources run as they are, the lock file of what they need alone."""
    here = registry.FOLDER / name
    if file.sources_run:
        yield from (here / carried for carried in file.carries if "lock" in carried)
    else:
        yield from (here, registry.FOLDER / "kits" / file.kit)
        yield from (path for path in registry.FOLDER.iterdir() if path.is_file())  # what the clients of a tool share


def build(client: Client) -> str:
    """Build a client that is not ready; say what became of it."""
    if client.fresh:
        return READY
    if shutil.which(client.build[0]) is None:
        print(f"client {client.name} is left out: {client.build[0]} is not installed; {client.how}", flush=True)
        return LACKING
    done = subprocess.run(client.build, cwd=registry.FOLDER / client.name, check=False).returncode == 0
    if done and client.needed.is_file():
        client.needed.touch()  # a build tool may leave what it finds unchanged
        return BUILT
    print(f"client {client.name} could not be built: {' '.join(client.build)}", flush=True)
    return FAILED


def main(arguments: Sequence[str]) -> int:
    """Build every client that can be built here, those of a tool, or all but those; 1 when a build failed."""
    match arguments:
        case ["build", "with" | "without" as which, tool]:
            expected = [one for one in clients() if (one.build[0] == tool) is (which == "with")]
        case ["build", *names]:
            expected = clients(names)
        case _:
            print("usage: scripts/clients build [NAME...|with TOOL|without TOOL]")
            return 2
    return FAILED in _built(expected)


def _built(expected: Iterable[Client]) -> list[str]:
    fates = {client.name: build(client) for client in expected}
    for name, fate in fates.items():
        print(f"client {name}: {fate}", flush=True)
    return list(fates.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
