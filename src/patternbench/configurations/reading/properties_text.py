"""A Java ``.properties`` text as pairs of a key and a value, each with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patternbench.study.text.nodes import FileLine, FileNode, PathStep
from patternbench.terms.problems import InputError, Problem

MOST_LINES = 20_000
_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def property_nodes(text: str, file: str) -> list[tuple[str, FileNode]]:
    """Return every key with its value, in their order, as ``java.util.Properties`` reads them."""
    found: list[tuple[str, FileNode]] = []
    for line, logical in _logical_lines(text):
        if len(found) == MOST_LINES:
            allowed, hint = f"at most {MOST_LINES:,} keys", "leave out what says nothing of calls"
            raise InputError(Problem("has too many keys", file=file, line=line, allowed=allowed, hint=hint))
        pair = _KEY.match(logical)
        if pair is None:  # the expression matches anything
            continue
        key, value = _unescaped(pair[1]), _unescaped(pair[2])
        found.append((key, FileNode(value, FileLine(file, line), PathStep(key))))
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with the number of the first: one may go on after a backslash."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.lstrip()
        if not parts and (not bare or bare[0] in "#!"):
            continue
        first = first if parts else number
        goes_on = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
        parts.append(bare[:-1] if goes_on else bare)
        if not goes_on:
            yield first, "".join(parts)
            parts = []
    if parts:
        yield first, "".join(parts)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LETTERS.get(found[2], found[2]), text)
