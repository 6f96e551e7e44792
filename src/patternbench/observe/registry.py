"""Which observers there are: one for each folder of the package with a file ``observer.py``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from functools import cache
from importlib.util import find_spec

import patternbench
from patternbench.observe.response import Response
from patternbench.observe.seam import Aim, Observer
from patternbench.study.problems import Problem
from patternbench.study.watching import Watch

MODULE = "observer"


@cache
def observers() -> tuple[Observer[object], ...]:
    """The ``OBSERVER`` of each such folder, in the folders' alphabetical order; loaded when first asked for."""
    return tuple(importlib.import_module(f"{folder}.{MODULE}").OBSERVER for folder in folders())


def folders() -> list[str]:
    """The packages of the observers."""
    modules = pkgutil.iter_modules(patternbench.__path__)
    packages = [f"patternbench.{module.name}" for module in modules if module.ispkg]
    return sorted(name for name in packages if find_spec(f"{name}.{MODULE}"))


def aim_of(columns: Collection[str]) -> Aim | None:
    """The aim of the first observer that saw something in a run, by the columns of its rounds."""
    aims = (one.aim for one in observers() if any(response.name in columns for response in one.responses))
    return next((aim for aim in aims if aim), None)


def responses() -> list[Response]:
    """The responses of all observers that are the same for every study."""
    return [response for observer in observers() for response in observer.responses]


def responses_of(watch: Watch) -> list[Response]:
    """The responses of all observers, for a study that asks for this."""
    return [response for observer in observers() for response in observer.responses_of(watch)]


def problems_of(watch: Watch) -> list[Problem]:
    """Problems of a study's requests to observers, as far as they are known before its system is up."""
    return [problem for observer in observers() for problem in observer.problems(watch)]
