"""The keeper of a Compose project says it is up once it answers, and what its containers cost counts as the run's."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.unit.lab.test_compose import shop as shop_of

from patternbench.lab import topologies
from patternbench.lab.containers import keeper
from patternbench.lab.containers.engine import ProjectFailed, asked
from patternbench.lab.containers.link_proxies import LinkProxies
from patternbench.lab.containers.printed import PrintedProject
from patternbench.lab.containers.settings import ProjectSettings
from patternbench.lab.containers.states import ContainerState, ProjectChange
from patternbench.lab.host import contained
from patternbench.lab.host.contained import contained as announced


class Followed:
    """A process whose output has a line whenever it is told so, until it is closed; keeps what was done with it."""

    def __init__(self, done: list[str]) -> None:
        self.done = done
        hear, self.ring = os.pipe()
        self.stdout = os.fdopen(hear, "rb")

    def says(self, line: bytes) -> None:
        os.write(self.ring, line)

    def wait(self, _: float) -> None:
        self.done.append("waited")

    def terminate(self) -> None:
        self.done.append("terminated")


class Project:
    """A project of two containers of one service, of which one ends after the second event."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[str] = []
        self.looks = 0
        self.happening = Followed(self.done)

    def check(self) -> PrintedProject:
        return PrintedProject(services={})

    def up(self, _: PrintedProject, within_s: int, seen: object) -> list[ContainerState]:
        self.done.append(f"up within {within_s}")
        return [ContainerState("web", "1", "running"), ContainerState("web", "2", "running")]

    def addresses(self, _: Sequence[ContainerState]) -> dict[str, list[str]]:
        return {"web": ["127.0.0.1:1234", "127.0.0.1:1235"], "api": ["127.0.0.1:1236"]}

    def changed(self, _: Sequence[ContainerState]) -> ProjectChange:
        self.looks += 1
        self.happening.says(b"die\n")
        return ProjectChange(
            "service web ended with code 3" if self.looks == 2 else "", ("service job ended with code 0",)
        )

    def logs(self) -> Followed:
        return Followed(self.done)

    def events(self, _: int) -> Followed:
        self.happening.says(b"start\n")
        return self.happening


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
    path: str,
    requested: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project, urls, paused = Project(tmp_path), list[str](), list[float]()

    def answers(url: str) -> bool:
        urls.append(url)
        assert "ready" not in capsys.readouterr().out, "it was announced before it answered"
        return len(urls) > 2

    monkeypatch.setattr(keeper, "answers", answers)
    monkeypatch.setattr(keeper.time, "sleep", paused.append)
    kept: Any = project
    with pytest.raises(ProjectFailed, match="service web ended with code 3"):
        keeper.keep(kept, LinkProxies([], tmp_path), path, 30, os.pipe()[0])
    assert urls == requested
    stated = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert stated[0] == {
        "ready": True,
        "web": "127.0.0.1:1234",
        "api": "127.0.0.1:1236",
        "also": ["127.0.0.1:1235"],
        "counters": [],
        "meters": [],
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


def group(folder: Path, **files: str) -> None:
    """A control group's folder with the kernel's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with containers in control groups of an older kernel (process 1) and of version 2 (process 2)."""
    group(tmp_path / "cpu,cpuacct/docker/a", cpuacct__usage="2500000000\n", cpu__stat="throttled_time 1500000000\n")
    used = {"memory__usage_in_bytes": f"{9 * 1024**2}\n", "memory__stat": f"total_inactive_file {1024**2}\n"}
    group(tmp_path / "memory/docker/a", **used)
    both = {"cpu__stat": "usage_usec 500000\nthrottled_usec 250000\n", "memory__current": f"{3 * 1024**2}\n"}
    group(tmp_path / "unified/docker/b", **both, memory__stat=f"inactive_file {1024**2}\n")
    for pid, lines in ((1, "4:memory:/docker/a\n3:cpuacct,cpu:/docker/a\n"), (2, "0::/docker/b\n")):
        group(tmp_path / str(pid), cgroup=lines)
    mounts = [
        f"{tmp_path}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
        f"{tmp_path}/memory rw - cgroup cgroup rw,memory",
        f"{tmp_path}/unified rw - cgroup2 cgroup2 rw",
    ]
    (tmp_path / "mountinfo").write_text("".join(f"1 2 0:1 / {mount}\n" for mount in mounts))
    monkeypatch.setattr(contained, "PROC", tmp_path)
    monkeypatch.setattr(contained, "MOUNTS", tmp_path / "mountinfo")
    return tmp_path


@pytest.mark.parametrize(("pid", "expected"), [(1, (2.5, 1.5, 8.0)), (2, (0.5, 0.25, 2.0))])
def test_a_meter_reads_cpu_time_throttling_and_memory_without_the_copies_of_files(
    groups: Path, pid: int, expected: tuple[float, float, float]
) -> None:
    (read,) = keeper.meters([ContainerState("web", "1", "running", pid=pid)])
    use = announced({"meters": [read]}).meters[0].read()
    assert (use.cpu_s, use.throttled_s, use.memory_mib) == pytest.approx(expected)


def test_what_a_container_has_used_since_is_unknown_once_it_was_started_anew(groups: Path) -> None:
    meter = contained.meter_of("web", 2)
    before = meter.read()
    group(groups / "unified/docker/b", cpu__stat="usage_usec 900000\nthrottled_usec 350000\n")
    since = meter.read().since(before)
    assert (since.cpu_s, since.throttled_s) == pytest.approx((0.4, 0.1))
    (groups / "unified/docker/b/cpu.stat").rename(groups / "unified/docker/b/old")
    assert math.isnan(meter.read().cpu_s), "it is gone"
    group(groups / "unified/docker/b", cpu__stat="usage_usec 900000\n")
    assert math.isnan(meter.read().since(before).cpu_s)


def test_a_container_whose_group_is_not_known_has_unknown_use(groups: Path) -> None:
    assert keeper.meters([ContainerState("web", "1", "exited")]) == []
    assert math.isnan(contained.meter_of("web", 99).read().cpu_s)


def printed(**services: dict[str, object]) -> PrintedProject:
    return PrintedProject.model_validate({"services": services, "networks": {"n": {}}})


def test_only_services_that_read_a_changed_setting_are_changed() -> None:
    web: dict[str, object] = {"image": "web", "environment": {"LIMIT": "1"}, "deploy": {"replicas": 1}}
    before = printed(web=web, store={"image": "store"})
    for more in ({"environment": {"LIMIT": "2"}}, {"image": "web:2"}, {"deploy": {"replicas": 2}}):
        assert printed(web={**web, **more}, store={"image": "store"}).changed_since(before) == ["web"]
    assert printed(web=web, store={"image": "store"}).changed_since(before) == []


def test_more_than_services_having_changed_is_told_from_none() -> None:
    before = printed(web={"image": "web"})
    assert printed(web={"image": "web"}, store={"image": "store"}).changed_since(before) is None
    elsewhere = PrintedProject.model_validate({"services": {"web": {"image": "web"}}, "networks": {"m": {}}})
    assert elsewhere.changed_since(before) is None


def test_the_variables_of_a_project_are_those_that_were_written_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ProjectSettings.read(tmp_path) == ProjectSettings()
    (tmp_path / "settings.json").write_text('{"change": "3", "env": {"TAG": "v2"}}')
    monkeypatch.setenv("TAG", "v1")
    settings = ProjectSettings.read(tmp_path)
    settings.act()
    assert (settings.change, os.environ["TAG"]) == (3, "v2")


def test_the_command_of_a_project_is_one_that_its_keeper_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = (
        "file: ../compose.yaml, services: {web: 80, db: 5432}, profiles: [a, b], ready: /up, within: 7s, grace: 3s"
    )
    (shop,) = [one for one in topologies.of_file(shop_of(tmp_path, settings), {}).launches if one.name == "shop"]
    monkeypatch.setattr(sys, "argv", [keeper.__name__, *shop.command[3:], "--link", "web:db"])
    found = vars(keeper._arguments())
    assert Path(found.pop("file")).samefile(tmp_path / "compose.yaml")
    assert found == {
        "name": "shop",
        "folder": "${self.folder}",
        "service": ["web:80:${self.port.web}", "db:5432:${self.port.db}"],
        "profile": ["a", "b"],
        "link": ["web:db"],
        "ready": "/up",
        "within": 7,
        "grace": 3,
    }


@pytest.mark.parametrize("lacking", ["--name", "--folder", "--file", "--service", "--within"])
def test_a_keeper_starts_nothing_without_what_it_must_know(
    lacking: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"--name": "shop", "--folder": "/x", "--file": "c.yaml", "--service": "web:80:8080", "--within": "7"}
    given = [word for pair in words.items() if pair[0] != lacking for word in pair]
    monkeypatch.setattr(sys, "argv", ["keeper", *given])
    with pytest.raises(SystemExit) as refused:
        keeper.main()
    assert refused.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"the following arguments are required: {lacking}")


def ends_in_any_line(at: int, is_ended_before: bool) -> tuple[int, int]:
    """Keep nothing up, and get a signal to end at a line of the keeper; return its lines and how often it took down."""
    lines, down = 0, 0

    def take_down() -> None:
        nonlocal down
        down += 1

    def keep_up() -> None:
        if is_ended_before:
            os.kill(os.getpid(), signal.SIGTERM)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != keeper.__file__:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                os.kill(os.getpid(), signal.SIGTERM)
        return trace

    before, tracing = signal.getsignal(signal.SIGTERM), sys.gettrace()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.settrace(trace)
    try:
        keeper.kept_up(keep_up, take_down, "it")
    finally:
        sys.settrace(tracing)
        signal.signal(signal.SIGTERM, before)
    return lines, down


@pytest.mark.parametrize("is_ended_before", [False, True])
def test_a_signal_to_end_at_any_moment_takes_down_once(is_ended_before: bool) -> None:
    """A second one that came just before signals were ignored left the whole project."""
    lines, _ = ends_in_any_line(0, is_ended_before)
    assert lines > 5
    downs = {at: ends_in_any_line(at, is_ended_before)[1] for at in range(1, lines + 1)}
    assert downs == dict.fromkeys(downs, 1)


@pytest.mark.parametrize("ended", ["env --default-signal=TERM sh -c 'kill -TERM $$'", "exit 143"])
@pytest.mark.parametrize(("often", "code"), [(1, 0), (2, 1)])
def test_a_command_that_the_signal_to_end_reached_too_is_carried_out_again(
    ended: str, often: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands in Go heed the signal although it is ignored where they are started: a container was left."""
    downs = []

    def take_down() -> None:
        downs.append(1)
        if len(downs) <= often:
            asked(["sh", "-c", ended])

    before = signal.getsignal(signal.SIGTERM)
    try:
        left = keeper.kept_up(lambda: None, take_down, "it")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (bool(left), len(downs)) == (bool(code), 2)
    assert ("it could not be taken down: `" in capsys.readouterr().err) == bool(code)
