"""The role and the unit of each field of a study, from the fields' own annotations.

A role is written at a field (``Annotated[..., Role.FAULT]``) and holds for fields below it that have none. A unit is
that of the field's type: ``Duration`` is one, ``Percentage`` and ``Rate`` carry theirs, other numbers are counts.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from patternbench.study.model.parts import written
from patternbench.study.model.tree import Path, fields
from patternbench.terms.roles import Role, Unit
from patternbench.terms.units import Duration


@dataclass(frozen=True)
class Meaning:
    """The role of a field and its unit; None if it may hold numbers and texts, so that its levels decide."""

    role: Role
    unit: Unit | None


def meanings(node: object, within: Meaning, path: Path = ()) -> Iterator[tuple[Path, Meaning]]:
    """Yield the meaning of every field below a part of a study, by its path; ``within`` is that of the part itself."""
    if isinstance(node, BaseModel):
        declared = {written(name): field for name, field in type(node).model_fields.items()}
        for name, value in fields(node):
            yield from meanings(value, _of_field(declared[name], within.role), (*path, name))
    elif isinstance(node, (dict, list)):
        for name, value in fields(node):
            yield from meanings(value, within, (*path, name))
    else:
        yield path, within


def of_part(model: type[BaseModel], name: str) -> Meaning:
    """Return the meaning of a field of a model by its own annotations; raises ValueError for one without a role."""
    field = model.model_fields[name]
    (role,) = _roles(field)
    return Meaning(role, _unit(field))


def _of_field(field: FieldInfo, role: Role) -> Meaning:
    return Meaning(next(iter(_roles(field)), role), _unit(field))


def _roles(field: FieldInfo) -> list[Role]:
    return [mark for mark in field.metadata if isinstance(mark, Role)]


def _unit(field: FieldInfo) -> Unit | None:
    marked = {mark for mark in field.metadata if isinstance(mark, Unit)}
    units = marked or set(_units(field.annotation))
    return units.pop() if len(units) == 1 else None


def _units(annotation: object) -> Iterator[Unit]:
    """Yield the units of all types that a type is made of."""
    marked = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Unit)]
    if marked:
        yield from marked
    elif get_origin(annotation) is Literal:
        yield Unit.TEXT
    elif isinstance(annotation, type) and not get_args(annotation):
        yield from _of_type(annotation)
    else:
        for part in get_args(annotation):
            yield from _units(part)


def _of_type(plain: type) -> Iterator[Unit]:
    if issubclass(plain, Duration):
        yield Unit.DURATION
    elif issubclass(plain, bool | str | enum.Enum):
        yield Unit.TEXT
    elif issubclass(plain, int | float):
        yield Unit.COUNT
