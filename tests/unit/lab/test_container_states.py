"""What an engine says of containers, whatever it leaves out; and how often a project looks at them for its proxies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab.containers import states
from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed
from patternbench.lab.containers.limits import NO_LIMITS, ContainerLimits
from patternbench.lab.containers.project import ComposeProject
from patternbench.lab.containers.states import GRACE_S, STOP_SIGNAL, Attachment, ContainerState

ENGINE = ContainerEngine(("docker", "compose"), "docker")
LEAST = ContainerState(
    service="web",
    id="1",
    status="running",
    code=0,
    out_of_memory=False,
    health="",
    pid=0,
    started="",
    ports={},
    free_ports=(),
    limits=ContainerLimits(nano_cpus=0, quota_us=0, period_us=0, memory=0, with_swap=0),
    attachments=(),
    stop_signal="SIGTERM",
    grace_s=10,
)
"""A container of which nothing is known but that it runs."""


def printed(**more: Any) -> dict[str, Any]:
    """As little of a container as an engine prints."""
    return {"Id": "1", "Name": "/web", "State": {"Status": "Running"}, "Config": {}, **more}


def read(monkeypatch: pytest.MonkeyPatch, *containers: dict[str, Any]) -> list[ContainerState]:
    def asked(words: list[str]) -> str:
        return json.dumps(containers) if "inspect" in words else "1"

    monkeypatch.setattr(states, "asked", asked)
    return states.states(ENGINE, "shop")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"HostConfig": {}, "NetworkSettings": {}},
        {"HostConfig": {"PortBindings": None}, "NetworkSettings": {"Ports": None, "Networks": None}},
        {"NetworkSettings": {"Ports": {"80/tcp": None}}},
        {"Config": {"Labels": None, "StopSignal": "", "StopTimeout": None}},
        {"State": {"Status": "running", "Health": None}},
    ],
)
def test_what_an_engine_leaves_out_is_not_known_and_limits_nothing(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    assert read(monkeypatch, printed(**more)) == [LEAST]
    assert ContainerState("web", "1", "running") == LEAST
    assert (LEAST.limits, LEAST.stop_signal, LEAST.grace_s) == (NO_LIMITS, STOP_SIGNAL, GRACE_S)


def test_every_field_is_read_from_where_an_engine_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    network = {"IPAddress": "10.0.0.2", "GlobalIPv6Address": "fd::2", "Aliases": ["store"]}
    whole = printed(
        State={"Status": "exited", "ExitCode": 137, "OOMKilled": True, "Pid": 7, "StartedAt": "t"}
        | {"Health": {"Status": "Healthy"}},
        Config={"Labels": {states.SERVICE: "db"}, "StopSignal": 2, "StopTimeout": 0},
        NetworkSettings={
            "Ports": {"80/tcp": [{"HostPort": "8080"}], "81/tcp": None},
            "Networks": {"n": {**network, "IPAMConfig": {"IPv4Address": "10.0.0.2"}}, "m": {}},
        },
        HostConfig={
            "PortBindings": {
                "80/tcp": [{"HostPort": ""}],
                "81/tcp": [{"HostPort": "0"}],
                "82/tcp": [{"HostPort": "9"}],
            },
            **{"NanoCpus": 1, "CpuQuota": 2, "CpuPeriod": 3, "Memory": 4, "MemorySwap": 5},
        },
    )
    attached = (Attachment("n", "10.0.0.2", "fd::2", ("store",), "10.0.0.2"), Attachment("m", "", "", (), ""))
    assert read(monkeypatch, whole) == [
        ContainerState(
            *("db", "1", "exited", 137, True, "healthy", 7, "t"),
            *({"80/tcp": "8080"}, ("80/tcp", "81/tcp"), ContainerLimits(1, 2, 3, 4, 5), attached, "2", 0),
        )
    ]


def test_containers_are_in_the_order_of_their_services(monkeypatch: pytest.MonkeyPatch) -> None:
    read_so = read(monkeypatch, *(printed(Id=name[0], Name=name[1:]) for name in ("2/b", "3/a", "1/b")))
    assert [(one.service, one.id) for one in read_so] == [("a", "3"), ("b", "1"), ("b", "2")]


class Links:
    """Proxies on links of which the first looks find something wrong."""

    def __init__(self, *wrong: str) -> None:
        self.left, self.placed, self.wrong = list(wrong), list[list[ContainerState]](), ""

    def check_proxies(self) -> None:
        assert not self.placed, "before anything is placed"

    def place(self, there: list[ContainerState]) -> None:
        self.placed.append(there)
        self.wrong = self.left.pop(0) if self.left else ""


@pytest.mark.parametrize(("wrong", "looks"), [((), 1), (("ended",), 2)])
def test_proxies_are_placed_again_once_where_a_container_was_just_ending(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: tuple[str, ...], looks: int
) -> None:
    links: Any = Links(*wrong)
    seen = iter([[LEAST], [replace(LEAST, id="2")], []])
    monkeypatch.setattr(states, "states", lambda *_: next(seen))
    ComposeProject(ENGINE, "compose.yaml", "shop", {}, tmp_path).follow(links)
    assert links.placed == [[LEAST], [replace(LEAST, id="2")]][:looks], "each time as containers are then"


def test_proxies_that_cannot_be_placed_twice_running_end_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    links: Any = Links("first", "second", "third")
    monkeypatch.setattr(states, "states", lambda *_: [LEAST])
    with pytest.raises(ProjectFailed, match=r"^second$"):
        ComposeProject(ENGINE, "compose.yaml", "shop", {}, tmp_path).follow(links)
    assert len(links.placed) == 2
