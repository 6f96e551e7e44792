"""Faults on links between services of a Compose project: which there are, where their proxies stand, by which rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.lab.test_compose import shop

from patternbench.lab import startable, topologies
from patternbench.lab.containers import network
from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.link_proxies import InnerLink, LinkProxies, PlacedProxy, ProxiedLinks, inner
from patternbench.lab.containers.network import MARK, ContainerNetwork, losing, network_of, redirecting, without
from patternbench.lab.containers.states import Attachment, ContainerState
from patternbench.lab.faults import links
from patternbench.lab.faults.act import FaultSetup
from patternbench.lab.topologies import proxied, proxy_name
from patternbench.lab.topology import Link
from patternbench.study.faults import Fault

WAY = "shop.web -> shop.store"
THERE = Link("shop.web", "shop.store", inside=True)
BACK = Link("shop.store", "shop.web", inside=True)


def fault(kind: str = "delay", where: str = WAY, **settings: Any) -> Fault:
    chosen = {"delay": {"percentage": 100, "duration": "5ms"}, "loss": {"percentage": 5}}.get(kind, {})
    return Fault.model_validate({kind: {**chosen, **settings}, "where": where})


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("delay", [THERE]), ("partition", [THERE, BACK]), ("refuse", [THERE]), ("loss", [])],
)
def test_a_fault_between_services_needs_a_proxy_where_it_acts_on_connections(
    tmp_path: Path, kind: str, expected: list[Link]
) -> None:
    topology = topologies.of_file(shop(tmp_path), {})
    assert links.needed([fault(kind)], topology) == expected
    assert list(links.problems([fault(kind)], topology)) == []


def test_the_link_of_two_faults_has_one_proxy(tmp_path: Path) -> None:
    topology = topologies.of_file(shop(tmp_path), {})
    both = [fault("delay"), fault("abort", percentage=5), fault("stall", "front -> shop", percentage=5)]
    assert links.needed(both, topology) == [Link("front", "shop"), THERE]


@pytest.mark.parametrize(
    ("acting", "message"),
    [
        (fault("delay", "front -> shop.store"), "a fault at a service's link acts between two services"),
        (fault("delay", "shop.web -> front"), "a fault at a service's link acts between two services"),
        (fault("loss", "front -> shop"), "loss acts on packets between two services"),
        (fault("loss", "edge"), "loss acts on packets between two services"),
    ],
)
def test_a_link_that_leads_out_of_a_project_is_refused_with_what_is_allowed(
    tmp_path: Path, acting: Fault, message: str
) -> None:
    (problem,) = links.problems([acting], topologies.of_file(shop(tmp_path), {}))
    assert problem.message == f"{message} of a Compose project"
    assert problem.allowed == "`shop.SERVICE -> shop.SERVICE`"


def test_a_system_without_a_project_has_no_packets_to_lose() -> None:
    url = topologies.of_url("http://127.0.0.1:1", {})
    (problem,) = links.problems([fault("loss", "edge")], url)
    assert problem.allowed == "a link between two services of a Compose project, and this system has none"


def test_the_keeper_of_a_project_is_told_which_links_have_a_proxy(tmp_path: Path) -> None:
    topology = topologies.of_file(shop(tmp_path), {})
    with_proxies = {launch.name: launch for launch in proxied(topology, [THERE, BACK]).launches}
    plain = {launch.name: launch for launch in topology.launches}
    more = with_proxies["shop"].command[len(plain["shop"].command) :]
    assert more == ("--link", "web:store", "--link", "store:web")
    assert with_proxies["front"] == plain["front"]
    assert InnerLink.parse(more[1]) == inner(THERE) == InnerLink("web", "store")


def test_a_fault_is_ordered_from_the_proxy_in_each_container_of_the_caller() -> None:
    opened: list[tuple[str, str]] = []

    class Environment:
        links = (THERE, BACK, Link("front", "shop"))

        def proxies(self, link: Link) -> list[str]:
            return [f"tcp://{link.consumer}:1", f"tcp://{link.consumer}:2"]

    class Recorded(FaultSetup):
        def _admin(self, name: str, url: str) -> Any:
            opened.append((name, url))
            return name

    environment: Any = Environment()
    Recorded(environment, lambda: 0).proxies(fault("delay"))
    assert opened == [(proxy_name(THERE), "tcp://shop.web:1"), (proxy_name(THERE), "tcp://shop.web:2")]
    opened.clear()
    Recorded(environment, lambda: 0).proxies(fault("partition"))
    assert [url for _, url in opened] == [f"tcp://shop.{end}:{number}" for end in ("web", "store") for number in (1, 2)]


RULE = f"-A c -d 10.0.0.2 -p tcp -m mark ! --mark {MARK:#x}"


def test_connections_are_redirected_but_for_the_proxys_own_and_older_ones_are_reset() -> None:
    assert redirecting("c", ["10.0.0.2"], 77, first=True) == [
        "*nat",
        ":c - [0:0]",
        f"{RULE} -j REDIRECT --to-ports 77",
        "-I OUTPUT -j c",
        "COMMIT",
        "*filter",
        ":c - [0:0]",
        f"{RULE} -m conntrack --ctdir ORIGINAL -j REJECT --reject-with tcp-reset",
        "-I OUTPUT -j c",
        "COMMIT",
    ]


def test_rules_that_are_replaced_are_not_hooked_in_twice() -> None:
    assert not [line for line in redirecting("c", ["10.0.0.2"], 77, first=False) if line.startswith("-I")]


@pytest.mark.parametrize(
    ("percentage", "written"), [(5, "0.0500000000"), (100, "1.0000000000"), (0.01, "0.0001000000")]
)
def test_a_share_of_the_packets_that_arrive_is_lost_and_the_rules_are_taken_away(
    percentage: float, written: str
) -> None:
    rule = f"-A c -s 10.0.0.2 -m statistic --mode random --probability {written} -j DROP"
    assert losing("c", ["10.0.0.2"], percentage) == ["*filter", ":c - [0:0]", rule, "-I INPUT -j c", "COMMIT"]
    assert without("c", "INPUT", "filter") == ["*filter", "-D INPUT -j c", "-F c", "-X c", "COMMIT"]


def test_the_packets_that_a_chain_has_dropped_are_counted_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = "\n".join(
        [
            "*filter",
            ":c - [0:0]",
            "[7:420] -A INPUT -j c",
            "[3:180] -A c -s 10.0.0.2/32 -m statistic --mode random --probability 0.05 -j DROP",
            "[4:240] -A c -s 10.0.0.3/32 -m statistic --mode random --probability 0.05 -j DROP",
            "[9:540] -A cc -s 10.0.0.3/32 -j DROP",
            "COMMIT",
        ]
    )
    monkeypatch.setattr(network, "asked", lambda words, given="": saved)
    assert ContainerNetwork("web", 7).dropped("c") == 7


WEB = ContainerState("web", "w1", "running", pid=7, started="1", attachments=(Attachment("n", "10.0.0.1"),))
STORE = ContainerState("store", "s1", "running", pid=8, started="1", attachments=(Attachment("n", "10.0.0.2"),))
LINK = InnerLink("web", "store")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Processes of containers on a machine where all that is needed is there."""
    there = (("self", "/", "1"), ("7", "/docker/w1", "2"), ("8", "/docker/other", "3"), ("9", "/x", "1"))
    for name, group, net in there:
        (tmp_path / name / "ns").mkdir(parents=True)
        (tmp_path / name / "cgroup").write_text(f"0::{group}\n")
        (tmp_path / name / "ns" / "net").symlink_to(f"net:[{net}]")
    monkeypatch.setattr(network, "PROC", tmp_path)
    monkeypatch.setattr(network.os, "geteuid", lambda: 0)
    monkeypatch.setattr(network, "_program", lambda name: f"/usr/sbin/{name}")
    return tmp_path


def test_the_network_of_a_container_is_entered_by_its_process(machine: Path) -> None:
    assert network_of(WEB) == ContainerNetwork("web", 7)
    assert network_of(WEB).file == str(machine / "7" / "ns" / "net")


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (replace(WEB, status="exited"), "service web is exited, not running"),
        (STORE, "the processes of service store are not on this machine"),
        (replace(WEB, pid=4711), "the processes of service web are not on this machine"),
        (replace(WEB, id="x", pid=9), "service web has the network of this machine (`network_mode: host`)"),
    ],
)
def test_a_network_that_is_not_a_containers_own_here_is_refused_by_name(
    machine: Path, one: ContainerState, words: str
) -> None:
    with pytest.raises(ProjectFailed) as refused:
        network_of(one)
    assert words in str(refused.value)


def test_who_is_not_root_is_told_so_before_anything_starts(
    machine: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = shop(tmp_path_factory.mktemp("shop"))
    asked = [fault("delay", "front -> shop"), fault("delay"), fault("crash", "shop.web")]
    assert startable.network_problems(system, asked) == []
    monkeypatch.setattr(network.os, "geteuid", lambda: 1000)
    (problem,) = startable.network_problems(system, asked)
    assert problem.path == "faults[1].where"
    assert "only root can enter" in problem.message


def test_a_missing_program_is_told_by_its_package(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_program", lambda name: None if name.startswith("iptables") else name)
    assert network.lacking() == "faults on links between containers need iptables: install it"


class Ended:
    """A process that is over, or not."""

    over: int | None = None

    def poll(self) -> int | None:
        return self.over


@dataclass
class FakeProxy:
    """A proxy that notes which addresses it gets."""

    link: InnerLink
    caller: ContainerState
    redirected: list[tuple[str, ...]]
    addresses: tuple[str, ...] = ()
    ended: bool = False
    process: Ended = field(default_factory=Ended)

    def redirect(self, called: tuple[str, ...]) -> None:
        self.addresses = called
        self.redirected.append(called)

    @property
    def place(self) -> PlacedProxy:
        at = f"tcp://{self.caller.id}"
        known = (self.caller.id, self.caller.started, self.addresses)
        return PlacedProxy(link=str(self.link), container=known[0], started=known[1], addresses=known[2], admin=at)

    def end(self) -> None:
        self.ended = True


class Started:
    """Starts proxies, and keeps them; one in a container of ``failing`` can't be."""

    def __init__(self) -> None:
        self.proxies: list[FakeProxy] = []
        self.failing: set[str] = set()

    def __call__(self, link: InnerLink, caller: ContainerState) -> Any:
        if caller.id in self.failing:
            raise ProjectFailed(f"{caller.id} can't be entered")
        self.proxies.append(FakeProxy(link, caller, []))
        return self.proxies[-1]


def test_every_container_of_the_caller_has_a_proxy_before_each_address_of_the_called(tmp_path: Path) -> None:
    started, other = Started(), replace(WEB, id="w2", pid=9)
    second = replace(STORE, id="s2", attachments=(Attachment("n", "10.0.0.3"), Attachment("m", "10.1.0.3")))
    proxies = LinkProxies([LINK], tmp_path, started)
    for _ in range(2):
        proxies.place([WEB, other, STORE, second])
    proxies.check_ends([WEB, other, STORE, second])
    every = ("10.0.0.2", "10.0.0.3", "10.1.0.3")
    assert [(one.caller, one.redirected) for one in started.proxies] == [(WEB, [every]), (other, [every])]
    assert ProxiedLinks.read(tmp_path).admins(LINK) == ["tcp://w1", "tcp://w2"]
    assert ProxiedLinks.read(tmp_path).admins(InnerLink("store", "web")) == []


def test_a_container_that_was_started_anew_gets_a_proxy_of_its_own_and_one_elsewhere_new_rules(tmp_path: Path) -> None:
    started, again = Started(), replace(WEB, started="2", pid=9)
    proxies = LinkProxies([LINK], tmp_path, started)
    proxies.place([WEB, STORE])
    assert ProxiedLinks.read(tmp_path).lacking([WEB, STORE]) == []
    assert ProxiedLinks.read(tmp_path).lacking([again, STORE]) == ["web:store"]
    proxies.place([replace(WEB, status="exited"), STORE])
    assert started.proxies[0].ended
    proxies.place([again, STORE])
    moved = replace(STORE, attachments=(Attachment("n", "10.0.0.9"),))
    proxies.place([again, replace(STORE, attachments=())])
    assert ProxiedLinks.read(tmp_path).lacking([again, moved]) == ["web:store"]
    proxies.place([again, moved])
    assert [one.redirected for one in started.proxies] == [[("10.0.0.2",)], [("10.0.0.2",), ("10.0.0.9",)]]
    assert ProxiedLinks.read(tmp_path).lacking([again, moved]) == []


def test_a_caller_that_runs_before_the_called_waits_for_its_addresses(tmp_path: Path) -> None:
    started = Started()
    proxies = LinkProxies([LINK], tmp_path, started)
    proxies.place([WEB, replace(STORE, status="created", attachments=())])
    assert started.proxies == []
    proxies.place([WEB, STORE])
    assert len(started.proxies) == 1


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ([WEB], "the project has no service `store`; it has web"),
        ([STORE], "the project has no service `web`; it has store"),
        ([WEB, replace(STORE, status="exited")], "service store is exited, so no fault can be on a link of it"),
        ([WEB, replace(STORE, attachments=())], "service store is in no network of its own"),
        ([WEB, replace(STORE, attachments=(Attachment("n", "10.0.0.2", "fd00::2"),))], "has an IPv6 address"),
        ([replace(WEB, id="shut"), STORE], "shut can't be entered"),
    ],
)
def test_a_link_on_which_no_proxy_can_stand_is_told_with_why(
    tmp_path: Path, there: Sequence[ContainerState], words: str
) -> None:
    started = Started()
    started.failing = {"shut"}
    proxies = LinkProxies([LINK], tmp_path, started)
    proxies.place(there)
    with pytest.raises(ProjectFailed) as refused:
        proxies.check_ends(there)
    assert words in str(refused.value)


def test_what_failed_because_its_container_was_just_ending_is_forgotten_at_the_next_look(tmp_path: Path) -> None:
    started = Started()
    started.failing = {"w1"}
    proxies = LinkProxies([LINK], tmp_path, started)
    proxies.place([WEB, STORE])
    assert proxies.wrong
    started.failing.clear()
    proxies.place([WEB, STORE])
    assert proxies.wrong == ""


def test_a_proxy_that_has_ended_is_told(tmp_path: Path) -> None:
    started = Started()
    proxies = LinkProxies([LINK], tmp_path, started)
    proxies.place([WEB, STORE])
    proxies.check_proxies()
    started.proxies[0].process.over = 1
    with pytest.raises(ProjectFailed, match="a fault proxy on a link between services has ended"):
        proxies.check_proxies()
    proxies.end()
    assert started.proxies[0].ended


def test_the_name_of_a_chain_is_one_that_the_kernel_takes() -> None:
    long = InnerLink("a" * 60, "b" * 60)
    assert len(long.chain) <= 28
    assert long.chain != InnerLink("b" * 60, "a" * 60).chain
