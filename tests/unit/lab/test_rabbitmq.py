"""The nodes of a RabbitMQ cluster: what they share, in which order they start, and which queues they make."""

from __future__ import annotations

import pytest

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.rabbitmq import NODE, RabbitMQ
from patternbench.lab.host import changes
from patternbench.lab.host.launch import Launch
from patternbench.lab.topology import in_order

NODES = ["queue-1", "queue-2", "queue-3"]
CLUSTER = ComponentRegistry(NODES, {"queue": NODES})


def node(name: str, queues: str = "classic") -> Launch:
    return RabbitMQ.model_validate({"queues": queues}).describe(name, CLUSTER)


def config(launch: Launch) -> str:
    return next(str(file.content) for file in launch.files if file.path == "rabbitmq.conf")


def test_a_single_node_knows_nothing_of_a_cluster() -> None:
    alone = RabbitMQ().describe("queue", ComponentRegistry(["queue"], {"queue": ["queue"]}))
    assert alone == RabbitMQ().describe("queue", ComponentRegistry())
    assert alone.env["RABBITMQ_NODENAME"] == NODE
    assert "cluster_formation" not in config(alone)
    assert alone.endpoints.keys() == {"management", "prometheus"}


@pytest.mark.parametrize("name", NODES[1:])
def test_a_node_joins_the_first_and_has_no_secret_of_its_own(name: str) -> None:
    launch = node(name)
    assert launch.secrets == ()
    assert f"nodes.1 = queue-1@localhost\ncluster_formation.classic_config.nodes.2 = {name}@localhost" in config(launch)
    assert "default_pass = ${queue-1.password}" in config(launch)
    assert launch.url == "amqp://patternbench:${queue-1.password}@127.0.0.1:${self.port.amqp}/"
    assert next(file.content for file in launch.files if file.path == ".erlang.cookie") == "${queue-1.cookie}"
    assert launch.env["ERL_EPMD_PORT"] == "${queue-1.names}"
    assert "names" not in launch.ports


def test_the_first_node_joins_no_one_and_tells_the_others_what_they_share() -> None:
    first = node("queue-1")
    assert "cluster_formation" not in config(first)
    assert {name: first.endpoints[name] for name in ("password", "cookie", "names")} == {
        "password": "${self.secret.password}",
        "cookie": "${self.secret.cookie}",
        "names": "${self.port.names}",
    }


def test_nodes_start_one_after_another() -> None:
    assert [launch.name for launch in in_order([node(name) for name in reversed(NODES)])] == NODES


def test_another_kind_of_queues_is_said_once_and_takes_a_new_start_as_queues_that_are_there_stay() -> None:
    said = [live for name in NODES for live in node(name, "quorum").live]
    assert said == list(node("queue-1", "quorum").live)
    assert node("queue-3", "quorum").url.endswith("/quorum"), "the virtual host whose queues are of that kind"
    classic, quorum = ([node(name, queues) for name in NODES] for queues in ("classic", "quorum"))
    assert changes.starts({launch.name: launch for launch in classic}, classic) == {}
    assert list(changes.starts({launch.name: launch for launch in classic}, quorum)) == NODES
