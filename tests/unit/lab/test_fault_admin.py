"""What a fault proxy answers becomes a value of its own type, or an error that names the proxy."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from patternbench.lab.faults.admin import Admin, Delays, ProxyCounters
from patternbench.lab.faults.by_proxy import ProxyFault
from patternbench.lab.host.processes import StartError

Proxy = Callable[[object], Admin]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A connection to what answers one order with a text, whatever it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections: list[socket.socket] = []

        def answering(answer: object) -> Admin:
            def serve() -> None:
                connection, _ = server.accept()
                connections.append(connection)
                connection.recv(4096)
                connection.sendall(json.dumps(answer).encode() + b"\n")

            threading.Thread(target=serve, daemon=True).start()
            return Admin("fault_proxy_1", f"tcp://127.0.0.1:{server.getsockname()[1]}")

        yield answering
        for connection in connections:
            connection.close()


@pytest.mark.parametrize("answer", [{"error": "no fault"}, {"deeds": {"requests": 1}}, {"at_ns": 7}, [1], None])
def test_an_answer_that_does_not_tell_when_and_what_names_the_proxy(proxy: Proxy, answer: object) -> None:
    with closing(proxy(answer)) as admin, pytest.raises(StartError, match="fault_proxy_1 refused an order"):
        admin.end("delay")


def test_the_deeds_of_proxies_add_up_and_the_latest_release_counts(proxy: Proxy) -> None:
    early = proxy({"at_ns": 5, "deeds": {"requests": 2, "late": {"mean_ns": 4000, "max_ns": 9000}}})
    late = proxy({"at_ns": 8, "deeds": {"requests": 3, "late": None}})
    with closing(early), closing(late):
        assert ProxyFault("delay", {}, [early, late]).end() == (
            8,
            {"requests": 5, "late_mean_us": 4.0, "late_max_us": 9.0},
        )


def test_what_a_fault_did_at_a_proxy_is_a_value(proxy: Proxy) -> None:
    with closing(proxy({"at_ns": 5, "deeds": {"requests": 2, "late": {"mean_ns": 4, "max_ns": 9}}})) as admin:
        assert admin.end("delay") == (5, ProxyCounters(requests=2, late=Delays(mean_ns=4, max_ns=9)))
