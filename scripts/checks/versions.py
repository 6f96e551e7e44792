"""One version for everything: ``scripts/version`` lists where it is stated, ``scripts/version 0.2.0`` writes it
everywhere.

``pyproject.toml`` is the source. The study file, the contracts and the records have versions of their own.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.checks.skips import ROOT

BUILT = {"target", "node_modules", ".venv"}
"""Folders that builds fill; what they state is copied from the sources."""
RELEASE = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Spot:
    """Files that state the version, and how: what stands before it, and the version itself, as two groups."""

    files: str
    pattern: re.Pattern[str]


def _spot(files: str, before: str, version: str = r'[^"]+') -> Spot:
    return Spot(files, re.compile(f"({before})({version})", re.MULTILINE))


SPOTS = (
    _spot("pyproject.toml", r'^version = "'),
    _spot("src/patternbench/__init__.py", r'^__version__ = "'),
    _spot("CITATION.cff", r"^version: ", r"\S+"),
    _spot("engine/Cargo.toml", r'^version = "'),
    _spot("engine/Cargo.lock", r'^name = "patternbench-[\w-]+"\nversion = "'),
    _spot("filters/crdt-sidecar/settings.go", r'^const version = "'),
    _spot("filters/kubernetes/deployment.yaml", r"/nginx-ratelimit:", r"[\w.]+"),
    _spot("filters/kubernetes/README.md", r"/nginx-ratelimit:", r"[\w.]+"),
    _spot("clients/**/package.json", r'^  "version": "'),
    _spot("clients/*/package-lock.json", r'"name": "patternbench-client-[\w-]+",\s+"version": "'),
    _spot("clients/kits/node/server.js", r"^  version: '", r"[^']+"),
    _spot("clients/kits/python/patternbench_client/adapter.py", r'^ +"version": "'),
    *(
        _spot(
            f"{folder}/**/pom.xml",
            r"<groupId>io\.patternbench[\w.]*</groupId>\s*<artifactId>[\w-]+</artifactId>\s*<version>",
            r"[^<$]+",
        )
        for folder in ("agents", "apps", "clients")
    ),
)
"""Where the version is stated. A file that is new here needs a line; a test finds what says another one."""


@dataclass(frozen=True)
class StatedVersion:
    """The version as a file states it at a line."""

    file: str
    line: int
    version: str

    def __str__(self) -> str:
        """Write it as ``path:line: text``, which editors open."""
        return f"{self.file}:{self.line}: {self.version}"


def source(root: Path = ROOT) -> str:
    """Return the version, which pyproject.toml has."""
    project: dict[str, str] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["version"]


def stated(root: Path = ROOT) -> Iterator[StatedVersion]:
    """Every statement of the version."""
    for spot in SPOTS:
        for path in files(spot, root):
            text = path.read_text(encoding="utf-8")
            for match in spot.pattern.finditer(text):
                line = text.count("\n", 0, match.start(2)) + 1
                yield StatedVersion(path.relative_to(root).as_posix(), line, match[2])


def files(spot: Spot, root: Path) -> list[Path]:
    """Return the files of a spot, without what builds have made."""
    return sorted(path for path in root.glob(spot.files) if not BUILT & set(path.relative_to(root).parts))


def problems(root: Path = ROOT) -> Iterator[str]:
    """Files that state another version, and spots at which none is stated any more."""
    version = source(root)
    for one in stated(root):
        if one.version != version:
            yield f"{one}; pyproject.toml says {version}: type `scripts/version {version}`"
    for spot in SPOTS:
        if not any(spot.pattern.search(path.read_text(encoding="utf-8")) for path in files(spot, root)):
            yield f"no version is stated in {spot.files} any more; mend its line in scripts/checks/versions.py"


def write(version: str, root: Path = ROOT) -> None:
    """State a version everywhere."""
    for spot in SPOTS:
        for path in files(spot, root):
            text = path.read_text(encoding="utf-8")
            path.write_text(spot.pattern.sub(lambda match: match[1] + version, text), encoding="utf-8")


def main(words: Sequence[str], root: Path = ROOT) -> int:
    """List where the version is stated, or state another one everywhere; return 0 when all say the same."""
    if len(words) > 1 or not all(map(RELEASE.fullmatch, words)):
        print("usage: scripts/version [MAJOR.MINOR.PATCH]", file=sys.stderr)
        return 2
    for version in words:
        write(version, root)
    print(*stated(root), sep="\n")
    wrong = list(problems(root))
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
