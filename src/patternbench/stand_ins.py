"""Names that stand for what a module has until it is asked for: with them the help of a command loads next to nothing.

Help says what a command's options are, and modules of the command line say that. What these import for the command's
work takes up to a second to load. So for help every other module is put off, and a name that is imported from one
(``from patternbench.study.models import Study``) is a stand-in: it loads the module once anything is asked of it. No
command does its work with stand-ins.
"""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

COMMANDS = "patternbench.cli."
NO_OPTIONS = (f"{COMMANDS}terminal", f"{COMMANDS}answers.", f"{COMMANDS}load_study")
"""How modules of the command line begin that say nothing of options."""
KEPT = {*sys.stdlib_module_names, "click"}
"""What the command line itself is made of."""


class StandIn:
    """Stands for what a module has under a name, and loads the module once anything is asked of it."""

    def __init__(self, module: str, own: str) -> None:
        self._module, self._own = module, own

    def __getattr__(self, name: str) -> object:
        return getattr(meant(self), name)

    def __call__(self, *given: object, **named: object) -> object:
        """Call what it stands for."""
        called: Callable[..., object] = meant(self)  # type: ignore[assignment]  # what calls it knows that it can be
        return called(*given, **named)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[object]:
        """Return the class that it stands for: a class cannot be made of a stand-in."""
        return (meant(self),)


def _asked(way: Callable[..., object]) -> Callable[..., object]:
    """Return the method of a stand-in that asks what it stands for."""

    def method(self: StandIn, *others: object) -> object:
        return way(meant(self), *others)

    return method


WAYS: Mapping[str, Callable[..., object]] = {
    **{name: getattr(operator, name) for name in ("index", "contains", "getitem", "eq", "ne", "lt", "le", "gt", "ge")},
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv")},
    **{way.__name__: way for way in (str, repr, format, iter, len, hash, bool, int, float)},
    "or": operator.or_,
    "radd": lambda own, other: other + own,
    "rmul": lambda own, other: other * own,
    "ror": lambda own, other: other | own,
}
"""What Python asks of an object by a method of its class."""
for _name, _way in WAYS.items():
    setattr(StandIn, f"__{_name}__", _asked(_way))


def meant(name: StandIn) -> object:
    """Return what a name stands for; loads its module, and all that this imports, as they are."""
    module, own = (object.__getattribute__(name, part) for part in ("_module", "_own"))
    with _all_loaded():
        found = importlib.import_module(module)
        return getattr(found, own) if hasattr(found, own) else importlib.import_module(f"{module}.{own}")


class ModuleLater(ModuleType):
    """Stands for a module: each of its names is a stand-in."""

    def __getattr__(self, name: str) -> StandIn:
        """Return what stands for a name."""
        if name.startswith("__"):  # the import system asks whether it is a package
            raise AttributeError(name)
        return StandIn(self.__name__, name)


class FinderLater(MetaPathFinder, Loader):
    """Has modules stood for that say nothing of options."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is, to be stood for; None for one that is loaded as usual."""
        spec = None if says_options(fullname) else PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleLater:
        """Return what stands for a module."""
        return ModuleLater(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Load nothing."""


FINDER = FinderLater()


def says_options(module: str) -> bool:
    """Whether a module is needed to say what the options of a command are."""
    of_commands = module.startswith(COMMANDS) and not module.startswith(NO_OPTIONS)
    return of_commands or module.partition(".")[0] in KEPT


def put_names_off() -> None:
    """Let names stand for what modules have from here on to the end of the process."""
    sys.meta_path.insert(0, FINDER)


@contextmanager
def _all_loaded() -> Iterator[None]:
    """Let modules load as usual meanwhile, and forget what stands for them."""
    before = sys.meta_path[:]
    sys.meta_path[:] = [one for one in before if one is not FINDER]
    for name in [name for name, module in sys.modules.items() if isinstance(module, ModuleLater)]:
        del sys.modules[name]
    try:
        yield
    finally:
        sys.meta_path[:] = before
