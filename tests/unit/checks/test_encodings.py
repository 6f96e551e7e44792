"""Text is read and written in an encoding that is named, never in the one that a user's locale happens to have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.studies import ROOT

SOURCES = ROOT / "src" / "patternbench"
PLACES = {"read_text": 0, "write_text": 1}
"""Where the encoding is among the arguments of methods of paths."""
LOCALE = frozenset({"text", "universal_newlines"})
"""What has a process's output decoded as the locale says."""


def unnamed(tree: ast.AST) -> Iterator[int]:
    """The lines of calls that read or write text without naming its encoding."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = {word.arg for word in node.keywords}
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if named & LOCALE and name in ("run", "Popen", "check_output"):
            yield node.lineno
        if "encoding" in named:
            continue
        if name in PLACES and isinstance(node.func, ast.Attribute) and len(node.args) <= PLACES[name]:
            yield node.lineno
        if name == "open" and _in_text(node):
            yield node.lineno


def _in_text(call: ast.Call) -> bool:
    """Whether a call opens a file for text: by the builtin, by a path's method, or compressed."""
    of = call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""
    if of in ("os", "tarfile", "zipfile", "webbrowser"):
        return False
    by_path = isinstance(call.func, ast.Attribute) and of != "gzip"
    modes = [word.value for word in call.keywords if word.arg == "mode"] or call.args[0 if by_path else 1 :][:1]
    mode = modes[0].value if modes and isinstance(modes[0], ast.Constant) else "rb" if of == "gzip" else "r"
    return "t" in str(mode) if of == "gzip" else "b" not in str(mode)


def test_every_text_is_read_and_written_in_a_named_encoding() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in sorted(SOURCES.rglob("*.py"))
        for line in unnamed(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found


def test_each_way_to_leave_the_encoding_to_the_locale_is_found() -> None:
    lines = [
        "path.read_text()",
        "path.write_text('x')",
        "open(path)",
        "open(path, 'w')",
        "path.open('a')",
        "gzip.open(path, 'rt')",
        "subprocess.run(words, text=True)",
    ]
    assert list(unnamed(ast.parse("\n".join(lines)))) == [1, 2, 3, 4, 5, 6, 7]
    named = ["path.read_text('utf-8')", "open(path, 'rb')", "path.open('wb')", "gzip.open(path)", "os.open(path, 0)"]
    assert not list(unnamed(ast.parse("\n".join(named))))
