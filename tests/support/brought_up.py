"""A system of ours, up for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from patternbench.lab import environment, startable, systems
from patternbench.lab.environment import Environment


@contextmanager
def brought_up(name: str, settings: Mapping[str, object], folder: Path) -> Iterator[Environment]:
    """The system, up; skips where the machine lacks what it needs."""
    system = systems.load(name)
    lacking = startable.needs_problems(system, {setting: [value] for setting, value in settings.items()})
    if lacking:
        pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
    with environment.named(system, settings, folder) as up:
        yield up
