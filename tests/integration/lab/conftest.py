"""Systems of the lab, brought up for a moment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab import environment, startable, systems
from patternbench.lab.environment import Environment

Up = Callable[..., Environment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name: that of a Unix socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="pb-") as name:
        yield Path(name)


@pytest.fixture
def shop(folder: Path) -> Iterator[Up]:
    """Brings the shop behind two balancers up with settings; skips where the machine lacks what they need."""
    with ExitStack() as stack:

        def up(**settings: Any) -> Environment:
            system = systems.load("shop-behind-two-balancers")
            lacking = startable.needs_problems(system, {name: [value] for name, value in settings.items()})
            if lacking:
                pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
            # Without its store a balancer rejects, so that no test passes on what it decides alone.
            quick = {"service_time": "fixed:1ms", "store_timeout": "1s", "when_store_fails": "closed"}
            return stack.enter_context(environment.named(system, quick | settings, folder))

        yield up
