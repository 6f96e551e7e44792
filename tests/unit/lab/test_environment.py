"""A system that is up, as a run asks of it, on a host that is made up: where load goes, who is down, what is kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patternbench.lab import environment
from patternbench.lab.environment import Environment
from patternbench.lab.host import stored, unfinished
from patternbench.lab.host.changes import Start
from patternbench.lab.host.contained import NOTHING_CONTAINED, ComponentContainers, ContainerMeter
from patternbench.lab.host.launch import FaultAdmin, FreshStart, Launch, OwnContainer
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import Port
from patternbench.lab.host.unfinished import Work
from patternbench.lab.topology import Link, Topology


def launch(name: str, kind: str = "process", **fields: Any) -> Launch:
    return Launch(kind, name, ("true",), Port("http"), url=f"http://{name}", **fields)


@dataclass
class Running:
    """A component that is up, as far as an environment looks at it."""

    declared: Launch
    url: str
    folder: Path
    number: int
    endpoints: Mapping[str, str] = field(default_factory=dict)
    contained: ComponentContainers = NOTHING_CONTAINED
    told: list[str] = field(default_factory=list)

    @property
    def launch(self) -> Launch:
        return self.declared

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.number,)

    @property
    def account(self) -> str:
        return f"user of {self.declared.name}"

    def new_notes(self) -> list[str]:
        told, self.told = self.told, []
        return told


class MadeUpHost:
    """A host that starts nothing, and notes what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, Any] = {}
        self.started: list[Start] = []
        self.asked: list[tuple[object, ...]] = []
        self.gone: list[str] = []

    def change(self, launches: Sequence[Launch], restarts: Mapping[str, str]) -> None:
        self.asked.append(("change", dict(restarts)))
        for number, one in enumerate(launches, 1000):
            self.running[one.name] = Running(one, f"http://127.0.0.1:{number}", self.folder / one.name, number)

    def reset(self, but: Collection[str]) -> list[str]:
        self.asked.append(("reset", sorted(but)))
        return [name for name in self.running if name not in but]

    def dead(self, but: Collection[str] = ()) -> list[str]:
        return [f"{name} ended" for name in self.gone if name not in but]

    def finish(self, name: str) -> None:
        self.asked.append(("finish", name))

    def restart(self, name: str) -> None:
        self.asked.append(("restart", name))

    def close(self) -> None:
        self.asked.append(("close",))


ADMINS = (FaultAdmin("envoy", "admin"), FaultAdmin("proxy", "p"))
TOPOLOGY = Topology(
    (
        launch("db", reset=None, offers=("truncate", "restart"), ports={"sql": 3306}),
        launch("shop-1", reset=(), ports={"http": 8001}, faults=ADMINS),
        launch("shop-2", reset=(FreshStart(),), ports={"http": 8002}, user="ann"),
        launch("spans", kind="otlp_receiver"),
        launch("edge", log="decisions", container=OwnContainer("nginx:1")),
    ),
    ("edge", "shop-1"),
    ("http://elsewhere",),
    {"shop": ("shop-1", "shop-2"), "gone": ("nobody",)},
)


@pytest.fixture
def host(tmp_path: Path) -> MadeUpHost:
    return MadeUpHost(tmp_path)


@pytest.fixture
def up(host: MadeUpHost, tmp_path: Path) -> Environment:
    made: Any = host
    up = Environment(tmp_path, made)
    up.change(TOPOLOGY)
    host.running["shop-1"].endpoints = {"admin": "http://127.0.0.1:9", "p": "http://127.0.0.1:8"}
    return up


def test_load_goes_to_the_endpoints_in_their_order_and_then_to_what_runs_elsewhere(up: Environment) -> None:
    assert up.targets == ["http://127.0.0.1:1004", "http://127.0.0.1:1001", "http://elsewhere"]
    assert up.endpoint == up.targets[0]
    assert up.endpoints() == {
        "system": "http://127.0.0.1:1004",
        "db": "http://127.0.0.1:1000",
        "shop-1": "http://127.0.0.1:1001",
        "shop-1.admin": "http://127.0.0.1:9",
        "shop-1.p": "http://127.0.0.1:8",
        "shop-2": "http://127.0.0.1:1002",
        "spans": "http://127.0.0.1:1003",
        "edge": "http://127.0.0.1:1004",
    }


def test_what_must_be_new_in_every_round_is_restarted_for_the_next_one(up: Environment, host: MadeUpHost) -> None:
    ((_, restarts),) = host.asked
    assert restarts == {
        "db": "its system keeps a log, and nothing else resets it",
        "shop-2": "its reset is a restart",
        "spans": "its system keeps a log, and nothing else resets it",
        "edge": "its log belongs to one round",
    }


def test_several_containers_are_several_places_of_an_endpoint_and_none_of_what_others_call(
    up: Environment, host: MadeUpHost
) -> None:
    class WithContainers(MadeUpHost):
        def change(self, launches: Sequence[Launch], restarts: Mapping[str, str]) -> None:
            super().change(launches, restarts)
            self.running[self.several].contained = ComponentContainers(also=("127.0.0.1:5001", "127.0.0.1:5002"))

        several = "edge"

    of_edge: Any = WithContainers(host.folder)
    again = Environment(host.folder, of_edge)
    again.change(TOPOLOGY)
    assert again.targets[:3] == ["http://127.0.0.1:1004", "http://127.0.0.1:5001", "http://127.0.0.1:5002"]
    of_edge.several = "db"
    with pytest.raises(StartError, match="the first service of db has 3 containers, and what calls it reaches one"):
        Environment(host.folder, of_edge).change(TOPOLOGY)


def test_processes_are_those_of_components_and_of_entries_that_have_any(up: Environment) -> None:
    assert up.processes() == {
        "shop": (1001, 1002),
        "db": (1000,),
        "shop-1": (1001,),
        "shop-2": (1002,),
        "spans": (1003,),
        "edge": (1004,),
    }


def test_containers_are_listed_by_their_project_and_by_their_service(up: Environment, host: MadeUpHost) -> None:
    web, store = (ContainerMeter(name, "cpu", "cpu", "memory") for name in ("web", "store"))
    host.running["db"].contained = ComponentContainers(meters=(web, store))
    assert up.containers() == {"db": [web, store], "db.web": [web], "db.store": [store]}


def test_a_component_that_ends_on_purpose_is_not_dead_until_it_is_restarted(up: Environment, host: MadeUpHost) -> None:
    host.gone = ["db", "shop-1"]
    up.expect_down("db")
    assert up.dead() == ["shop-1 ended"]
    up.restart("db")
    assert (host.asked[-1], up.restarted) == (("restart", "db"), ["db"])
    assert up.dead() == ["db ended", "shop-1 ended"]
    up.expect_down("db")
    up.change(TOPOLOGY)
    assert up.restarted == [] and "db ended" in up.dead(), "the next round begins with all of them up"


def test_what_spoils_a_system_is_told_with_the_dead_and_keeps_it_from_other_rounds(up: Environment) -> None:
    assert not up.tainted
    up.spoil("a frozen process could not be woken")
    assert up.tainted and up.dead() == ["a frozen process could not be woken"]


def test_what_was_just_started_is_neither_reset_nor_carries_anything_over(up: Environment, host: MadeUpHost) -> None:
    assert up.carried_over() == {"db": ("truncate", "restart")}
    host.started = [Start("db", "it was not up", 1.0)]
    assert "db" not in up.reset() and host.asked[-1] == ("reset", ["db"])
    assert up.carried_over() == {}


def test_the_bytes_are_those_of_what_nothing_resets_without_what_only_watches(
    up: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"db": 7, "shop-1": 8, "shop-2": 9, "spans": 10, "edge": None}
    monkeypatch.setattr(stored, "bytes_of", lambda running: sizes[running.declared.name])
    assert up.stored_bytes() == {"db": 7, "shop-1": 8}, "one that has nothing to reset is looked at all the same"


def test_work_that_is_left_is_that_of_what_stayed_up_without_what_only_watches(
    up: Environment, host: MadeUpHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[set[int], set[int]]] = []

    def seen(pids: set[int], ports: set[int]) -> Work:
        looked.append((pids, ports))
        return Work(0.0, 0)

    monkeypatch.setattr(unfinished, "seen", seen)
    host.started = [Start("shop-1", "", 1.0), Start("edge", "", 1.0)]
    assert up.still_doing() == Work(0.0, 0)
    assert looked == [({1000, 1002}, {3306, 8002})]
    host.started = [Start(name, "", 1.0) for name in host.running]
    assert up.still_doing() == unfinished.NOTHING and len(looked) == 1


def test_notes_are_told_once_and_only_of_who_has_any(up: Environment, host: MadeUpHost) -> None:
    host.running["db"].told = ["a container ended"]
    assert up.notes() == {"db": ["a container ended"]}
    assert up.notes() == {}


def test_logs_of_a_round_are_whole_once_their_writers_have_ended(up: Environment, host: MadeUpHost) -> None:
    folder = host.running["edge"].folder / "decisions"
    (folder / "within").mkdir(parents=True)
    for name in ("b.tsv", "a.tsv"):
        (folder / name).touch()
    assert up.finished_logs() == {"edge": [folder / "a.tsv", folder / "b.tsv"]}
    assert [one for one in host.asked if one[0] == "finish"] == [("finish", "edge")]


def test_who_a_component_runs_as_and_its_image_are_told_where_it_has_its_own(
    up: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.images, "identity", lambda image: f"hash of {image}")
    assert up.accounts() == {"shop-2": "user of shop-2"}
    assert up.images() == {"edge": "nginx:1 hash of nginx:1"}
    monkeypatch.setattr(environment.images, "identity", lambda image: None)
    assert up.images() == {"edge": "nginx:1"}


def test_faults_are_told_to_those_who_take_them_by_their_protocol(up: Environment) -> None:
    assert up.fault_admins("envoy") == ["http://127.0.0.1:9"]
    assert up.fault_admins("proxy") == ["http://127.0.0.1:8"]
    assert up.fault_admins("other") == []
    assert up.own_answers() == 0, "without a fault proxy of Envoy's kind there are none"


def test_faults_need_someone_who_takes_them(up: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[str, int]] = []
    monkeypatch.setattr(environment.envoy, "inject", lambda _http, proxy, faults: taken.append((proxy, len(faults))))
    faults: Any = [SimpleNamespace()]
    up.inject([])
    with pytest.raises(StartError, match="the system has no fault proxy, so no fault can be injected"):
        up.inject(faults)
    assert taken == []
    monkeypatch.setattr(environment.envoy, "RUNTIME_PROTOCOL", "envoy")
    up.inject(faults)
    assert taken == [("http://127.0.0.1:9", 1)]


def test_the_proxy_of_a_link_is_asked_at_its_own_endpoint(up: Environment, host: MadeUpHost) -> None:
    link = Link("shop-1", "db")
    host.running["shop-1-to-db"] = SimpleNamespace(endpoints={"admin": "http://127.0.0.1:77"})
    assert up.proxies(link) == ["http://127.0.0.1:77"]


def test_leaving_takes_everything_down(host: MadeUpHost, tmp_path: Path) -> None:
    made: Any = host
    with Environment(tmp_path, made):
        pass
    assert host.asked == [("close",)]
