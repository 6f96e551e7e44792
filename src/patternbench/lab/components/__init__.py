"""The kinds of component that the lab knows: one file per kind in this folder, found by listing it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from patternbench.lab.component import Component


def _kinds() -> Iterator[type[Component]]:
    for module in (import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__)):
        for member in vars(module).values():
            if isinstance(member, type) and issubclass(member, Component) and member.__module__ == module.__name__:
                yield member


KINDS: dict[str, type[Component]] = {component.kind: component for component in _kinds()}
