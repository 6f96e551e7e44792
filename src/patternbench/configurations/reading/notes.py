"""What reading a configuration leaves to say: each note with the line that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from patternbench.study.text.nodes import FileLine, FileNode
from patternbench.study.text.secrets import CARRIERS, HIDDEN
from patternbench.terms.problems import shown
from patternbench.terms.visible import visible


class NoteKind(StrEnum):
    """What a note says of a line."""

    NOT_UNDERSTOOD = "not understood"
    INEXPRESSIBLE = "not expressible"
    APPROXIMATED = "approximated"
    DEFAULT = "default"

    @property
    def about(self) -> str:
        """The heading of a list of such notes."""
        return _ABOUT[self]


_ABOUT = {
    NoteKind.NOT_UNDERSTOOD: "Not understood, and not guessed",
    NoteKind.INEXPRESSIBLE: "Understood, but no policy of a study says it, so that `today` lacks it",
    NoteKind.APPROXIMATED: "Approximated",
    NoteKind.DEFAULT: "Not in the file, so the product's own default",
}


@dataclass(frozen=True)
class ReadingNote:
    """A line of a configuration and what has to be said of it. ``what`` is in the file's words."""

    kind: NoteKind
    place: FileLine
    what: str
    why: str

    def __str__(self) -> str:
        """Return one line: ``application.yml:7: retryExceptionPredicate: names code, which isn't in the file``."""
        return visible(f"{self.place}: {self.what}: {self.why}")

    def as_json(self) -> Mapping[str, object]:
        """Return it as plain data."""
        return {
            "kind": self.kind.value,
            "file": self.place.file,
            "line": self.place.line,
            "what": self.what,
            "why": self.why,
        }


@dataclass
class ReadingNotes:
    """Collects notes while something is read."""

    found: list[ReadingNote] = field(default_factory=list)

    def add(self, kind: NoteKind, node: FileNode, why: str, what: str = "") -> None:
        """Note something of a value; ``what`` replaces the value as it is written."""
        note = ReadingNote(kind, node.place, what or written(node), why)
        if note not in self.found[-50:]:
            self.found.append(note)

    def not_understood(self, node: FileNode, why: str, what: str = "") -> None:
        """Note a value whose meaning isn't known here."""
        self.add(NoteKind.NOT_UNDERSTOOD, node, why, what)


def written(node: FileNode) -> str:
    """Return a value with its name as its file writes it, but no secret."""
    name = str(node.step.name) if node.step and isinstance(node.step.name, str) else node.path
    if node.scalar is None:
        return name
    return f"{name}: {HIDDEN if CARRIERS.search(name) else shown(node.scalar)}"
