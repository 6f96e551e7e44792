"""Which CPUs the clients of a stage get."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from patternbench.drivers.registry import ClientSpec
from patternbench.lab.launch import ResourceLimits
from patternbench.records.inputs import Inputs
from patternbench.run import stage as module
from patternbench.run.stage import Stage

SPEC = ClientSpec("shop", ("shop-client",))


class Recorded:
    """A client that runs nowhere, and knows its CPUs."""

    alive = True

    def __init__(self, spec: ClientSpec, folder: Path, beside: Path | None, cpus: tuple[int, ...]) -> None:
        self.name, self.cpus, self.closed = spec.name, cpus, False

    def limits(self) -> dict[str, str]:
        return {self.name: str(ResourceLimits(self.cpus))} if self.cpus else {}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(module, "Client", Recorded)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    yield Stage(tmp_path, Inputs(tmp_path))


def bind(stage: Stage, *cpus: int) -> None:
    """Have one of two components of the system run on these CPUs alone."""
    launches = [SimpleNamespace(limits=ResourceLimits(bound)) for bound in (cpus, ())]
    running = {str(number): SimpleNamespace(launch=launch) for number, launch in enumerate(launches)}
    stage._bench = SimpleNamespace(running=running)  # type: ignore[assignment]  # all that is asked of a bench here


def test_a_client_runs_where_no_component_is_bound_and_the_manifest_says_so(stage: Stage) -> None:
    bind(stage, 0)
    assert stage.client(SPEC).cpus == (1, 2)
    assert stage.limits == {"shop": "on CPU 1, 2"}


def test_a_client_may_run_anywhere_where_no_component_is_bound(stage: Stage) -> None:
    bind(stage)
    assert stage.client(SPEC).cpus == ()
    assert stage.limits == {}


def test_a_client_stays_up_until_other_cpus_are_spare(stage: Stage) -> None:
    bind(stage, 0)
    first = stage.client(SPEC)
    assert stage.client(SPEC) is first
    bind(stage, 0, 1)
    second = stage.client(SPEC)
    assert (first.closed, second.cpus) == (True, (2,))  # type: ignore[attr-defined]  # of the class above
