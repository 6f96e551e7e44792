"""A JSON text as nodes: quick, bounded, with the line of each value.

The reader of studies takes JSON as YAML, which is too slow for what a proxy dumps of itself.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left

from patternbench.study.text.bounds import MOST_DIGITS
from patternbench.study.text.nodes import FileLine, FileNode, PathStep, Scalar
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.visible import not_utf8

DEEPEST = 60
MOST_VALUES = 200_000
_TOKEN = re.compile(r'[ \t\r\n]*(?:("[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")|([{}\[\],:])|([-+.0-9A-Za-z]+))')
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}


def json_node(text: str, file: str) -> FileNode:
    """Return the value that the text holds; raises InputError naming the line where it can't be read."""
    reader = _JsonReader(text, file)
    node = reader.value(None, 0)
    if text[reader.at :].strip():
        raise reader.refused("holds more than one value", "one JSON value")
    return node


class _JsonReader:
    """Reads a text from left to right. A comma before a closing bracket is allowed, as .NET allows it."""

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file, self._values = text, file, 0
        self._line_ends = [found.start() for found in re.finditer("\n", text)]
        self.at = 0

    def value(self, step: PathStep | None, depth: int) -> FileNode:
        """Return the next value, which is ``depth`` brackets deep."""
        token, place = self._token(), self._place()
        self._values += 1
        if depth > DEEPEST:
            raise self.refused("is nested too deeply", f"at most {DEEPEST} brackets")
        if self._values > MOST_VALUES:
            raise self.refused("is too large", f"at most {MOST_VALUES:,} values")
        if token == "{":
            return FileNode(self._mapping(step, depth), place, step)
        return FileNode(self._list(step, depth) if token == "[" else self._scalar(token), place, step)

    def _mapping(self, step: PathStep | None, depth: int) -> dict[str, FileNode]:
        fields: dict[str, FileNode] = {}
        while (token := self._token()) != "}":
            if not token.startswith('"'):
                raise self.refused(f"has {token!r} where a name is expected", 'a name in quotes, or "}"')
            name = str(self._scalar(token))
            if name in fields:
                raise self.refused(f"says {name!r} twice", "each name once")
            self._expect(":")
            fields[name] = self.value(PathStep(name, step), depth + 1)
            if not self._goes_on("}"):
                break
        return fields

    def _list(self, step: PathStep | None, depth: int) -> tuple[FileNode, ...]:
        entries: list[FileNode] = []
        while not self._ends("]"):
            entries.append(self.value(PathStep(len(entries), step), depth + 1))
            if not self._goes_on("]"):
                break
        return tuple(entries)

    def _ends(self, closing: str) -> bool:
        before = self.at
        if self._token() == closing:
            return True
        self.at = before
        return False

    def _goes_on(self, closing: str) -> bool:
        token = self._token()
        if token not in (",", closing):
            raise self.refused(f"has {token[:40]!r} after a value", f"a comma, or {closing}")
        return token == ","

    def _expect(self, sign: str) -> None:
        token = self._token()
        if token != sign:
            raise self.refused(f"has {token[:40]!r}", sign)

    def _token(self) -> str:
        found = _TOKEN.match(self._text, self.at)
        if found is None:
            raise self.refused("isn't JSON", "a value")
        self.at = found.end()
        return found[found.lastindex or 0]

    def _scalar(self, token: str) -> Scalar:
        """Return the value of a text, a number or a word."""
        if token in _WORDS:
            return _WORDS[token]
        if len(token) > MOST_DIGITS and not token.startswith('"'):
            raise self.refused("has a number that is too long", f"at most {MOST_DIGITS} digits")
        try:
            value: Scalar = json.loads(token)
        except ValueError:
            raise self.refused(f"has {token[:40]!r}, which isn't a JSON value", "a text in quotes, a number") from None
        if isinstance(value, str) and not_utf8(value):
            raise self.refused("holds half a character", "whole characters")
        return value

    def _place(self) -> FileLine:
        """Return the line on which the last token ended; no token goes over the end of a line."""
        return FileLine(self._file, bisect_left(self._line_ends, self.at) + 1)

    def refused(self, message: str, allowed: str) -> InputError:
        """Return the error for what is wrong at this line."""
        return InputError(Problem(message, file=self._file, line=self._place().line, allowed=allowed))
