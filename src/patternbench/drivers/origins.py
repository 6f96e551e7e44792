"""A job of the load engine together with where each of its fields was written.

Code that makes a job writes ``TracedValue(value, origin)`` for a value from the user. ``traced`` separates the job and
its origins again. A problem that the engine finds in its job is then reported at the place that the user knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from patternbench.study.model.levels import Levels
from patternbench.study.model.tree import fields
from patternbench.terms.units import Duration

Job = dict[str, object]
"""A job, or a part of one."""


@dataclass(frozen=True)
class TracedValue:
    """A value of a job, and where the user wrote it: a path in the study, or a flag."""

    value: object
    origin: str


@dataclass(frozen=True)
class TracedJob:
    """A job as plain data, and for its paths the places where the user wrote the values."""

    job: Job
    origins: Mapping[str, str]

    def origin(self, path: str) -> str:
        """Return the place where a path of the job was written; for a part without an origin, below the nearest one."""
        around = path
        while around and around not in self.origins:
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return f"{self.origins.get(around, '')}{path[len(around) :]}"


def traced(tree: Mapping[str, object]) -> TracedJob:
    """Return the job of a tree of values with their origins."""
    return TracedJob(plain_fields(tree), dict(_origins(tree, "")))


def throughout(tree: object, origin: str) -> TracedValue:
    """Return a tree all of whose parts were written in one place."""
    if isinstance(tree, Mapping):
        return TracedValue({name: throughout(value, origin) for name, value in tree.items()}, origin)
    return TracedValue([throughout(entry, origin) for entry in tree] if isinstance(tree, list) else tree, origin)


def plain(tree: object) -> object:
    """Return a tree without its origins."""
    if isinstance(tree, TracedValue):
        return plain(tree.value)
    if isinstance(tree, Mapping):
        return plain_fields(tree)
    return [plain(entry) for entry in tree] if isinstance(tree, list) else tree


def plain_fields(tree: Mapping[str, object]) -> Job:
    """Return the fields of a tree without their origins."""
    return {name: plain(value) for name, value in tree.items()}


def _origins(tree: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, TracedValue):
        yield path, tree.origin
        yield from _origins(tree.value, path)
    elif isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from _origins(value, f"{path}.{name}" if path else str(name))
    elif isinstance(tree, list):
        for number, entry in enumerate(tree):
            yield from _origins(entry, f"{path}[{number}]")


def in_us(part: BaseModel | dict[str, object], origin: str, without: Collection[str] = ()) -> dict[str, TracedValue]:
    """Return a part of a study as the contracts write it, each field and entry with its origin below ``origin``.

    Every duration is a whole number of microseconds under a name ending in ``_us``. Fields of the part itself that are
    named in ``without`` are left out.
    """
    named = ((name, value.level if isinstance(value, Levels) else value) for name, value in fields(part))
    return {_name(name, value): with_origins(value, f"{origin}.{name}") for name, value in named if name not in without}


def with_origins(node: object, origin: str) -> TracedValue:
    """Return a value as the contracts write it, with its origin."""
    if isinstance(node, Levels):
        return with_origins(node.level, origin)
    if isinstance(node, list):
        return TracedValue([with_origins(entry, f"{origin}[{number}]") for number, entry in enumerate(node)], origin)
    if isinstance(node, (BaseModel, dict)):
        return TracedValue(in_us(node, origin), origin)
    return TracedValue(node.us if isinstance(node, Duration) else node, origin)


def _name(key: str, value: object) -> str:
    # ``max`` is the one duration that may be left open, and null has no type to tell it by.
    return f"{key}_us" if isinstance(value, Duration) or (key == "max" and value is None) else key
