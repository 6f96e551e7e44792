"""The kinds of component that the lab knows: one file per kind in this folder, which has the kind's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from patternbench.lab.component import Component


class Kinds(Mapping[str, type[Component]]):
    """Kinds by their names. Each is loaded when it is first asked for, as a system has few of them."""

    def __getitem__(self, kind: str) -> type[Component]:
        """Return the component of a kind; raises KeyError where there is none."""
        if kind not in _names():
            raise KeyError(kind)
        return _loaded(kind)

    def __iter__(self) -> Iterator[str]:
        """Go through the names of all kinds."""
        return iter(_names())

    def __len__(self) -> int:
        """Return how many kinds there are."""
        return len(_names())


@cache
def _names() -> tuple[str, ...]:
    return tuple(file.name for file in iter_modules(__path__))


@cache
def _loaded(kind: str) -> type[Component]:
    module = import_module(f"{__name__}.{kind}")
    members = (member for member in vars(module).values() if isinstance(member, type) and issubclass(member, Component))
    (component,) = (member for member in members if member.__module__ == module.__name__)
    return component


KINDS = Kinds()
