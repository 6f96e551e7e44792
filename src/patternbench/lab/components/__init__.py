"""The kinds of component that the lab knows: one file per kind in this folder, found by listing it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from patternbench.lab.component import Component


def _kinds() -> Iterator[type[Component]]:
    for module in (import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__)):
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, Component) and found.__module__ == module.__name__:
                yield found


KINDS: dict[str, type[Component]] = {component.kind: component for component in _kinds()}
