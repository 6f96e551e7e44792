"""A container engine of our own: one at a time on a machine, so one process runs all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import docker as engines
from tests.support.docker import Docker


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    """A container engine of our own, which is the one that patternbench finds."""
    why = engines.lacking()
    if why:
        pytest.skip(f"no container engine: {why}")
    with engines.started(tmp_path_factory.mktemp("docker")) as up, pytest.MonkeyPatch.context() as patched:
        for name, value in up.env.items():
            patched.setenv(name, value)
        yield up


@pytest.fixture
def nothing_left(docker: Docker) -> Iterator[None]:
    """Hold a test to leaving nothing of a project, and remove what it leaves, so that no other test fails for it."""
    yield
    there = docker.left()
    docker.clear()
    assert not there
