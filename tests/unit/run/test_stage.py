"""What a stage keeps up from round to round, and which CPUs its clients get."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from patternbench.drivers.registry import ClientSpec
from patternbench.lab.bench import Bench
from patternbench.lab.host.launch import ResourceLimits
from patternbench.lab.topology import Topology, Way
from patternbench.lab.tracing import Tracing
from patternbench.records.inputs import Inputs
from patternbench.run.round import stage as module
from patternbench.run.round.stage import Stage, client_named
from patternbench.study.model.system import NamedSystem, System

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


class Kept(Bench):
    """A bench on which nothing runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.closed = False

    def change(self, topology: Topology, ways: Sequence[Way] = (), tracing: Tracing | None = None) -> None: ...

    def close(self) -> None:
        self.closed = True
        super().close()


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr(module, "Bench", Kept)
    return NamedSystem(name="target")


def test_a_bench_on_which_a_fault_could_not_be_undone_is_closed_and_the_next_round_gets_another(
    stage: Stage, system: System
) -> None:
    first = stage.bench(system)
    assert stage.bench(system) is first
    first.spoil("a frozen process could not be woken")
    second = stage.bench(system)
    assert (second is first, first.closed, second.closed) == (False, True, False)  # type: ignore[attr-defined]  # of the class above
    assert not second.spoilt


def test_a_stage_that_is_left_closes_its_bench_and_every_client_though_one_fails(stage: Stage, system: System) -> None:
    with stage:
        bench, broken, client = stage.bench(system), stage.client(ClientSpec("broken", ("x",))), stage.client(SPEC)
        broken.close = lambda: 1 / 0  # type: ignore[method-assign,assignment]
    assert (bench.closed, client.closed) == (True, True)  # type: ignore[attr-defined]  # of the classes above


def test_a_client_that_is_dropped_is_closed_and_a_new_one_takes_its_place(stage: Stage) -> None:
    first = stage.client(SPEC)
    stage.warmed()
    stage.drop_client(SPEC.name)
    second = stage.client(SPEC)
    assert (first.closed, second is first, stage.cold) == (True, False, {client_named(SPEC.name)})  # type: ignore[attr-defined]  # of the class above
