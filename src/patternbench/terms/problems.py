"""Problems of a user's input: all of them at once, each with its place."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

LONGEST_VALUE = 60
MOST_BITS = 1000
"""Of a number that is shown with its decimal digits: Python refuses to write those of one with 4,300."""
LOGIN = re.compile(r"://(?:[^/@\s:]*:(?![0-9]{1,5}[/?#])\S*|[^/@\s:?#]*)@")
"""User and password in a URL, which no message shows, whatever signs (`/`, `?`, `#`, `@`) the password has."""
LONGEST_SEARCHED = 5000
"""Characters of a value that are looked through before it is cut."""

_ROOM = "make room there, and type the command again"
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "nothing can be written there; name another place, or type the command in another folder",
}


@dataclass(frozen=True)
class Problem:
    """One problem: its place, the value, what is allowed, what to type."""

    message: str
    path: str = ""
    file: str = ""
    line: int | None = None
    value: object = None
    allowed: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """One line: ``file:line: path: message (got value); allowed: ...; hint``."""
        position = f"{self.file}:{self.line}" if self.line else self.file
        head = ": ".join(part for part in (position, self.path) if part)
        text = f"{head}: {self.message}" if head else self.message
        if self.value is not None:
            text += f" (got {shown(self.value)})"
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        return f"{text}; {self.hint}" if self.hint else text

    def below(self, path: str) -> Problem:
        """Return the same problem as one of a larger document, in which this part is at a path."""
        return replace(self, path=f"{path}.{self.path}" if self.path else path)

    def as_json(self) -> dict[str, object]:
        """Return the problem as plain data, for ``--json``."""
        return {
            "file": self.file,
            "line": self.line,
            "path": self.path,
            "value": None if self.value is None else shown(self.value),
            "message": self.message,
            "allowed": self.allowed,
            "hint": self.hint,
        }


class InputError(Exception):
    """A user's mistake: carries all problems found; ends the command with exit code 2."""

    def __init__(self, problems: Iterable[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(map(str, self.problems)))


@contextmanager
def gathered(problems: list[Problem]) -> Iterator[None]:
    """Add problems to a list, so that they can be reported together with others."""
    try:
        yield
    except InputError as error:
        problems += error.problems


def distinct(problems: Iterable[Problem]) -> list[Problem]:
    """Problems in their order, equal ones once."""
    return list({str(problem): problem for problem in problems}.values())


def reason(error: OSError) -> str:
    """Return the operating system's message for an error, also if a library put words around it."""
    return os.strerror(error.errno) if error.errno else str(error)


def remedy(error: OSError) -> str:
    """Return what to do where something could not be written; nothing where its error doesn't tell."""
    return _REMEDIES.get(error.errno or 0, "")


def shown(value: object) -> str:
    """Return the value as a user would type it, cut to one readable length."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, str):
        text = repr(value)
    elif isinstance(value, int) and value.bit_length() > MOST_BITS:
        text = f"{'-' if value < 0 else ''}0x{hex(abs(value))[2:LONGEST_VALUE]}…"
    else:
        text = str(value)
    text = LOGIN.sub("://***@", text[:LONGEST_SEARCHED])
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a hint naming the nearest known word, or nothing when none is near."""
    near = difflib.get_close_matches(str(word), list(words), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""
