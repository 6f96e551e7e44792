"""A text of nginx's configuration as directives, each with its line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from patternbench.study.text.nodes import FileLine
from patternbench.terms.problems import InputError, Problem

DEEPEST = 20
MOST_WORDS = 100_000
_TOKEN = re.compile(
    r"""\s*(?:(\#[^\n]*)|([;{}])|("[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')"""
    r"""|((?:\$\{[^{}\s]*\}|\\.|\$|[^\s;{}\\$]+)+))""",
    re.DOTALL,
)
_END, _COMMENT, _SIGN = 0, 1, 2
CODE = "_by_lua_block"
"""The end of the names of directives whose block is code."""


@dataclass(frozen=True)
class Directive:
    """A directive with its words, and with those in its block."""

    name: str
    words: tuple[str, ...]
    place: FileLine
    block: tuple[Directive, ...] | None = None

    def named(self, name: str) -> Iterator[Directive]:
        """Yield the directives of its block that have a name."""
        return (one for one in self.block or () if one.name == name)

    @property
    def text(self) -> str:
        """The directive as it is written, without its block."""
        return " ".join((self.name, *self.words))


def directives(text: str, file: str) -> tuple[Directive, ...]:
    """Return the directives of a text; raises InputError naming the line where it can't be read."""
    return _DirectiveReader(text, file).block(0)


@dataclass
class _DirectiveReader:
    text: str
    file: str
    at: int = 0
    words: int = 0
    line_ends: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line_ends = [found.start() for found in re.finditer("\n", self.text)]

    def block(self, depth: int) -> tuple[Directive, ...]:
        """Return the directives up to the end of this block, or of the text."""
        if depth > DEEPEST:
            raise self._refused("is nested too deeply", f"at most {DEEPEST} blocks")
        found = []
        while (one := self._directive(depth)) is not None:
            found.append(one)
        return tuple(found)

    def _directive(self, depth: int) -> Directive | None:
        """Return the next directive; None at the end of the block."""
        words: list[str] = []
        place = FileLine(self.file, 1)
        while True:
            kind, token = self._token()
            if kind == _END or (kind == _SIGN and token == "}"):
                self._check_end(kind == _END, words, depth)
                return None
            if kind == _SIGN:
                return self._made(words, place, token, depth)
            place = place if words else self._place()
            words.append(token)

    def _check_end(self, of_text: bool, words: list[str], depth: int) -> None:
        if words:
            raise self._refused(f"ends within `{' '.join(words)[:40]}`", "a `;` after each directive")
        if of_text != (depth == 0):
            raise self._refused("has a bracket too few or too many", "a `}` for every `{`")

    def _made(self, words: list[str], place: FileLine, sign: str, depth: int) -> Directive:
        if not words:
            raise self._refused(f"has a `{sign}` without a directive", "a name")
        name, *rest = words
        if sign == ";":
            return Directive(name, tuple(rest), place)
        if name.endswith(CODE):
            self._skip_code()
            return Directive(name, tuple(rest), place, ())
        return Directive(name, tuple(rest), place, self.block(depth + 1))

    def _skip_code(self) -> None:
        depth = 1
        for found in re.compile(r"[{}]").finditer(self.text, self.at):
            depth += 1 if found[0] == "{" else -1
            if depth == 0:
                self.at = found.end()
                return
        raise self._refused("has code without an end", "a `}` for every `{`")

    def _token(self) -> tuple[int, str]:
        """Return the next word or sign with its kind; nothing at the end."""
        while found := _TOKEN.match(self.text, self.at):
            self.at, kind = found.end(), found.lastindex or 0
            if kind == _COMMENT:
                continue
            self.words += 1
            if self.words > MOST_WORDS:
                raise self._refused("is too large", f"at most {MOST_WORDS:,} words")
            return kind, _unquoted(found[kind])
        if self.text[self.at :].strip():
            raise self._refused("isn't what nginx reads", "directives that end with `;` or a block")
        return _END, ""

    def _place(self) -> FileLine:
        return FileLine(self.file, bisect_left(self.line_ends, self.at) + 1)

    def _refused(self, message: str, allowed: str) -> InputError:
        return InputError(Problem(message, file=self.file, line=self._place().line, allowed=allowed))


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL) if word[0] in "\"'" else word
