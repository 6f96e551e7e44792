"""``scripts/mutants --draw N --seed S [ROOM ...]``: puts N slips, drawn by a seed, into rooms of the Python code.

A slip is one small change that people make: a comparison that includes its end, swapped arguments, a lost term, ``and``
for ``or``. For each one all unit tests that reach its module by imports run, the nearest first, until one of them
fails; then the tests with real parts that import it themselves. What becomes of it is one line of JSON. The code is a
copy, so nothing of a slip can stay behind.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scripts.checks.skips import ROOT

SOURCE, TESTS = Path("src/patternbench"), Path("tests/unit")
WITH_PARTS = Path("tests/integration")
"""Tests with real parts: those that import a module themselves are tried last."""
TOOLS = ("scripts", "benchmarks", "reproductions")
"""Packages next to the code, through which tests reach it too: what the site says of each field, for example."""
WITHIN_S = 900.0
"""How long one step of the tests of a slip may take; those that take longer have noticed nothing."""
STEP = 12
"""How many files of tests the first step tries, the nearest to the module; each further one tries four times as many.

A test that fails in an early step spares the collection of all later ones.
"""
DIED, SURVIVED, UNTESTED, ENDLESS = "died", "SURVIVED", "untested", "out of time"
PASSED = (0, 5)
"""How pytest ends where no test failed, or where none was chosen."""
ROOMS = ("analyze", "report", "drivers", "run")
"""The rooms that decide, which slips are drawn from unless others are named."""

COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
TERMS = (ast.Add, ast.Sub)
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)


@dataclass(frozen=True)
class Slip:
    """One slip: in which file and line, what was there, what is there instead, and the changed file."""

    file: str
    line: int
    was: str
    becomes: str
    kind: str
    changed: str


@dataclass(frozen=True)
class Row:
    """What became of a slip, and which test noticed it."""

    file: str
    line: int
    was: str
    becomes: str
    kind: str
    fate: str
    by: str = ""


Found = Iterator[tuple[str, ast.AST, ast.AST]]


def slips(tree: ast.Module) -> Found:
    """Every slip that can be made: its kind, a node, and what stands there instead."""
    for node in ast.walk(tree):
        of_kind = KINDS.get(type(node))
        if of_kind:
            yield from of_kind(node)


def _of_comparison(node: ast.Compare) -> Found:
    if type(node.ops[0]) in COMPARISONS:
        yield "comparison", node, _with(node, ops=[COMPARISONS[type(node.ops[0])](), *node.ops[1:]])


def _of_terms(node: ast.BoolOp) -> Found:
    yield "and/or", node, _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    yield "lost term", node, _without_last(node)


def _of_negation(node: ast.UnaryOp) -> Found:
    if isinstance(node.op, ast.Not):
        yield "lost negation", node, node.operand


def _of_constant(node: ast.Constant) -> Found:
    if type(node.value) is int:
        yield "off by one", node, _with(node, value=node.value + 1)
    elif type(node.value) is bool:
        yield "wrong default", node, _with(node, value=not node.value)


def _of_function(node: ast.FunctionDef) -> Found:
    yield from (("lost statement", one, ast.Pass()) for one in node.body if _is_lost(one))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _without_last(node: ast.BoolOp) -> ast.AST:
    return _with(node, values=node.values[:-1]) if len(node.values) > 2 else node.values[0]  # noqa: PLR2004 - of a pair


def _of_operation(node: ast.BinOp) -> Found:
    if any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)):
        return
    if type(node.op) in OPERATORS:
        yield "operator", node, _with(node, op=OPERATORS[type(node.op)]())
    if isinstance(node.op, TERMS):
        yield "lost term", node, node.left


def _of_call(node: ast.Call) -> Found:
    if isinstance(node.func, ast.Name) and node.func.id in NAMES:
        yield "min/max", node, _with(node, func=ast.Name(NAMES[node.func.id]))
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    if len(plain) == len(node.args) > 1:
        yield "swapped arguments", node, _with(node, args=[node.args[1], node.args[0], *node.args[2:]])


def _is_lost(statement: ast.stmt) -> bool:
    """Whether a statement can be left out: no docstring, and no value of its own that is never given otherwise."""
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, SIMPLE) and not docstring and not isinstance(statement, ast.Assign)


KINDS: Mapping[type[ast.AST], Callable[[Any], Found]] = {
    ast.Compare: _of_comparison,
    ast.BoolOp: _of_terms,
    ast.UnaryOp: _of_negation,
    ast.BinOp: _of_operation,
    ast.Call: _of_call,
    ast.Constant: _of_constant,
    ast.FunctionDef: _of_function,
}


def in_file(path: Path, root: Path) -> list[Slip]:
    """Return the slips of a file; annotations, imports and words have none."""
    text = (root / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    left_out = {id(node) for part in _unmeant(tree) for node in ast.walk(part)}
    found = [(kind, node, instead) for kind, node, instead in slips(tree) if id(node) not in left_out]
    return [_slip(path, text, kind, node, instead) for kind, node, instead in found]


def _unmeant(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the parts in which a slip means nothing when the code runs: annotations, decorators, f-strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from (*node.decorator_list, *([node.returns] if node.returns else []))
        elif isinstance(node, ast.ClassDef):
            yield from node.decorator_list
        elif isinstance(node, ast.JoinedStr):  # Python 3.11 gives the parts of an f-string no places of their own.
            yield node
        elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation:
            yield node.annotation


def _slip(path: Path, text: str, kind: str, node: ast.AST, instead: ast.AST) -> Slip:
    assert isinstance(node, (ast.expr, ast.stmt))
    was, becomes = ast.get_source_segment(text, node) or "", ast.unparse(instead)
    if isinstance(node, ast.expr):
        becomes = f"({becomes})"
    start, end = _offset(text, node.lineno, node.col_offset), _end(text, node)
    raw = text.encode()
    changed = (raw[:start] + becomes.encode() + raw[end:]).decode()
    return Slip(str(path), node.lineno, was, becomes, kind, changed)


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(one.encode()) for one in text.splitlines(keepends=True)[: line - 1]) + column


def _end(text: str, node: ast.expr | ast.stmt) -> int:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return _offset(text, node.end_lineno, node.end_col_offset)


def drawn(rooms: Sequence[str], count: int, seed: int, root: Path = ROOT) -> list[Slip]:
    """Draw this many slips of some rooms, each in its own line; the same seed draws the same from the same code."""
    files = [path for room in rooms for path in sorted((root / SOURCE / room).rglob("*.py"))]
    every = [slip for path in files for slip in in_file(path.relative_to(root), root)]
    random.Random(seed).shuffle(every)
    by_line = {(slip.file, slip.line): slip for slip in reversed(every)}
    return [slip for slip in every if by_line[slip.file, slip.line] is slip][:count]


def module_of(path: Path) -> str:
    """Return the dotted name of a file below ``src``, or of one of the tools next to it."""
    below = path.relative_to("src") if path.parts[0] == "src" else path
    return ".".join(below.with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """Return the modules that a file may import, by their full names, also those that it names in a text."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("patternbench."):
            names |= {node.value, node.value.rpartition(".")[0]}
    return names


def _commands(root: Path) -> set[str]:
    """Return the modules that the command loads by their names."""
    return {module_of(path.relative_to(root)) for path in (root / SOURCE / "cli").glob("*.py")}


def distances(graph: Mapping[str, set[str]], module: str) -> dict[str, int]:
    """How many imports every file of a graph is away from a module, where it reaches it at all."""
    found, near = {module: 0}, [module]
    for one in near:
        for name, names in graph.items():
            if one in names and name not in found:
                found[name] = found[one] + 1
                near.append(name)
    return found


def graph_of(root: Path) -> dict[str, set[str]]:
    """Return what each module of ours and each file of tests imports; tests have their path as name."""
    files = [path for folder in (SOURCE, *TOOLS) for path in (root / folder).rglob("*.py")]
    modules = {module_of(path.relative_to(root)): path for path in files}
    support = {f"tests.support.{path.stem}": path for path in (root / "tests/support").glob("*.py")}
    listed = [path for folder in (TESTS, WITH_PARTS) for path in (root / folder).rglob("test_*.py")]
    tests = {str(path.relative_to(root)): path for path in listed}
    graph = {name: imported(path) for name, path in {**modules, **support, **tests}.items()}
    graph.get("patternbench.cli.main", set()).update(_commands(root))
    return graph


def tests_of(file: Path, graph: Mapping[str, set[str]]) -> list[str]:
    """All files of unit tests that may reach a module, the nearest first, then those with real parts that import it.

    Those that import it, directly or through others; of those equally far the ones of its room; then what is left of
    its room, which may reach it by a name that is put together only when the code runs.
    """
    found = distances(graph, module_of(file))
    room = f"/{file.relative_to(SOURCE).parts[0]}/"
    known = [name for name in graph if name.startswith(f"{TESTS}/") and (name in found or room in name)]
    with_parts = sorted(name for name in graph if name.startswith(f"{WITH_PARTS}/") and found.get(name) == 1)
    return [*sorted(known, key=lambda name: (found.get(name, len(graph)), room not in name, name)), *with_parts]


def steps_of(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the files of tests in the steps in which they are tried, the nearest first."""
    size = STEP
    while tests:
        yield tests[:size]
        tests, size = tests[size:], 4 * size


def fate(slip: Slip, tests: Sequence[str], root: Path, within_s: float = WITHIN_S) -> Row:
    """Put a slip in, run its tests until one fails that passes without it, and take it out again."""
    row = Row(slip.file, slip.line, slip.was, slip.becomes, slip.kind, UNTESTED)
    for step in steps_of(tests):
        row = _tried(row, slip, step, root, within_s)
        if row.fate != SURVIVED:
            return row
    return replace(row, by=f"{len(tests)} files") if row.fate == SURVIVED else row


def _tried(row: Row, slip: Slip, tests: Sequence[str], root: Path, within_s: float) -> Row:
    """Return what becomes of a slip in one step; a file whose tests fail without the slip, too, has no say."""
    while tests:
        with _put_in(slip, root):
            noticed = _noticed(tests, root, within_s)
        file = noticed.by.partition("::")[0].rpartition(" ")[2]
        if noticed.fate != DIED or file not in tests or _noticed([file], root, within_s).fate == SURVIVED:
            return replace(row, fate=noticed.fate, by=noticed.by)
        tests = [name for name in tests if name != file]
    return replace(row, fate=SURVIVED)


@contextmanager
def _put_in(slip: Slip, root: Path) -> Iterator[None]:
    path = root / slip.file
    before = path.read_bytes()
    try:
        path.write_text(slip.changed, encoding="utf-8")
        yield
    finally:
        path.write_bytes(before)


@dataclass(frozen=True)
class SlipOutcome:
    """How some tests ended, and which of them failed first."""

    fate: str
    by: str = ""


def _noticed(tests: Sequence[str], root: Path, within_s: float) -> SlipOutcome:
    words = ["-x", "-q", "-rfE", "--no-header", "-p", "no:cacheprovider", "-m", "not slow and not browser", *tests]
    try:
        done = subprocess.run(
            ["nice", sys.executable, "-m", "pytest", *words], cwd=root, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}, timeout=within_s,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return SlipOutcome(ENDLESS, f"after {within_s:.0f} s, in {len(tests)} files")
    if done.returncode in PASSED:
        return SlipOutcome(SURVIVED)
    reported = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return SlipOutcome(DIED, reported[0].partition(" - ")[0] if reported else done.stdout[-200:])


def copied(root: Path, folder: Path) -> Path:
    """Return a copy of what git knows of a checkout, with links to what was built in it."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout.decode()
    names = [name for name in files.split("\0") if name and (root / name).is_file()]
    subprocess.run(
        ["xargs", "-0", "cp", "--parents", "-t", str(folder)], cwd=root, input="\0".join(names).encode(), check=True
    )
    for built in ("engine/target",):
        if (root / built).exists():
            (folder / built).symlink_to((root / built).resolve())
    return folder


def carried_out(every: Iterable[Slip], root: Path, within_s: float = WITHIN_S) -> Iterator[Row]:
    """Yield what becomes of each slip, in a copy of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        copy_ = copied(root, Path(folder))
        graph = graph_of(copy_)
        for slip in every:
            yield fate(slip, tests_of(Path(slip.file), graph), copy_, within_s)


def main(count: int, seed: int, rooms: Sequence[str]) -> int:
    """Print a line of JSON for each slip, then how many died; nothing here decides what is equivalent."""
    rows = []
    for row in carried_out(drawn(rooms, count, seed), ROOT):
        rows.append(row)
        print(json.dumps(asdict(row), ensure_ascii=False), flush=True)
    died = sum(row.fate == DIED for row in rows)
    print(f"{died} of {len(rows)} died (seed {seed})", file=sys.stderr)
    return 0 if died == len(rows) else 1
