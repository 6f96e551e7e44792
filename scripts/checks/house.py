"""Counts what makes code hard to follow: `scripts/house-numbers` prints it, and a test holds it (tests/unit/checks).

Everything is read from the source text, so that a count is the same on every machine.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.checks import hints
from scripts.rust_cycles import circles

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/patternbench"
CRATES = ROOT / "engine/crates"
PRONOUNS = {"place", "found", "each", "given", "known"}
"""Words that name nothing: what a value is stays unsaid."""
SAME_NAME_MODULES = 3
"""With this many modules of one name, the name says nothing about where one is."""
LOOKED_FOR = {"__init__", "observer"}
"""Modules that are looked for by their name: of a package, and of an observer (observe/registry.py)."""


@dataclass(frozen=True)
class Site:
    """One place that is counted: its file, its line, and what stands there."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        """As editors open it."""
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.text}"


Modules = dict[Path, ast.Module]


def parsed(package: Path) -> Modules:
    """Every module below a folder."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py"))}


def subscripts(modules: Modules) -> Iterator[Site]:
    """Texts by which untyped mappings are asked for a part: what a model should have a field for."""
    declared = hints.declared(modules.values())
    for path, module in modules.items():
        for node in hints.untyped_lookups(module, declared):
            yield Site(path, node.lineno, ast.unparse(node))


def any_names(modules: Modules) -> Iterator[Site]:
    """Parameters, results and variables whose annotation holds ``Any``."""
    for path, module in modules.items():
        for node in ast.walk(module):
            for name, annotation in hints.annotated(node):
                if re.search(r"\bAny\b", ast.unparse(annotation)):
                    yield Site(path, annotation.lineno, f"{name}: {ast.unparse(annotation)}")


def class_names(modules: Modules) -> Iterator[Site]:
    """Classes whose name another class has; a leading underscore makes no difference."""
    sites = defaultdict(list)
    for path, module in modules.items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                sites[node.name.lstrip("_")].append(Site(path, node.lineno, node.name))
    yield from (site for name in sites for site in sites[name] if len(sites[name]) > 1)


def module_names(modules: Modules) -> Iterator[Site]:
    """Modules whose name at least two others have."""
    counts = Counter(path.stem for path in modules)
    for path in modules:
        if path.stem not in LOOKED_FOR and counts[path.stem] >= SAME_NAME_MODULES:
            yield Site(path, 1, path.stem)


def pronouns(modules: Modules) -> Iterator[Site]:
    """Variables, parameters and functions that are called by a pronoun."""
    for path, module in modules.items():
        for node in ast.walk(module):
            name = _bound(node)
            if name in PRONOUNS:
                yield Site(path, node.lineno, name)  # type: ignore[attr-defined]  # whatever binds has a line


def _bound(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def rust_cycles(_: Modules) -> Iterator[Site]:
    """Files of a Rust crate that depend on each other in a circle."""
    for crate in sorted(path for path in CRATES.iterdir() if (path / "src").is_dir()):
        yield from (Site(crate, 1, circle) for circle in circles(crate))


COUNTS: dict[str, tuple[str, Callable[[Modules], Iterator[Site]]]] = {
    "subscripts": ("texts by which untyped mappings are asked", subscripts),
    "any": ("names whose type holds Any", any_names),
    "classes": ("classes whose name another has", class_names),
    "modules": ("modules whose name two others have", module_names),
    "cycles": ("import cycles between files of a Rust crate", rust_cycles),
    "pronouns": ("names that are pronouns (place, found, each, given, known)", pronouns),
}
"""What is counted: a key, what it is in words, and how its sites are found."""


def counted(package: Path = PACKAGE) -> dict[str, list[Site]]:
    """All sites of every count."""
    modules = parsed(package)
    return {key: list(sites(modules)) for key, (_, sites) in COUNTS.items()}


def main(asked: list[str]) -> int:
    """Print the counts, or every site of those that are asked for by their keys."""
    unknown = [key for key in asked if key not in COUNTS]
    if unknown:
        print(f"there is no count `{unknown[0]}`; allowed: {', '.join(COUNTS)}", file=sys.stderr)
        return 2
    for key, sites in counted().items():
        if key in asked:
            print(*sites, sep="\n")
        elif not asked:
            print(f"{len(sites):5}  {key:10}  {COUNTS[key][0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
