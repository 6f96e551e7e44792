"""The faults that a study injects: of what kind, where, and when. Each kind is a file of ``kinds/``."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, TypeAdapter, create_model, model_validator

from patternbench.study.faults import kinds
from patternbench.study.faults.kind import Kind, Spot
from patternbench.study.faults.when import FaultWindow, Windows, overlap
from patternbench.study.model.parts import OneOf, misplaced
from patternbench.study.model.tree import names_of, plain

EDGE = "edge"
"""Where load comes in."""
ARROW = "->"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PLACE = re.compile(rf"\s*({_NAME})\s*(?:->\s*({_NAME})\s*)?")


def _named(kind: str) -> type[Kind]:
    """Return the class of a kind: the one in its file with the kind's name, in any capitals and without its ``_``."""
    module = import_module(f"{kinds.__name__}.{kind}")
    # The names of a module are untyped for mypy; every kind is built from its example in tests.
    return next(member for name, member in vars(module).items() if name.lower() == kind.replace("_", ""))  # type: ignore[no-any-return]


KINDS: dict[str, type[Kind]] = {module.name: _named(module.name) for module in pkgutil.iter_modules(kinds.__path__)}


def _one_writing(where: str) -> str:
    match = _PLACE.fullmatch(where)
    assert match is not None  # the pattern of the field has held
    return f"{match[1]} {ARROW} {match[2]}" if match[2] else match[1]


Where = Annotated[str, Field(pattern=rf"^{_PLACE.pattern}$", max_length=200), AfterValidator(_one_writing)]


class FaultEntry(OneOf):
    """One fault: one kind, ``where`` it acts (by default at the edge), ``when`` (by default the whole round)."""

    where: Where = EDGE
    when: Windows = Field(default_factory=list)

    @classmethod
    def choices(cls) -> list[str]:
        """Return the kinds of fault."""
        return list(KINDS)

    def omits(self, name: str) -> bool:
        """Fields at their defaults aren't part of a configuration, so that older scenarios keep their ids."""
        return self._is_default(name) if name in FaultEntry.model_fields else super().omits(name)

    def _is_default(self, name: str) -> bool:
        return self.where == EDGE if name == "where" else not self.when

    @property
    def link(self) -> tuple[str, str] | None:
        """The caller and the callee of the link that it acts on; None if it acts on a component."""
        if self.chosen.spot is Spot.COMPONENT or self.where == EDGE:
            return None
        caller, _, service = self.where.partition(f" {ARROW} ")
        return caller, service

    @property
    def at_the_edge(self) -> bool:
        """Whether it acts where load comes in."""
        return self.where == EDGE

    @property
    def windows(self) -> tuple[FaultWindow, ...]:
        """The windows in which something happens; none for the whole round."""
        return tuple(window for window in self.when if not window.is_empty)

    @property
    def acts(self) -> bool:
        """Whether it does anything at its levels."""
        return self.chosen.acts and (not self.when or bool(self.windows))

    @property
    def bounds(self) -> dict[str, object]:
        """Where and when it acts, if the study says so. A single window isn't a list."""
        when: object = self.when[0] if len(self.when) == 1 else self.when
        stated = {"where": self.where, "when": when}
        return {name: value for name, value in stated.items() if not self.omits(name)}

    def as_plain(self) -> dict[str, object]:
        """Return a concrete fault as plain data, without its kind."""
        return {**plain(self.chosen), **plain(self.bounds)}

    @model_validator(mode="after")
    def _acts_where_it_can(self) -> FaultEntry:
        is_link = self.where == EDGE or ARROW in self.where
        if self.chosen.spot is Spot.COMPONENT and is_link:
            raise misplaced("where", f"`{self.where}`, since {self.kind} acts on a component", "the component's name")
        if self.chosen.spot is Spot.LINK and not is_link:
            allowed = f"`{EDGE}`, or `CALLER {ARROW} {self.where}`"
            raise misplaced("where", f"`{self.where}`, since {self.kind} acts on the link to a component", allowed)
        return self


if TYPE_CHECKING:
    Fault = FaultEntry
else:
    Fault = create_model(
        "Fault", __base__=FaultEntry, __doc__=FaultEntry.__doc__, **{name: (KINDS[name] | None, None) for name in KINDS}
    )


_FIELDS = TypeAdapter(dict[str, object])


def by_name(faults: Sequence[Fault]) -> dict[str, Fault]:
    """Faults by their names, which are their kinds; ``abort_2`` is the second abort."""
    return dict(zip(names_of(faults), faults, strict=True))


def from_plain(name: str, written: object) -> Fault:
    """Return the fault that ``as_plain`` wrote under a name of ``by_name``; raises pydantic's ValidationError."""
    fields = _FIELDS.validate_python(written)
    bounds = {key: fields[key] for key in ("where", "when") if key in fields}
    chosen = {key: value for key, value in fields.items() if key not in bounds}
    return Fault.model_validate({re.sub(r"_\d+$", "", name): chosen, **bounds})


def clashes(faults: Sequence[Fault]) -> Iterator[int]:
    """Yield the places of concrete faults that act where and when an earlier one of their kind does."""
    for number, fault in enumerate(faults):
        alike = (other for other in faults[:number] if (other.kind, other.where) == (fault.kind, fault.where))
        if any(overlap(other.when, fault.when) for other in alike):
            yield number


__all__ = ["EDGE", "KINDS", "Fault", "by_name", "clashes", "from_plain"]
