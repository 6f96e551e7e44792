"""A part of a study as a tree: its fields, its concrete versions, its leaves, and the plain data that it is written as.

A part is *concrete* when each of its ``Levels`` holds one level. It keeps its class, so nothing about it has to be
asked of a dictionary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeVar, overload

from pydantic import BaseModel

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Model, OneOf, written
from patternbench.terms.units import Duration

Path = tuple[str, ...]
Part = TypeVar("Part")


def count(node: object) -> int:
    """How many concrete versions a part of a study has."""
    if isinstance(node, Levels):
        return len(node)
    if isinstance(node, (BaseModel, dict, list)):
        return math.prod(count(value) for _, value in fields(node))
    return 1


def variants(node: Part) -> Iterator[Part]:
    """Every concrete version of a part; the field declared first varies slowest."""
    # A part's versions are of its own type; mypy cannot follow that through isinstance on a type variable.
    if count(node) == 1:
        yield node
    elif isinstance(node, Levels):
        yield from (Levels.one(level) for level in node)  # type: ignore[misc]
    elif isinstance(node, BaseModel):
        yield from (node.model_copy(update=chosen) for chosen in _combinations(_attributes(node)))
    elif isinstance(node, dict):
        yield from _combinations(node)  # type: ignore[misc]
    elif isinstance(node, list):
        yield from ([*entries] for entries in itertools.product(*map(variants, node)))  # type: ignore[misc]


def leaves(node: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the values of a concrete part with their paths."""
    if isinstance(node, Levels):
        yield path, node.level
    elif isinstance(node, (BaseModel, dict, list)):
        for name, value in fields(node):
            yield from leaves(value, (*path, name))
    else:
        yield path, node


@overload
def plain(node: BaseModel | dict[str, object]) -> dict[str, object]: ...
@overload
def plain(node: object) -> object: ...
def plain(node: object) -> object:
    """Return a concrete part as JSON can hold it, every duration and every word of an enumeration as text."""
    if isinstance(node, Levels):
        return plain(node.level)
    if isinstance(node, (BaseModel, dict)):
        return {name: plain(value) for name, value in fields(node)}
    if isinstance(node, (list, tuple)):
        return [plain(value) for value in node]
    return str(node) if isinstance(node, Duration | StrEnum) else node


def fields(node: BaseModel | dict[str, object] | list[object]) -> Iterator[tuple[str, object]]:
    """Yield the parts of a node that are part of a configuration, by the names that a study writes."""
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, list):
        yield from zip(names_of(node), node, strict=True)
    else:
        yield from ((written(name), value) for name, value in _attributes(node).items())


def _attributes(node: BaseModel) -> dict[str, object]:
    """Return the fields of a model that are part of a configuration, by the names that Python knows."""
    names = type(node).model_fields
    return {name: getattr(node, name) for name in names if not (isinstance(node, Model) and node.omits(name))}


def _combinations(parts: dict[str, object]) -> Iterator[dict[str, object]]:
    for values in itertools.product(*(list(variants(value)) for value in parts.values())):
        yield dict(zip(parts, values, strict=True))


def names_of(entries: Sequence[object]) -> list[str]:
    """Return the names of a list's entries: their kinds, their own names if each has one, or their positions."""
    kinds = [_kind(entry) for entry in entries]
    if all(kinds):
        return [_numbered(kinds, index) for index in range(len(kinds))]
    names = [entry.get("name") if isinstance(entry, dict) else getattr(entry, "name", None) for entry in entries]
    own = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return [str(name) if own else str(index) for index, name in enumerate(names)]


def _kind(entry: object) -> str:
    """Return the one thing that an entry is, such as a policy of a stack; nothing for an entry of several fields."""
    if isinstance(entry, OneOf):
        return entry.kind
    return str(next(iter(entry))) if isinstance(entry, dict) and len(entry) == 1 else ""


def _numbered(kinds: list[str], index: int) -> str:
    """Return a kind, with its number from the second of a kind on: ``timeout``, ``timeout_2``."""
    before = kinds[:index].count(kinds[index])
    return f"{kinds[index]}_{before + 1}" if before else kinds[index]
