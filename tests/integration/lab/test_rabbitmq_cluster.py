"""Three real nodes of RabbitMQ: one cluster with quorum queues, which goes on while one of them is dead."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.rabbitmq import RabbitMQ
from patternbench.lab.faults.family import kill
from patternbench.lab.host.local_host import LocalHost

NODES = ["queue-1", "queue-2", "queue-3"]
WITHIN_S = 60.0
ONE = {"properties": {"delivery_mode": 2}, "routing_key": "orders", "payload": "one", "payload_encoding": "string"}
TAKE = {"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalHost]:
    """Three nodes up, in a folder that every user can reach."""
    lacking = [need for need in RabbitMQ.needs() if not need.met]
    if lacking:
        pytest.skip(f"{lacking[0].name} is not installed: {lacking[0].how}")
    folder = Path(tempfile.mkdtemp(prefix="pb-cluster-"))
    folder.chmod(0o755)
    registry = ComponentRegistry(NODES, {"queue": NODES})
    try:
        with LocalHost(folder) as host:
            host.launch([RabbitMQ(queues="quorum").describe(name, registry) for name in NODES])
            yield host
    finally:
        shutil.rmtree(folder)


def asked(host: LocalHost, node: str, path: str, method: str = "GET", body: object = None) -> Any:
    answer = httpx.request(method, f"{host.running[node].endpoints['management']}/api/{path}", json=body, timeout=10)
    return answer.raise_for_status().json() if answer.content else None


def until(ask: Callable[[], object], expected: object) -> None:
    deadline = time.monotonic() + WITHIN_S
    while (found := ask()) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def running(host: LocalHost, node: str) -> list[str]:
    return sorted(one["name"] for one in asked(host, node, "nodes") if one["running"])


def copies(host: LocalHost) -> tuple[str, list[str]]:
    """The kind of the queue, and the nodes with a copy of it, of which the management hears a moment later."""
    queue = asked(host, "queue-2", "queues/quorum/orders")
    return queue["type"], sorted(queue.get("members", []))


def taken(host: LocalHost, node: str) -> list[str]:
    """The messages of the queue, which stay in it; none while its nodes have not agreed on who leads it."""
    found = httpx.post(f"{host.running[node].endpoints['management']}/api/queues/quorum/orders/get", json=TAKE)
    return [message["payload"] for message in found.json()] if found.is_success else []


def test_a_message_outlives_the_node_that_took_it_and_the_node_comes_back(cluster: LocalHost) -> None:
    everyone = [f"{name}@localhost" for name in NODES]
    until(lambda: running(cluster, "queue-3"), everyone)
    asked(cluster, "queue-1", "queues/quorum/orders", "PUT", {"durable": True})
    until(lambda: copies(cluster), ("quorum", everyone))
    assert asked(cluster, "queue-1", "exchanges/quorum/amq.default/publish", "POST", ONE) == {"routed": True}

    kill(cluster.running["queue-1"].process)
    until(lambda: running(cluster, "queue-2"), everyone[1:])
    until(lambda: taken(cluster, "queue-2"), ["one"])

    cluster.restart("queue-1")
    until(lambda: running(cluster, "queue-2"), everyone)
    until(lambda: taken(cluster, "queue-1"), ["one"])
