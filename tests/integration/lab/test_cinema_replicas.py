"""The cinema with several gateways, brokers and nodes of RabbitMQ: lists come through all, and while one is dead."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from patternbench.lab import environment, startable, systems, topologies
from patternbench.lab.environment import Environment
from patternbench.lab.faults.family import kill

GATEWAYS: Mapping[str, object] = {
    "balancer": "envoy",
    "gateways": 2,
    "gateway_for": "each_kind",
    "breaker": False,
    "via": "direct",
}
BROKERS: Mapping[str, object] = {
    "architecture": "messaging",
    "balancer": "envoy",
    "brokers": 2,
    "queue_nodes": 3,
    "queue_type": "quorum",
    "fetch": "long_poll",
}
LIST = "/api/movie/list"
SETTLES_S = 60.0


@contextmanager
def started(levels: Mapping[str, object], folder: Path) -> Iterator[Environment]:
    system = systems.load("cinema")
    lacking = startable.needs_problems(system, {name: [value] for name, value in levels.items()})
    if lacking:
        pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
    with environment.named(system, levels, folder) as up:
        yield up


def cinemas(answer: httpx.Response) -> list[str]:
    return sorted(entry["cinemaName"] for entry in answer.raise_for_status().json())


def dead(up: Environment, client: httpx.Client, name: str) -> None:
    """Kill a component, and return once lists come in a row: what was on a connection that broke may be lost."""
    process = up.running[name].process
    kill(process)
    assert process.ended(SETTLES_S)
    deadline = time.monotonic() + SETTLES_S
    while not all(client.get(LIST).status_code == 200 for _ in range(4)):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_gateways_take_each_others_tokens_and_the_work_of_one_that_is_dead(tmp_path: Path) -> None:
    with started(GATEWAYS, tmp_path) as up, httpx.Client(base_url=up.endpoint, timeout=10) as client:
        up.change(topologies.of_file(systems.load("cinema"), {**GATEWAYS, "authentication": "gateway"}))
        assert client.get(LIST).status_code == 401
        client.headers["Authorization"] = f"Bearer {client.get('/token').json()['token']}"
        assert [len(cinemas(client.get(LIST))) for _ in range(4)] == [3] * 4

        names = client.get(f"/phone{LIST}").raise_for_status().json()[0]
        assert names.keys() == {"cinemaName", "movies"}
        assert all(isinstance(movie, str) for movie in names["movies"])

        dead(up, client, "gateway-1")
        assert [len(cinemas(client.get(LIST))) for _ in range(4)] == [3] * 4
        kill(up.running["gateway-2"].process)
        assert up.running["gateway-2"].process.ended(SETTLES_S)
        assert client.get(LIST).status_code == 503
        assert client.get(f"/phone{LIST}").status_code == 200


def asked(client: httpx.Client) -> str:
    answer = client.get(LIST)
    return answer.text if answer.status_code == 200 else ""


def listed(client: httpx.Client) -> str:
    """The id of a list that was asked for, once RabbitMQ takes messages."""
    deadline = time.monotonic() + SETTLES_S
    while not (one := asked(client)):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return one


def test_a_fetch_finds_its_broker_and_lists_come_while_a_broker_and_a_node_of_rabbitmq_are_dead(tmp_path: Path) -> None:
    with started(BROKERS, tmp_path) as up, httpx.Client(base_url=up.endpoint, timeout=10) as client:
        ids = [asked(client) for _ in range(4)]
        assert sorted(one[0] for one in ids) == ["1", "1", "2", "2"]
        assert [len(cinemas(client.get(f"{LIST}/{one}"))) for one in ids] == [3] * 4

        dead(up, client, "broker-1")
        assert [asked(client)[0] for _ in range(4)] == ["2"] * 4
        assert client.get(f"{LIST}/{ids[0]}" if ids[0][0] == "1" else f"{LIST}/{ids[1]}").status_code == 503

        kill(up.running["queue-1"].process)
        assert len(cinemas(client.get(f"{LIST}/{listed(client)}"))) == 3


def test_messages_are_taken_again_once_two_of_three_nodes_of_rabbitmq_are_back_to_agree_on_a_leader(
    tmp_path: Path,
) -> None:
    with started({**BROKERS, "brokers": 1}, tmp_path) as up, httpx.Client(base_url=up.endpoint, timeout=10) as client:
        assert listed(client)
        for name in ("queue-1", "queue-2"):
            kill(up.running[name].process)
            assert up.running[name].process.ended(SETTLES_S)
        assert [asked(client) for _ in range(4)] == [""] * 4, "one node of three can confirm nothing"
        up.restart("queue-2")
        assert len(cinemas(client.get(f"{LIST}/{listed(client)}"))) == 3
