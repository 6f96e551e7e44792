"""What a fixture keeps up from round to round, and which CPUs its clients get."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from patternbench.drivers.registry import ClientSpec
from patternbench.lab.environment import Environment
from patternbench.lab.host.changes import Start
from patternbench.lab.host.launch import ResourceLimits
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.running import RunningComponent
from patternbench.lab.host.unfinished import NOTHING, Work
from patternbench.lab.topology import Link, Topology
from patternbench.lab.tracing import Tracing
from patternbench.records.inputs import Inputs
from patternbench.run.round import fixture as module
from patternbench.run.round.fixture import RoundFixture, client_named
from patternbench.study.model.system import NamedSystem, System, UrlSystem

SPEC = ClientSpec("shop", ("shop-client",))


class Recorded:
    """A client that runs nowhere, and knows its CPUs."""

    alive = True

    def __init__(self, spec: ClientSpec, folder: Path, study_folder: Path | None, cpus: tuple[int, ...]) -> None:
        self.name, self.cpus, self.closed = spec.name, cpus, False

    def limits(self) -> dict[str, str]:
        return {self.name: str(ResourceLimits(self.cpus))} if self.cpus else {}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RoundFixture]:
    monkeypatch.setattr(module, "Client", Recorded)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    yield RoundFixture(tmp_path, Inputs(tmp_path))


def bind(fixture: RoundFixture, *cpus: int) -> None:
    """Have one of two components of the system run on these CPUs alone."""
    launches = [SimpleNamespace(limits=ResourceLimits(bound)) for bound in (cpus, ())]
    running = {str(number): SimpleNamespace(launch=launch) for number, launch in enumerate(launches)}
    fixture._environment = SimpleNamespace(running=running)  # type: ignore[assignment]  # all that is asked of an environment here


def test_a_client_runs_where_no_component_is_bound_and_the_manifest_says_so(fixture: RoundFixture) -> None:
    bind(fixture, 0)
    assert fixture.client(SPEC).cpus == (1, 2)
    assert fixture.limits == {"shop": "on CPU 1, 2"}


def test_a_client_may_run_anywhere_where_no_component_is_bound(fixture: RoundFixture) -> None:
    bind(fixture)
    assert fixture.client(SPEC).cpus == ()
    assert fixture.limits == {}


def test_a_client_stays_up_until_other_cpus_are_spare(fixture: RoundFixture) -> None:
    bind(fixture, 0)
    first = fixture.client(SPEC)
    assert fixture.client(SPEC) is first
    bind(fixture, 0, 1)
    second = fixture.client(SPEC)
    assert (first.closed, second.cpus) == (True, (2,))  # type: ignore[attr-defined]  # of the class above


class Kept(Environment):
    """An environment in which nothing runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.closed = False

    def change(self, topology: Topology, links: Sequence[Link] = (), tracing: Tracing | None = None) -> None: ...

    def close(self) -> None:
        self.closed = True
        super().close()


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr(module, "Environment", Kept)
    return NamedSystem(name="target")


def test_an_environment_in_which_a_fault_could_not_be_undone_is_closed_and_the_next_round_gets_another(
    fixture: RoundFixture, system: System
) -> None:
    first = fixture.environment(system)
    assert fixture.environment(system) is first
    first.spoil("a frozen process could not be woken")
    second = fixture.environment(system)
    assert (second is first, first.closed, second.closed) == (False, True, False)  # type: ignore[attr-defined]  # of the class above
    assert not second.tainted


def test_a_fixture_that_is_left_closes_its_environment_and_every_client_though_one_fails(
    fixture: RoundFixture, system: System
) -> None:
    with fixture:
        environment, broken, client = (
            fixture.environment(system),
            fixture.client(ClientSpec("broken", ("x",))),
            fixture.client(SPEC),
        )
        broken.close = lambda: 1 / 0  # type: ignore[method-assign,assignment]
    assert (environment.closed, client.closed) == (True, True)  # type: ignore[attr-defined]  # of the classes above


def test_a_client_that_is_dropped_is_closed_and_a_new_one_takes_its_place(fixture: RoundFixture) -> None:
    first = fixture.client(SPEC)
    fixture.warmed()
    fixture.drop_client(SPEC.name)
    second = fixture.client(SPEC)
    assert (first.closed, second is first, fixture.cold) == (True, False, {client_named(SPEC.name)})  # type: ignore[attr-defined]  # of the class above


class Watched(Kept):
    """An environment in which nothing runs, which is seen to work as long as it is told to."""

    work = NOTHING
    done: list[str]

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.done = []

    def reset(self) -> list[str]:
        self.done.append("reset")
        return []

    def still_doing(self) -> Work:
        self.done.append("waited")
        return self.work


@pytest.fixture
def watched(system: System, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr(module, "Environment", Watched)
    return system


def test_a_round_waits_for_what_the_one_before_left_behind_and_resets_what_came_of_it(
    fixture: RoundFixture, watched: System
) -> None:
    environment = fixture.environment(watched)
    assert environment.done == ["reset"]  # type: ignore[attr-defined]  # of the class above
    assert fixture.reset_seconds == 0
    fixture.unfinished = "the last 3 attempts of the round before got no answer in time"
    fixture.environment(watched)
    assert environment.done == ["reset", "reset", "waited", "reset"]  # type: ignore[attr-defined]  # as above
    assert fixture.reset_seconds > 0, "the wait is in the journal"
    assert fixture.still_busy == ""
    fixture.environment(watched)
    assert environment.done[-2:] == ["reset", "reset"], "the round between was answered"  # type: ignore[attr-defined]  # as above


def test_what_is_still_done_after_the_wait_is_told_of_this_round_alone(
    fixture: RoundFixture, watched: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture.environment(watched)
    monkeypatch.setattr(Watched, "work", Work(0.9, 2))
    fixture.unfinished = "the round before failed"
    fixture.environment(watched)
    told = (
        "the round before failed, and before this one it kept 0.9 CPUs busy and had 2 requests whose callers had left"
    )
    assert fixture.still_busy == told
    fixture.environment(watched)
    assert fixture.still_busy == ""


def test_of_a_service_that_runs_elsewhere_no_one_can_tell_whether_it_is_done(
    fixture: RoundFixture, watched: System
) -> None:
    elsewhere = UrlSystem.model_validate({"url": "http://127.0.0.1:1"})
    fixture.environment(elsewhere)
    assert fixture.still_busy == ""
    fixture.unfinished = "the last 3 attempts of the round before got no answer in time"
    environment = fixture.environment(elsewhere)
    assert fixture.still_busy.endswith(" in time, and whether the service was done with them can't be seen from here")
    assert "waited" not in environment.done  # type: ignore[attr-defined]  # of the class above


class Drowned(Watched):
    """An environment of which a number of resets get no answer, and what could not be reset is started anew."""

    failing = 2

    def change(self, topology: Topology, links: Sequence[Link] = (), tracing: Tracing | None = None) -> None:
        self.done.append("changed")
        self.host.started = [Start("shop", "its reset failed", 1.0)] if "failed" in self.done else []

    def reset(self) -> list[str]:
        if self.done.count("failed") < self.failing:
            self.done.append("failed")
            raise StartError("shop could not be reset: no whole answer within 30 s")
        return super().reset()

    @property
    def running(self) -> Mapping[str, RunningComponent]:
        """Two components, of which only their number is asked."""
        return {"shop-1": cast("RunningComponent", None), "shop-2": cast("RunningComponent", None)}

    def accounts(self) -> dict[str, str]:
        return {}

    images = limits = accounts


@pytest.fixture
def drowned(watched: System, monkeypatch: pytest.MonkeyPatch) -> System:
    monkeypatch.setattr(module, "Environment", Drowned)
    return watched


def test_what_is_too_busy_with_the_round_before_to_be_reset_is_started_anew(
    fixture: RoundFixture, drowned: System
) -> None:
    fixture.unfinished = "the last 9 attempts of the round before got no answer in time"
    environment = fixture.environment(drowned)
    again = ["failed", "changed"]
    assert environment.done == ["changed", *again, *again, "reset", "waited", "reset"]  # type: ignore[attr-defined]  # of the class above
    assert fixture.cold == {"shop"}
    assert [start.component for start in fixture.started] == ["shop", "shop"]


@pytest.mark.parametrize(("failing", "unfinished"), [(1, ""), (3, "the round before was not answered")])
def test_a_reset_that_fails_of_a_system_that_is_idle_or_again_and_again_is_an_error(
    failing: int, unfinished: str, fixture: RoundFixture, drowned: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Drowned, "failing", failing)
    fixture.unfinished = unfinished
    with pytest.raises(StartError, match="shop could not be reset"):
        fixture.environment(drowned)
