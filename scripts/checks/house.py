"""Counts what makes code hard to follow: ``scripts/house-numbers`` prints it, and a test holds it (tests/unit/checks).

Everything is read from the source text, so that a count is the same on every machine.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts import python_cycles
from scripts.checks import hints
from scripts.rust_cycles import FOLDERS, circles, crates

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/patternbench"


@dataclass(frozen=True)
class Site:
    """One place that is counted: its file, its line, and what stands there."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        """Write it as ``path:line: text``, which editors open."""
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


COMPUTES = "analyze"
"""The rooms of this name compute with frames; elsewhere a row is a value with a type."""


def frame_subscripts(modules: Modules) -> Iterator[Site]:
    """Columns that are asked of something by a text, outside the rooms that compute with frames."""
    for path, module in modules.items():
        if COMPUTES in path.parts:
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.Subscript) and _is_text(node.slice) and not _is_type(node):
                yield Site(path, node.lineno, ast.unparse(node))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_type(node: ast.Subscript) -> bool:
    """Whether it is an annotation with a name in quotes: ``type["Kind"]``, ``Literal["a"]``."""
    return ast.unparse(node.value).rpartition(".")[2] in ANNOTATIONS


ANNOTATIONS = {"type", "list", "Literal", "Series", "Observer", "Iterator", "Sequence", "Annotated"}


def frame_attributes(modules: Modules) -> Iterator[Site]:
    """Yield uses of ``attrs`` of a frame: a result that no type tells of."""
    for path, module in modules.items():
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute) and node.attr == "attrs":
                yield Site(path, node.lineno, ast.unparse(node))


def python_circles(modules: Modules) -> Iterator[Site]:
    """Modules of the package that import each other in a circle, late imports included."""
    yield from (Site(PACKAGE, 1, circle) for circle in python_cycles.circles_of(modules, PACKAGE))


def rust_cycles(_: Modules) -> Iterator[Site]:
    """Files of a Rust crate that depend on each other in a circle."""
    for crate in (crate for folder in FOLDERS for crate in crates(folder)):
        yield from (Site(crate, 1, circle) for circle in circles(crate))


COUNTS: dict[str, tuple[str, Callable[[Modules], Iterator[Site]]]] = {
    "subscripts": ("texts by which untyped mappings are asked", subscripts),
    "any": ("names whose type holds Any", any_names),
    "classes": ("classes whose name another has", class_names),
    "frames": ("columns asked of frames by texts outside analyze", frame_subscripts),
    "attrs": ("uses of DataFrame.attrs", frame_attributes),
    "circles": ("import circles between modules of the package", python_circles),
    "cycles": ("import cycles between files of a Rust crate", rust_cycles),
}
"""What is counted: a key, what it is in words, and how its sites are found."""


def counted(package: Path = PACKAGE) -> dict[str, list[Site]]:
    """All sites of every count."""
    modules = parsed(package)
    return {key: list(sites(modules)) for key, (_, sites) in COUNTS.items()}


LINES = "lines"
"""The word that asks for lines of code instead of counts."""
ROOMS = (
    *("src/patternbench", "engine/crates", "clients", "filters", "apps"),
    *("docs", "reproductions", "scripts", "benchmarks"),
)
"""Where code is; the rooms of the package are distinguished."""
CODE = {".py", ".rs", ".go", ".java", ".lua", ".cs", ".js", ".j2"}
NO_CODE = {"tests", "test", "spec", "target", "node_modules", "bin", "obj", "dist", "data", "reference", "build"}
"""Folders with tests, and with what is built, generated or stored; so are those whose names begin with a dot."""


def lines_by_room(root: Path = ROOT) -> dict[str, int]:
    """Lines of code of each room, without tests, generated text and data."""
    sizes: dict[str, int] = defaultdict(int)
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            inside = path.relative_to(root / room)
            if path.suffix in CODE and not _is_apart(inside) and not _is_test(path) and path.is_file():
                own = room == ROOMS[0] and len(inside.parts) > 1
                name = f"{room}/{inside.parts[0]}" if own else room
                sizes[name] += len(path.read_text(encoding="utf-8").splitlines())
    return dict(sizes)


def _is_apart(inside: Path) -> bool:
    return any(part in NO_CODE or part.startswith(".") for part in inside.parts)


def _is_test(path: Path) -> bool:
    return path.stem.startswith("test_") or path.stem.endswith(("_test", ".test", "_spec"))


def main(requested: list[str]) -> int:
    """Print the counts, the ``lines`` of code by room, or every site of the counts that are asked for."""
    if requested == [LINES]:
        sizes = lines_by_room()
        print(*(f"{size:7,}  {room}" for room, size in sizes.items()), f"{sum(sizes.values()):7,}  together", sep="\n")
        return 0
    unknown = [key for key in requested if key not in COUNTS]
    if unknown:
        print(f"there is no count `{unknown[0]}`; allowed: {', '.join([*COUNTS, LINES])}", file=sys.stderr)
        return 2
    for key, sites in counted().items():
        if key in requested:
            print(*sites, sep="\n")
        elif not requested:
            print(f"{len(sites):5}  {key:10}  {COUNTS[key][0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
