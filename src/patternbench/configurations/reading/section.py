"""A mapping of a configuration that is read field by field; what no one asked for is what was not understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from patternbench.configurations.amounts import COUNT, Level, Notation
from patternbench.configurations.form import Field
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.study.text.nodes import FileNode, canonical
from patternbench.terms.problems import InputError, Problem

CODE = "names code, which isn't in the file"
UNKNOWN = "isn't a field that is known here"


@dataclass
class FieldReader:
    """The fields of a mapping, each of which is taken once.

    ``table`` has the fields of the product's form by their names. A value that can't be read is noted, and makes the
    section ``failed``: what is made of it would have the product's default in its place, which is not what is run.
    """

    notes: ReadingNotes
    node: FileNode | None = None
    table: Mapping[str, Field] = field(default_factory=dict)
    failed: bool = False

    def __post_init__(self) -> None:
        self._left: dict[str, FileNode] = {}
        for name, one in (self.node.fields if self.node else {}).items():
            _put(self._left, canonical(name), one)

    @property
    def given(self) -> bool:
        """Whether there is such a mapping at all."""
        return self.node is not None

    def take(self, *names: str) -> FileNode | None:
        """Return the value of a field under one of its names; None where it isn't given. Raises InputError for two."""
        found = [self._left.pop(key) for key in map(canonical, names) if key in self._left]
        if len(found) > 1:
            raise _twice(found[0], found[1])
        return found[0] if found and found[0].value is not None else None

    def read(self, notation: Notation, *names: str) -> Level | None:
        """Return the value of a field in our terms; None where it isn't given, or can't be read, which is noted."""
        node = self.take(*names)
        return None if node is None else self.of(node, notation)

    def of(self, node: FileNode, notation: Notation) -> Level | None:
        """Return a value in our terms; None, with a note, where the product would refuse it."""
        scalar = node.scalar
        try:
            if scalar is not None:
                return notation.read(scalar)
        except (ValueError, ArithmeticError):
            pass
        elsewhere = "${" in str(scalar)
        self._fail(node, "is filled in from elsewhere" if elsewhere else f"isn't {notation.about}")
        return None

    def count(self, *names: str) -> int | None:
        """Return the value of a field that is a whole number."""
        node = self.take(*names)
        return None if node is None else self.count_of(node)

    def count_of(self, node: FileNode) -> int | None:
        """Return a value that is a whole number; None, with a note, for any other."""
        found = self.of(node, COUNT)
        return found if isinstance(found, int) else None

    def value(self, name: str, *other_names: str) -> object:
        """Return the value of a field of the product's form, or its default, which is noted; None without one."""
        one = self.table[canonical(name)]
        node = self.take(name, *other_names)
        if node is not None:
            return self.of(node, one.amount)
        if one.default is None:
            return None
        self._note_default(one)
        return one.amount.read(one.default)

    def _note_default(self, one: Field) -> None:
        if self.node is not None:
            written = str(one.default).lower() if isinstance(one.default, bool) else str(one.default)
            self.notes.add(NoteKind.DEFAULT, self.node, f"is {written} where it is left out", one.name)

    def _fail(self, node: FileNode, why: str) -> None:
        self.notes.not_understood(node, why)
        self.failed = True

    def inside(self, *names: str) -> FieldReader:
        """Return the mapping under one of these names; its failures are this section's, once it is finished."""
        return FieldReader(self.notes, self.take(*names), self.table)

    def harmless(self, *names: str) -> None:
        """Ignore fields that change nothing about calls."""
        for name in names:
            self.take(name)

    def code(self, *names: str) -> None:
        """Note fields that name code, which decides what isn't in the file."""
        for node in filter(None, map(self.take, names)):
            self._fail(node, CODE)

    def inexpressible(self, why: str, *names: str) -> None:
        """Note fields that no policy of a study says."""
        for node in filter(None, map(self.take, names)):
            self.notes.add(NoteKind.INEXPRESSIBLE, node, why)

    def finish(self) -> None:
        """Note each field that was not taken as unknown."""
        for node in self._left.values():
            self.notes.not_understood(node, UNKNOWN)
        self._left = {}


def table(fields: Iterable[Field], below: str = "") -> Mapping[str, Field]:
    """Return the fields of a form below a place, by their names."""
    inside = [one for one in fields if one.place.startswith(f"{below}." if below else "")]
    return {canonical(one.name.removesuffix("[]")): one for one in inside if " " not in one.name}


def _put(into: dict[str, FileNode], key: str, node: FileNode) -> None:
    if key in into:
        raise _twice(into[key], node)
    into[key] = node


def _twice(first: FileNode, second: FileNode) -> InputError:
    message = f"says the same as line {first.place.line}, `{first.path}`"
    hint = "leave one of them out"
    return InputError(Problem(message, second.path, second.place.file, second.place.line, hint=hint))
