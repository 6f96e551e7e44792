"""Which observers there are: one for each folder of the package with a file ``observer.py``.

Such a folder, a wing, may also have ``question.py`` with what a study may ask of it (study/questions.py),
``across.py`` with responses that need several rounds, ``report/section.py`` with its sections of the report, and
``derive.py`` with what they need beyond the records. The last two are loaded only when a report is made: they may draw,
or start processes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pandas as pd

import patternbench
from patternbench.observe.seam import Aim, NeededComponent, Observer
from patternbench.observe.section import Section
from patternbench.study.watching import Watch
from patternbench.terms.problems import Problem
from patternbench.terms.responses import UNITS, Response

MODULE = "observer"
SECTIONS = "report.section"
"""The module of a wing with ``sections(run, rounds)``: its sections of the report of a run's folder."""
DERIVE = "derive"
"""The module of a wing with ``derive(run)``, which keeps in the run's folder what its sections need."""
ACROSS = "across"
"""The module of a wing with ``across(rounds, scenarios)``: responses that need other rounds than their own."""


@cache
def observers() -> tuple[Observer[object], ...]:
    """Return the ``OBSERVER`` of each such folder, in the folders' alphabetical order; loaded when first asked for."""
    return tuple(importlib.import_module(f"{folder}.{MODULE}").OBSERVER for folder in folders())


def folders() -> list[str]:
    """Return the packages of the observers."""
    modules = pkgutil.iter_modules(patternbench.__path__)
    packages = [f"patternbench.{module.name}" for module in modules if module.ispkg]
    return sorted(name for name in packages if find_spec(f"{name}.{MODULE}"))


def sections(run: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the sections of all wings; ``rounds`` has the columns of contracts/records."""
    return [section for module in _modules(SECTIONS) for section in module.sections(run, rounds)]


def across(rounds: pd.DataFrame, scenarios: Sequence[object]) -> pd.DataFrame:
    """Return the rounds of a run with what wings know only from several; ``scenarios`` are those of its plan."""
    for module in _modules(ACROSS):
        rounds = module.across(rounds, scenarios)
    return rounds


def derive(run: Path) -> None:
    """Have every wing work out what its sections need beyond the records; nothing here makes a run fail."""
    for module in _modules(DERIVE):
        module.derive(run)


def _modules(name: str) -> Iterator[ModuleType]:
    """Yield the modules of this name that wings have."""
    for folder in folders():
        if has(folder, name):
            yield importlib.import_module(f"{folder}.{name}")


def has(folder: str, name: str) -> bool:
    """Whether a package has a module, of which a package within it may be a part."""
    package, _, module = f"{folder}.{name}".rpartition(".")
    return (package == folder or bool(find_spec(package))) and bool(find_spec(f"{package}.{module}"))


def aim_of(columns: Collection[str]) -> Aim | None:
    """Return the aim of the first observer that saw something in a run, by the columns of its rounds."""
    aims = (one.aim for one in observers() if any(response.name in columns for response in one.responses))
    return next((aim for aim in aims if aim), None)


def responses() -> list[Response]:
    """Return the responses of all observers that are the same for every study."""
    return [response for observer in observers() for response in observer.responses]


def responses_of(watch: Watch) -> list[Response]:
    """Return the responses of all observers, for a study that asks for this."""
    return [response for observer in observers() for response in observer.responses_of(watch)]


def units_of(watch: Watch) -> dict[str, str]:
    """Return the unit in the records of each response that observers of a study measure."""
    return {response.name: response.unit or UNITS[response.kind] for response in responses_of(watch)}


def problems_of(watch: Watch) -> list[Problem]:
    """Problems of a study's requests to observers, as far as they are known before its system is up."""
    return [problem for observer in observers() for problem in observer.problems(watch)]


def needed_by(watch: Watch) -> list[NeededComponent]:
    """Return the components that observers ask of every scenario's system."""
    return [needed for observer in observers() for needed in observer.needs(watch)]
