"""Where the native engine's binary is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from patternbench.lab import shipped
from patternbench.lab.software import versions
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError, Problem

NAME = "patternbench-engine"


def find() -> Path | None:
    """Return the engine's binary: named by PATTERNBENCH_ENGINE, in the wheel, built in the checkout, or on PATH."""
    named = os.environ.get("PATTERNBENCH_ENGINE")
    ours = [shipped.PACKAGE / "_bin" / NAME, shipped.CHECKOUT / "engine/target/release" / NAME]
    paths = [Path(named)] if named else ours
    built = next((path for path in paths if path.is_file()), None)
    on_path = None if named else shutil.which(NAME)
    path = built or (Path(on_path) if on_path else None)
    return path and path.absolute()


def binary() -> str:
    """Return the path of the engine's binary; raises InputError that says how to build it."""
    file = find()
    if file is None:
        raise InputError(Problem("the native engine is not built", hint=shipped.how_to_build("setup")))
    return str(file)


def version() -> str | None:
    """Return the engine's version; None if it isn't built."""
    return versions.told_by(find())


def path() -> str:
    """Return the path of the engine's binary for a command line, or its bare name where it is not built."""
    return str(find() or NAME)


def need() -> Need:
    """Return the need of a part that the engine's binary carries out."""
    file = find()
    return Need("native engine", str(file) if file else None, shipped.how_to_build("setup"))
