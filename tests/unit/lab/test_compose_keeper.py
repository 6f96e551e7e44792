"""The keeper of a Compose project says it is up once it answers, and what its containers cost counts as the run's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab.containers import keeper
from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.printed import PrintedProject
from patternbench.lab.containers.states import Changed, ContainerState
from patternbench.lab.host import contained
from patternbench.lab.host.contained import contained as announced


class Followed:
    """A process whose output ends after two lines; keeps what was done with it."""

    stdout = (b"start\n", b"die\n")

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def wait(self, _: float) -> None:
        self.done.append("waited")

    def terminate(self) -> None:
        self.done.append("terminated")


class Project:
    """A project of two containers of one service, of which one ends after the second event."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.looks = 0

    def check(self) -> PrintedProject:
        return PrintedProject(services={})

    def up(self, _: PrintedProject, within_s: int) -> list[ContainerState]:
        self.done.append(f"up within {within_s}")
        return [ContainerState("web", "1", "running"), ContainerState("web", "2", "running")]

    def addresses(self, _: Sequence[ContainerState]) -> dict[str, list[str]]:
        return {"web": ["127.0.0.1:1234", "127.0.0.1:1235"], "api": ["127.0.0.1:1236"]}

    def changed(self, _: Sequence[ContainerState]) -> Changed:
        self.looks += 1
        return Changed("service web ended with code 3" if self.looks == 2 else "", ("service job ended with code 0",))

    def logs(self) -> Followed:
        return Followed(self.done)

    def events(self, _: int) -> Followed:
        return Followed(self.done)


@pytest.mark.parametrize(
    ("path", "requested"),
    [
        (
            "/ready",
            ["http://127.0.0.1:1234/ready"] * 2 + ["http://127.0.0.1:1234/ready", "http://127.0.0.1:1235/ready"],
        ),
        ("", []),
    ],
)
def test_a_project_is_announced_once_every_container_of_its_first_service_answers(
    path: str, requested: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, urls, paused = Project(), list[str](), list[float]()

    def answers(url: str) -> bool:
        urls.append(url)
        assert "ready" not in capsys.readouterr().out, "it was announced before it answered"
        return len(urls) > 2

    monkeypatch.setattr(keeper, "answers", answers)
    monkeypatch.setattr(keeper.time, "sleep", paused.append)
    kept: Any = project
    with pytest.raises(ProjectFailed, match="service web ended with code 3"):
        keeper.keep(kept, path, 30)
    assert urls == requested
    stated = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert stated[0] == {
        "ready": True,
        "web": "127.0.0.1:1234",
        "api": "127.0.0.1:1236",
        "also": ["127.0.0.1:1235"],
        "counters": [],
    }
    assert stated[1:] == [{"note": "service job ended with code 0"}], "once, however many events follow"
    assert project.done == ["up within 30", "terminated", "waited", "terminated", "waited"]


def test_what_containers_cost_is_read_from_their_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "cpuacct" / "docker" / "a", tmp_path / "unified" / "docker" / "b"
    for folder, file, text in ((old, "cpuacct.usage", "2500000000\n"), (new, "cpu.stat", "usage_usec 500000\nx 1\n")):
        folder.mkdir(parents=True)
        (folder / file).write_text(text)
    for pid, group in ((1, "3:cpuacct,cpu:/docker/a\n2:pids:/docker/a\n"), (2, "0::/docker/b\n"), (3, "0::/\n")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(group)
    mounts = (f"{tmp_path}/cpuacct rw - cgroup cgroup rw,cpuacct,cpu", f"{tmp_path}/unified rw - cgroup2 x rw")
    (tmp_path / "mountinfo").write_text("".join(f"1 2 0:1 / {mount}\n" for mount in mounts))
    monkeypatch.setattr(contained, "PROC", tmp_path)
    monkeypatch.setattr(contained, "MOUNTS", tmp_path / "mountinfo")
    counters = contained.counters_of([1, 2, 3, 0, 99], ())
    assert len(counters) == 2
    assert announced({"counters": counters}).cpu_seconds() == pytest.approx(3.0)
    (old / "cpuacct.usage").unlink()
    assert announced({"counters": counters}).cpu_seconds() == pytest.approx(0.5), (
        "a container that is gone costs nothing"
    )


def test_only_whole_lines_of_a_component_are_notes() -> None:
    text = '{"note": "a"}\nplain\n{"note": 3}\n{"other": "b"}\n{broken\n'
    assert list(contained.notes(text)) == ["a"]
