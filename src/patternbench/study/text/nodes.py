"""What a file holds: values, each with the line on which it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Scalar = str | int | float | bool | None
LONGEST_STEP = 80
"""Characters of one name that a path shows."""


@dataclass(frozen=True, order=True, slots=True)
class FileLine:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        """Return it as compilers do: ``application.yml:7``."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class PathStep:
    """One name or number of a path, below the others; a path of a whole file would be many times as large."""

    name: str | int
    above: PathStep | None = None

    def __str__(self) -> str:
        """Return the whole path in the file's words: ``spec.http[0].timeout``."""
        names: list[str] = []
        step: PathStep | None = self
        while step is not None:
            names.append(f"[{step.name}]" if isinstance(step.name, int) else f".{step.name[:LONGEST_STEP]}")
            step = step.above
        return "".join(reversed(names)).removeprefix(".")


@dataclass(frozen=True, slots=True)
class FileNode:
    """A value of a file: a scalar, a mapping, or a list."""

    value: Scalar | Mapping[str, FileNode] | tuple[FileNode, ...]
    place: FileLine
    step: PathStep | None = None

    @property
    def fields(self) -> Mapping[str, FileNode]:
        """Its values by name; nothing if it isn't a mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def entries(self) -> tuple[FileNode, ...]:
        """Its entries; nothing if it isn't a list."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def path(self) -> str:
        """Its place in the file's own words."""
        return str(self.step) if self.step else ""

    @property
    def scalar(self) -> Scalar:
        """Its value, if it is neither a mapping nor a list."""
        return None if isinstance(self.value, (Mapping, tuple)) else self.value

    def at(self, *names: str) -> FileNode | None:
        """Return the value under names that may be spelled in any of the ways that their readers allow."""
        node: FileNode | None = self
        for name in names:
            node = node.named(name) if node else None
        return node

    def named(self, name: str) -> FileNode | None:
        """Return the value of one field."""
        wanted = canonical(name)
        return next((one for written, one in self.fields.items() if canonical(written) == wanted), None)

    def all(self) -> Iterator[FileNode]:
        """Yield it and every value below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed([*node.fields.values(), *node.entries])


def canonical(name: str) -> str:
    """Return a name as its readers compare it: ``max-attempts``, ``max_attempts`` and ``MaxAttempts`` are one."""
    return name.replace("-", "").replace("_", "").lower()
