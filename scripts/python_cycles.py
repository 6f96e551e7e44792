"""Which modules of a Python package import each other in a circle.

    python scripts/python_cycles.py [FOLDER]

Prints each circle and ends with 1 when there is any; FOLDER is a package (src/patternbench by default). Every import
counts: also one within a function, one for types alone, and a text that is the name of a module, as
``importlib.import_module`` takes it. A registry, which makes names from a folder's listing, imports no one by name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

if __package__ is None:
    sys.path.append(str(Path(__file__).parents[1]))

from scripts.rust_cycles import smallest

PACKAGE = Path(__file__).parents[1] / "src" / "patternbench"


def main(arguments: list[str]) -> int:
    """Print every circle of a package; the exit code."""
    found = circles(Path(arguments[0]) if arguments else PACKAGE)
    for circle in found:
        print(circle)
    return 1 if found else 0


def circles(package: Path) -> list[str]:
    """Return the circles of a package, each as ``a -> b -> a`` with the names of modules."""
    files = sorted(package.rglob("*.py"))
    return circles_of({path: ast.parse(path.read_text(encoding="utf-8")) for path in files}, package)


def circles_of(parsed: Mapping[Path, ast.Module], package: Path) -> list[str]:
    """Return the circles among parsed modules of a package."""
    modules = {_name(path, package): (path, tree) for path, tree in parsed.items()}
    edges = {
        name: {other for other in _imported(tree, _home(name, path)) if other in modules and other != name}
        for name, (path, tree) in modules.items()
    }
    for name, others in edges.items():  # of ``from a import b``, where ``b`` is a module, ``a`` itself is not used
        others -= {other for other in others if _only_for_modules(modules[name][1], other, modules)}
    return [" -> ".join(circle) for circle in smallest(edges)]


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if path.stem == "__init__" else parts)


def _home(name: str, path: Path) -> str:
    """Return the package from which a module's relative imports count."""
    return name if path.stem == "__init__" else name.rpartition(".")[0]


def _imported(tree: ast.Module, home: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (base := _base(node, home))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            yield node.value


def _base(node: ast.ImportFrom, home: str) -> str:
    """Return the module that names are imported from, in full."""
    if not node.level:
        return node.module or ""
    above = home.split(".")[: len(home.split(".")) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _only_for_modules(tree: ast.Module, package: str, modules: Mapping[str, object]) -> bool:
    """Whether a package is imported from for modules of it alone."""
    taken = [
        f"{package}.{alias.name}" in modules
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == package and not node.level
        for alias in node.names
    ]
    return bool(taken) and all(taken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
