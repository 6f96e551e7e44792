"""What the engine of its containers is told when a service is restarted, disconnected, or loses packets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab.containers import service as services
from patternbench.lab.containers import states
from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed
from patternbench.lab.containers.link_proxies import PlacedProxy, ProxiedLinks
from patternbench.lab.containers.network import ContainerNetwork
from patternbench.lab.containers.service import FaultedServices, ProjectService
from patternbench.lab.containers.states import Attachment, ContainerState
from patternbench.lab.faults import in_containers
from patternbench.lab.faults.in_containers import DisconnectedService, InstanceCrash, LossyLink
from patternbench.lab.faults.kinds.restart import RestartAct
from patternbench.lab.host.processes import StartError

FRONT = Attachment("front", "10.0.0.1", aliases=("web", "www"))
BACK = Attachment("back", "10.1.0.1", fixed="10.1.0.1")
WEB = ContainerState("web", "w", "running", pid=7, attachments=(FRONT, BACK), grace_s=2)
STORE = ContainerState("store", "s", "running", pid=8, attachments=(Attachment("back", "10.1.0.2"),))


class Engine:
    """An engine that keeps what it is told, and whose containers are as a test says; time passes by pauses."""

    def __init__(self, there: Sequence[ContainerState]) -> None:
        self.there = list(there)
        self.told: list[list[str]] = []
        self.deeds: dict[str, Callable[[], None]] = {}
        self.now = 0.0

    def asked(self, words: Sequence[str], *_: object) -> str:
        self.told.append(list(words[1:]))
        self.deeds.get(words[1], lambda: None)()
        return ""

    def becomes(self, **state: Any) -> None:
        self.there[0] = replace(self.there[0], **state)

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    found = Engine([WEB, STORE])
    monkeypatch.setattr(services, "asked", found.asked)
    monkeypatch.setattr(states, "states", lambda *_: list(found.there))
    return found


def web_of(engine: Engine, folder: Path, service: str = "web") -> ProjectService:
    known = ContainerEngine(("docker", "compose"), "docker")
    return ProjectService(known, "shop", service, folder, 5.0, lambda: engine.now, engine.passes)


def test_a_service_that_ends_when_it_is_asked_to_is_started_again_without_force(engine: Engine, tmp_path: Path) -> None:
    engine.becomes(stop_signal="SIGQUIT")
    engine.deeds = {
        "kill": lambda: engine.becomes(status="exited"),
        "start": lambda: engine.becomes(status="running"),
    }
    web = web_of(engine, tmp_path)
    web.ask_to_end()
    assert FaultedServices.read(tmp_path).now == ("web",)
    web.end_and_start()
    assert engine.told == [["kill", "--signal", "SIGQUIT", "w"], ["start", "w"]]
    assert FaultedServices.read(tmp_path) == FaultedServices(now=(), ever=("web",))


def test_a_service_that_does_not_end_in_its_time_is_killed(engine: Engine, tmp_path: Path) -> None:
    killed = []
    engine.deeds = {
        "kill": lambda: engine.becomes(status="exited") if killed else killed.append(1),
        "start": lambda: engine.becomes(status="running"),
    }
    web = web_of(engine, tmp_path)
    web.ask_to_end()
    web.end_and_start()
    assert engine.told == [["kill", "--signal", "SIGTERM", "w"], ["kill", "w"], ["start", "w"]]
    assert 2 < engine.now < 2.5, "its time to end, as its file says"


def test_a_service_that_does_not_come_up_again_is_told(engine: Engine, tmp_path: Path) -> None:
    engine.deeds = {"kill": lambda: engine.becomes(status="exited")}
    web = web_of(engine, tmp_path)
    web.ask_to_end()
    with pytest.raises(ProjectFailed, match="service web is not up within 5 s"):
        web.end_and_start()


def test_a_service_is_taken_off_all_its_networks_and_comes_back_with_its_names_and_address(
    engine: Engine, tmp_path: Path
) -> None:
    web = web_of(engine, tmp_path)
    before = web.connected()
    web.disconnect(before)
    engine.becomes(attachments=())
    web.connect(before)
    assert engine.told == [
        ["network", "disconnect", "front", "w"],
        ["network", "disconnect", "back", "w"],
        ["network", "connect", "--alias", "web", "--alias", "www", "front", "w"],
        ["network", "connect", "--ip", "10.1.0.1", "back", "w"],
    ]
    assert FaultedServices.read(tmp_path).now == ()


def test_a_network_that_it_was_not_taken_off_is_not_connected_again(engine: Engine, tmp_path: Path) -> None:
    web = web_of(engine, tmp_path)
    before = web.connected()
    engine.becomes(attachments=(BACK,))
    web.connect(before)
    assert [words[-2] for words in engine.told] == ["front"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"attachments": ()}, "service web is in no network of its own"),
        ({"free_ports": ("80/tcp",)}, "port 80/tcp of service web would be published at another port"),
        ({"status": "exited"}, "service web is exited, not running"),
    ],
)
def test_a_service_that_could_not_come_back_as_it_was_is_not_disconnected(
    engine: Engine, tmp_path: Path, state: dict[str, Any], words: str
) -> None:
    engine.becomes(**state)
    setup: Any = None
    with pytest.raises(StartError, match=words):
        DisconnectedService(web_of(engine, tmp_path), setup, "shop").begin()
    assert engine.told == []


def test_a_fault_has_ended_when_the_proxies_on_links_stand_again(engine: Engine, tmp_path: Path) -> None:
    place = PlacedProxy(link="web:store", container="w", started="", addresses=("10.1.0.2",), admin="tcp://a")
    ProxiedLinks(links=("web:store",)).write(tmp_path)
    web = web_of(engine, tmp_path)
    with pytest.raises(ProjectFailed, match=r"no fault proxy is on the link web:store again within 10 s"):
        web.await_links()
    began = engine.now
    ProxiedLinks(links=("web:store",), places=(place,)).write(tmp_path)
    web.await_links()
    assert engine.now == began
    ProxiedLinks().write(tmp_path)
    engine.there[1] = replace(STORE, attachments=())
    web.await_links()
    assert engine.now == began, "nobody waits where no link has a proxy"


class FaultSetup:
    """Where a fault acts, on a clock that counts its readings."""

    readings = 0

    def clock(self) -> int:
        self.readings += 1
        return self.readings


class Network(ContainerNetwork):
    """The network of a container that keeps its rules, and has dropped three packets."""

    written: list[tuple[str, Sequence[str]]]
    gone: set[str]

    @property
    def is_there(self) -> bool:
        return self.service not in self.gone

    def write(self, rules: Sequence[str]) -> None:
        self.written.append((self.service, rules))

    def dropped(self, chain: str) -> int:
        return 3


@pytest.fixture
def lossy(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LossyLink:
    monkeypatch.setattr(Network, "written", [], raising=False)
    monkeypatch.setattr(Network, "gone", set(), raising=False)
    monkeypatch.setattr(in_containers, "network_of", lambda one: Network(one.service, one.pid))
    setup: Any = FaultSetup()
    return LossyLink((web_of(engine, tmp_path), web_of(engine, tmp_path, "store")), 5, "c", setup)


def test_each_end_of_a_link_loses_what_arrives_from_the_other(lossy: LossyLink) -> None:
    assert lossy.begin() == 1
    sources = [(at, [rule.split()[3] for rule in rules if " -s " in rule]) for at, rules in Network.written]
    assert sources == [("web", ["10.1.0.2"]), ("store", ["10.0.0.1", "10.1.0.1"])]
    assert lossy.end() == (2, {"packets": 6})
    assert [at for at, rules in Network.written if "-X c" in rules] == ["store", "web"]


def test_a_service_that_was_started_anew_while_it_lost_packets_is_told_and_the_other_end_is_undone(
    lossy: LossyLink,
) -> None:
    lossy.begin()
    Network.gone = {"store"}
    with pytest.raises(StartError, match="service store was restarted, and has lost no packets since then"):
        lossy.end()
    assert [at for at, rules in Network.written if "-X c" in rules] == ["web"]
    assert lossy.end()[1] == {"packets": 0}, "what is undone is not undone twice"


class Restartable:
    """What takes its time to end and start: until a test lets it."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.done: list[str] = []

    def ask(self) -> None:
        self._does("ask")

    def again(self) -> None:
        self._does("again")

    def _does(self, what: str) -> None:
        if self.fails == what:
            raise StartError("broken")
        self.done.append(what)


def test_a_restart_is_over_when_the_component_is_up_however_long_its_window_is() -> None:
    setup: Any = FaultSetup()
    restarted = Restartable()
    act = RestartAct(restarted, setup)
    assert act.begin() == 1
    assert act.end() == (2, {})
    assert restarted.done == ["ask", "again"]
    assert act.end() == (2, {}), "the moment at which it was up"


def test_a_restart_that_was_refused_has_nothing_to_undo_and_one_that_fails_says_so() -> None:
    setup: Any = FaultSetup()
    refused, failing = RestartAct(Restartable("ask"), setup), RestartAct(Restartable("again"), setup)
    with pytest.raises(StartError, match="broken"):
        refused.begin()
    refused.end()
    failing.begin()
    with pytest.raises(StartError, match="broken"):
        failing.end()


class KilledService:
    """A service that is killed, and fails on the way if it is told to."""

    service = "web"

    def __init__(self, done: list[str], fails: bool = False) -> None:
        self.done, self.fails = done, fails

    def kill(self) -> None:
        self.done.append("kill")
        if self.fails:
            raise ProjectFailed("the engine is gone")


class Expecting:
    """A system that takes note of what is to go down, and starts it again."""

    def __init__(self, done: list[str]) -> None:
        self.done, self.restarted = done, list[str]()

    def expect_down(self, name: str) -> None:
        self.done.append(f"expect {name} to go")

    def restart(self, name: str) -> None:
        self.done.append(f"restart {name}")


def crash_in(done: list[str], fails: bool = False) -> InstanceCrash:
    site: Any = FaultSetup()
    site.environment = Expecting(done)
    service: Any = KilledService(done, fails)
    return InstanceCrash(service, site)


def test_a_container_that_a_fault_kills_is_known_to_go_before_it_goes_so_that_the_round_counts() -> None:
    done: list[str] = []
    crash = crash_in(done)
    assert (crash.begin(), crash.end()) == (1, (2, {}))
    assert done == ["expect web to go", "kill", "restart web"]


def test_a_crash_that_the_engine_refuses_says_so() -> None:
    with pytest.raises(StartError, match="the engine is gone"):
        crash_in([], fails=True).begin()


def test_what_an_engine_says_of_networks_and_of_the_end_of_a_container_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {
        "Id": "1",
        "State": {"Status": "running"},
        "Config": {"Labels": {"com.docker.compose.service": "web"}, "StopSignal": "SIGINT", "StopTimeout": 1},
        "NetworkSettings": {
            "Networks": {
                "n": {"IPAddress": "10.0.0.1", "GlobalIPv6Address": "", "Aliases": ["web"], "IPAMConfig": None},
                "m": {"IPAddress": "10.1.0.1", "Aliases": None, "IPAMConfig": {"IPv4Address": "10.1.0.1"}},
                "o": {"IPAddress": "", "IPAMConfig": {}},
            }
        },
    }
    plain = {"Id": "2", "State": {"Status": "running"}, "Config": {"StopSignal": 15, "StopTimeout": None}}
    monkeypatch.setattr(states, "_inspected", lambda *_: json.dumps([printed, plain]))
    other, web = states.states(ContainerEngine(("docker",), "docker"), "shop")
    assert (web.stop_signal, web.grace_s, web.addresses) == ("SIGINT", 1, ("10.0.0.1", "10.1.0.1"))
    assert web.attachments[0] == Attachment("n", "10.0.0.1", "", ("web",))
    assert web.attachments[1].fixed == "10.1.0.1"
    assert (other.stop_signal, other.grace_s, other.attachments) == ("15", 10, ())


@pytest.mark.parametrize("refusals", [1, 3])
def test_a_container_that_does_not_come_to_a_stand_at_once_is_frozen_again(
    engine: Engine, tmp_path: Path, refusals: int
) -> None:
    left = iter([True] * refusals + [False])

    def pause() -> None:
        if next(left):
            raise ProjectFailed("`docker pause` ended with code 1: unable to freeze")
        engine.becomes(status="paused")

    engine.deeds = {"pause": pause}
    web = web_of(engine, tmp_path)
    if refusals == 1:
        web.freeze()
    else:
        with pytest.raises(ProjectFailed, match="unable to freeze"):
            web.freeze()
    assert engine.told == [["pause", "w"]] * min(refusals + 1, 3)
    assert FaultedServices.read(tmp_path).now == ("web",)
