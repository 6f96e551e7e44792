"""A YAML text as nodes: every document of it, bounded, with the line of each value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from patternbench.study.text.document import Document, Path, parse
from patternbench.study.text.nodes import FileLine, FileNode, PathStep
from patternbench.terms.problems import InputError, Problem

LARGEST = 200_000
"""Characters at most: what is slowest to read of as many takes less than two seconds."""
MOST_DOCUMENTS = 500
TEMPLATE = "render a template first, as with `helm template`"
_MARK = re.compile(r"^(?:---|\.\.\.)(?=\s|$)", re.MULTILINE)
"""Where a document ends, wherever it stands: YAML knows no text that goes on over such a line."""


def yaml_nodes(text: str, file: str) -> list[FileNode]:
    """Return the documents of a text; raises InputError naming the line where one can't be read."""
    if len(text) > LARGEST:
        allowed, hint = f"at most {LARGEST:,} characters", "leave out what says nothing of calls"
        raise InputError(Problem("is too large to be read as YAML", file=file, allowed=allowed, hint=hint))
    chunks = [(before, chunk) for before, chunk in _chunks(text) if _says_something(chunk)]
    if len(chunks) > MOST_DOCUMENTS:
        raise InputError(Problem("has too many documents", file=file, allowed=f"at most {MOST_DOCUMENTS}"))
    return [_document(chunk, before, file) for before, chunk in chunks]


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text of each document, with the number of lines before it."""
    begin = before = 0
    for mark in _MARK.finditer(text):
        yield before, text[begin : mark.start()]
        before += text.count("\n", begin, mark.start())
        begin = mark.end()
    yield before, text[begin:]


def _says_something(chunk: str) -> bool:
    """Whether there is more than comments and directives in a document."""
    return any(line.strip() and not line.lstrip().startswith(("#", "%")) for line in chunk.splitlines())


def _document(chunk: str, before: int, file: str) -> FileNode:
    try:
        document = parse(chunk, file)
    except InputError as error:
        hint = TEMPLATE if "{{" in chunk else ""
        moved = [replace(one, line=(one.line or 1) + before, hint=one.hint or hint) for one in error.problems]
        raise InputError(moved) from None
    return _node(document.value, (), None, document, before)


def _node(value: object, path: Path, step: PathStep | None, document: Document, before: int) -> FileNode:
    place = FileLine(document.file, (document.line(path) or 1) + before)
    if isinstance(value, dict):
        parts = {name: _node(one, (*path, name), PathStep(name, step), document, before) for name, one in value.items()}
        return FileNode(parts, place, step)
    if isinstance(value, list):
        listed = [_node(one, (*path, i), PathStep(i, step), document, before) for i, one in enumerate(value)]
        return FileNode(tuple(listed), place, step)
    return FileNode(value if isinstance(value, (str, int, float, bool)) else None, place, step)
