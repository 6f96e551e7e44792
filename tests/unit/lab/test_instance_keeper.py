"""The keeper of one container: what it says, what it passes on, and that it leaves nothing behind."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab.containers import instance_keeper
from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.instance import Instance
from patternbench.lab.containers.instance_keeper import KeptInstance
from patternbench.lab.containers.keeper import ProjectEnded
from patternbench.lab.containers.service import FaultedServices
from patternbench.lab.containers.states import ContainerState
from patternbench.lab.host import contained

RUNS = ContainerState("shop", "1", "running", pid=4711)


class Ended:
    """A process of the engine that has nothing more to tell."""

    stdout = ()

    def wait(self, _: float | None = None) -> int:
        return 0

    def terminate(self) -> None:
        return None


class Kept(KeptInstance):
    """A container that is in these states, one after another; ``asked`` are the engine's commands."""

    def __init__(self, folder: Path, *later: list[ContainerState]) -> None:
        own = Instance(name="shop", folder=str(folder), image="shop", user="1:1", grace_s=3)
        super().__init__(own, "docker")
        self.later = list(later)

    def states(self) -> list[ContainerState]:
        return self.later.pop(0) if len(self.later) > 1 else self.later[0]

    def logs(self) -> Any:
        return Ended()

    def events(self, _: int) -> Any:
        return Ended()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    commands: list[list[str]] = []

    def ask(words: Sequence[str], *_: float, **__: bool) -> str:
        commands.append(list(words))
        return ""

    monkeypatch.setattr(instance_keeper, "asked", ask)
    return commands


def verbs(commands: list[list[str]]) -> list[str]:
    return [words[1] for words in commands]


def test_a_container_that_runs_is_announced_with_what_counts_it(
    tmp_path: Path, asked: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance_keeper, "_parent", lambda one: one.pid - 1)
    with pytest.raises(ProjectFailed, match="the container engine has ended"):
        instance_keeper.keep(Kept(tmp_path, [], [RUNS]), ["serve"])
    stated = json.loads(capsys.readouterr().out.splitlines()[0])
    assert stated["contained"] is True
    assert contained.contained(stated).parents == (4710,)
    assert verbs(asked) == ["run"]


def test_a_container_that_ends_at_once_is_not_announced_and_its_end_is_told(
    tmp_path: Path, asked: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    over = ContainerState("shop", "1", "exited", code=3)
    with pytest.raises(ProjectFailed, match="service shop ended with code 3"):
        instance_keeper.keep(Kept(tmp_path, [], [over]), ["serve"])
    assert capsys.readouterr().out == ""


def test_what_a_killed_run_has_left_is_removed_before_a_start_and_no_fault_has_it_in_its_hands(
    tmp_path: Path, asked: list[list[str]]
) -> None:
    FaultedServices().taking("shop").write(tmp_path)
    left = [ContainerState("shop", "1", "paused"), ContainerState("shop", "2", "exited", code=1)]
    Kept(tmp_path, left, [RUNS]).start(["serve"])
    assert asked[0] == ["docker", "unpause", "1"]
    assert asked[1] == ["docker", "stop", "--time", "0", "1"]
    assert asked[2] == ["docker", "rm", "--force", "--volumes", "1", "2"]
    assert verbs(asked)[3:] == ["run"]
    assert FaultedServices.read(tmp_path) == FaultedServices()


def test_a_container_gets_its_time_to_end(tmp_path: Path, asked: list[list[str]]) -> None:
    kept = Kept(tmp_path, [RUNS])
    kept.remove(kept.own.grace_s)
    assert asked == [["docker", "stop", "--time", "3", "1"], ["docker", "rm", "--force", "--volumes", "1"]]


def test_a_signal_is_passed_on_to_the_container(tmp_path: Path, asked: list[list[str]]) -> None:
    kept = Kept(tmp_path, [RUNS])
    kept.pass_on(signal.SIGHUP, None)
    assert asked == [["docker", "kill", "--signal", "SIGHUP", kept.own.project]]


def test_a_container_that_a_fault_pauses_is_as_it_was_and_one_that_someone_pauses_is_not(tmp_path: Path) -> None:
    paused = ContainerState("shop", "1", "paused", pid=4711)
    kept = Kept(tmp_path, [paused])
    assert kept.changed([RUNS]).broken == "service shop was paused by someone else than this run"
    FaultedServices().taking("shop").write(tmp_path)
    assert kept.changed([RUNS]).broken == ""


def test_a_command_is_carried_out_in_a_container_of_its_own_or_in_that_which_runs(tmp_path: Path) -> None:
    own = Instance(name="shop", folder="/own", image="shop", user="1:2", env=("A",), reads=("/cache",))
    once, inside = own.once("podman", ["make", "-k"]), own.inside("podman", ["make", "-k"])
    assert once[:4] == ["podman", "run", "--rm", "--interactive"]
    assert once[-2:] == ["shop", "-k"]
    assert "type=bind,source=/cache,target=/cache,readonly" in once
    assert inside == [
        *["podman", "exec", "--interactive", "--user", "1:2", "--workdir", "/own", "--env", "A"],
        *[own.project, "make", "-k"],
    ]


@pytest.mark.parametrize(("appears", "gone"), [(3, ["stop", "rm"]), (1000, [])])
def test_a_container_that_its_engine_makes_after_its_start_was_interrupted_is_removed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appears: int, gone: list[str]
) -> None:
    commands: list[list[str]] = []

    def ask(words: Sequence[str], *_: float) -> str:
        commands.append(list(words))
        if words[1] == "run":
            raise ProjectEnded
        return ""

    monkeypatch.setattr(instance_keeper, "asked", ask)
    now = [0.0]
    kept = Kept(tmp_path, *[list[ContainerState]()] * appears, [RUNS])
    kept._clock = lambda: now[0]
    kept._pause = lambda seconds: now.__setitem__(0, now[0] + seconds)
    with pytest.raises(ProjectEnded):
        kept.start(["serve"])
    kept.remove(0)
    assert verbs(commands) == ["run", *gone]
    assert (now[0] > instance_keeper.BORN_S) == (not gone)
