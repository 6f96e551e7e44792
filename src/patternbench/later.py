"""Modules that take long to load, loaded when one of their names is first asked for.

``plan``, and a mistake in a study, need neither arrays nor tables nor statistics nor HTTP, but modules that they share
with other commands import what does, and loading that takes several times as long as what they do. So the command
begins with these modules as ones that load themselves. A run loads them for good before its first thread starts, as two
threads must not begin to load the same module.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

NUMPY = "numpy"
LIBRARIES = (NUMPY, "pandas", "pyarrow", "scipy", "httpx", "httpcore")
SLOW = (
    *LIBRARIES,
    *("pyarrow.parquet", "pyarrow.compute", "scipy.stats", "scipy.special", "scipy.optimize", "scipy.signal"),
    *("patternbench.asking", "patternbench.records.attempts", "patternbench.records.columns"),
    *(
        "patternbench.records.tables",
        "patternbench.records.damage",
        "patternbench.observe.samples",
        "patternbench.speed.samples",
    ),
)
"""The libraries and our own modules that use them as they are loaded, each after the package that it is in."""


class DeferredModule(ModuleType):
    """A module that loads itself when one of its names is first asked for."""

    def __getattr__(self, name: str) -> object:
        """Load the module, and return what it has under that name."""
        spec = self.__spec__
        self.__class__ = ModuleType  # type: ignore[assignment]  # from here on it is like any other
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module(self)
        return getattr(self, name)


class WholeNumpy:
    """Finds the inner modules of numpy once it is loaded itself, since it makes them ready in an order of its own."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Load numpy before one of its modules; return that one if it is there then, and leave it to others if not."""
        whole = sys.modules.get(NUMPY)
        if not name.startswith(f"{NUMPY}.") or type(whole) is not DeferredModule:
            return None
        getattr(whole, "", None)
        there = sys.modules.get(name)
        return None if there is None else _Present.spec_of(name, there)


class _Present(Loader):
    """Gives a module that is loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    @classmethod
    def spec_of(cls, name: str, module: ModuleType) -> ModuleSpec:
        """Return how to find it: the importer goes by the module's own spec, so it has this one until it is given."""
        module.__spec__ = ModuleSpec(name, cls(module))
        return module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


def loaded_when_used() -> None:
    """Let each module load itself once it is used, if it isn't there already."""
    sys.meta_path.insert(0, WholeNumpy)
    for name in SLOW:
        package, _, own = name.rpartition(".")
        parent = importlib.import_module(package) if package else None
        module = _put_off(name, parent)
        if parent is not None and module is not None:
            setattr(parent, own, module)


def load_all() -> None:
    """Load each module whose loading was put off."""
    load(*(name for name, one in sys.modules.items() if type(one) is DeferredModule))


def load(*names: str) -> None:
    """Load those of some modules whose loading was put off."""
    for module in [sys.modules.get(name) for name in names]:
        if type(module) is DeferredModule:
            getattr(module, "", None)


def _put_off(name: str, parent: ModuleType | None) -> ModuleType | None:
    """Return the module of a name without loading it; None where it isn't there, or is loaded already."""
    spec = PathFinder.find_spec(name, None if parent is None else parent.__path__)
    if spec is None or name in sys.modules:
        return None
    module = module_from_spec(spec)
    module.__class__ = DeferredModule
    sys.modules[name] = module
    return module
