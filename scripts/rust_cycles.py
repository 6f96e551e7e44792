"""Which files of a Rust crate import each other in a circle.

    python scripts/rust_cycles.py [FOLDER ...]

Prints each circle and ends with 1 when there is any. Each FOLDER holds crates, however deep (by default those of the
engine and of clients). A file depends on
the file that defines what it names, wherever that is re-exported. A re-export by itself (``pub use``) makes no
dependency: what a file does not use, it passes on. Tests are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "engine" / "crates", ROOT / "clients")
ROOTS = ("lib.rs", "main.rs")
USE = re.compile(r"^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
NAMED = re.compile(r"\b(?:crate|super)(?:::\w+)+")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+(;|\s*\{.*)", re.DOTALL)
COMMENT = re.compile(r"//.*")
ModulePath = tuple[str, ...]


@dataclass
class Module:
    """A module: its file, the names that it imports (public or not), and its code without imports and tests."""

    file: Path
    code: str
    imports: dict[str, tuple[ModulePath, bool]] = field(default_factory=dict)


def main(arguments: list[str]) -> int:
    """Print every circle of every crate; the exit code."""
    folders = [Path(argument) for argument in arguments] or FOLDERS
    found = [circle for folder in folders for crate in crates(folder) for circle in circles(crate)]
    for circle in found:
        print(circle)
    return 1 if found else 0


def crates(folder: Path) -> list[Path]:
    """Return the crates below a folder."""
    found = {manifest.parent for manifest in folder.rglob("Cargo.toml")}
    built = {"target", "node_modules", ".venv"}
    return sorted(crate for crate in found if (crate / "src").is_dir() and not built & {*crate.parts})


def circles(crate: Path) -> list[str]:
    """Return the circles of a crate, each as ``crate: a.rs -> b.rs -> a.rs``."""
    edges = dependencies(crate)
    return [f"{crate.name}: {' -> '.join(circle)}" for circle in smallest(edges)]


def dependencies(crate: Path) -> dict[str, set[str]]:
    """Which files each file of a crate depends on, by their paths below ``src``."""
    source = crate / "src"
    modules = _modules(source)
    name = {path: str(module.file.relative_to(source)) for path, module in modules.items()}
    return {
        name[path]: {name[other] for other in _needed(path, modules) if name[other] != name[path]} for path in modules
    }


def _modules(source: Path) -> dict[ModulePath, Module]:
    files = sorted(source.rglob("*.rs"))
    modules = {_path_of(file.relative_to(source)): _read(file) for file in files if not _is_test(file)}
    for path, module in modules.items():
        for public, imported in _imports(module.file):
            if absolute := _absolute(imported, path, modules):
                module.imports[imported[-1]] = (absolute, public)
    return modules


def _path_of(file: Path) -> ModulePath:
    parts = file.with_suffix("").parts
    return parts[:-1] if file.name in ("mod.rs", *ROOTS) else parts


def _is_test(file: Path) -> bool:
    return file.stem == "tests"


def _read(file: Path) -> Module:
    return Module(file, USE.sub("", _code(file)))


def _code(file: Path) -> str:
    """Return a file's text without comments and without its tests, which stand at its end."""
    return TESTS.sub("", COMMENT.sub("", file.read_text()))


def _imports(file: Path) -> Iterator[tuple[bool, ModulePath]]:
    """Every path that a file imports, and whether it passes it on."""
    for public, tree in USE.findall(_code(file)):
        for path in _spelled_out("".join(tree.replace(" as ", "@").split())):
            yield bool(public), tuple(path.partition("@")[0].split("::"))


def _spelled_out(tree: str) -> Iterator[str]:
    """Yield the paths of a use tree: ``a::{b, c::d}`` is ``a::b`` and ``a::c::d``."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.removesuffix("::self")
        return
    for branch in _branches(rest[:-1]):
        yield from _spelled_out(head + branch)


def _branches(text: str) -> Iterator[str]:
    """Yield the parts of a list between commas, however deep its parts are."""
    depth, part = 0, ""
    for sign in text:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield part
            part = ""
        else:
            part += sign
    if part:
        yield part


def _absolute(path: ModulePath, here: ModulePath, modules: dict[ModulePath, Module]) -> ModulePath | None:
    """Return a path from the crate's root; None for one that leads into another crate."""
    base = list(here)
    head, *rest = path
    if head == "crate":
        return tuple(rest)
    if head == "self":
        return (*here, *rest)
    if head != "super":
        return (*here, *path) if (*here, head) in modules else None
    while path and path[0] == "super":
        base, path = base[:-1], path[1:]
    return (*base, *path)


def _needed(here: ModulePath, modules: dict[ModulePath, Module]) -> Iterator[ModulePath]:
    """Yield the modules that define what a module uses."""
    module = modules[here]
    for name, (path, public) in module.imports.items():
        if not public or re.search(rf"\b{re.escape(name)}\b", module.code):
            yield from _definition(path, modules)
    for named in NAMED.findall(module.code):
        absolute = _absolute(tuple(named.split("::")), here, modules)
        if absolute is not None:
            yield from _definition(absolute, modules)
    for child in _children(here, modules):
        if re.search(rf"(?<!::)\b{child[-1]}::\w", module.code):
            yield child


def _children(here: ModulePath, modules: dict[ModulePath, Module]) -> Iterator[ModulePath]:
    return (path for path in modules if path and path[:-1] == here)


def _definition(path: ModulePath, modules: dict[ModulePath, Module]) -> Iterator[ModulePath]:
    """Yield the module that defines what a path names, through all that pass it on."""
    place: ModulePath = ()
    rest = list(path)
    while rest and (*place, rest[0]) in modules:
        place, rest = (*place, rest[0]), rest[1:]
    passed_on = modules[place].imports.get(rest[0]) if rest else None
    if passed_on and passed_on[0] != path:
        yield from _definition((*passed_on[0], *rest[1:]), modules)
    else:
        yield place


def smallest(edges: dict[str, set[str]]) -> list[list[str]]:
    """For each file that stands in a circle the shortest one through it, each circle once."""
    found: dict[frozenset[str], list[str]] = {}
    for start in sorted(edges):
        circle = _shortest(start, edges)
        if circle:
            found.setdefault(frozenset(circle), circle)
    return list(found.values())


def _shortest(start: str, edges: dict[str, set[str]]) -> list[str] | None:
    """Return the shortest way from a file back to itself."""
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop(0)
        for following in sorted(edges[way[-1]]):
            if following == start:
                return [*way, start]
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
