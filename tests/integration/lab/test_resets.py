"""Between rounds a system that keeps logs is as after a start, whatever of it stays up."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.integration.lab.test_accounts import message
from tests.integration.lab.test_host import until
from tests.integration.lab.test_rate_limiting import LIMIT, SENT, requested

from patternbench.lab import systems, topologies
from patternbench.lab.environment import Environment
from patternbench.lab.host import unfinished
from patternbench.lab.host.processes import StartError
from patternbench.lab.systems import FOLDER
from patternbench.lab.topology import Topology

SETTINGS = {"service_time": "fixed:1ms", "store_timeout": "1s", "when_store_fails": "closed", "window": "1h"}


@pytest.fixture
def up(folder: Path) -> Iterator[Environment]:
    with Environment(folder / "up") as one:
        yield one


def shop(folder: Path, **resets: str) -> Topology:
    """The shop behind two balancers, in which components say how they are reset."""
    text = (FOLDER / "shop-behind-two-balancers.yaml").read_text().replace("- redis: {", "- redis: {name: redis, ")
    for name, reset in resets.items():
        text = text.replace(f"{{name: {name}, ", f"{{name: {name}, reset: {reset}, ")
    (folder / "systems").mkdir(exist_ok=True)
    (folder / "systems" / "shop-behind-two-balancers.yaml").write_text(text)
    return topologies.of_file(systems.load("shop-behind-two-balancers", folder), SETTINGS | {"limit": LIMIT})


def processes(one: Environment) -> dict[str, int]:
    return {name: running.process.pid for name, running in one.running.items()}


def asked_redis(one: Environment, line: str) -> str:
    """What Redis answers to a line."""
    url = one.running["redis"].url
    return message(url, f"AUTH {urlsplit(url).password}", line)[1]


def next_round(one: Environment, topology: Topology) -> dict[str, str]:
    """What is started, and why, for a round after another one."""
    one.finished_logs()
    one.change(topology)
    return {start.component: start.why for start in one.started}


def test_what_says_nothing_is_restarted_for_every_round(up: Environment, folder: Path) -> None:
    topology = shop(folder)
    up.change(topology)
    assert requested(up) == {200: LIMIT, 429: SENT - LIMIT}
    before = processes(up)
    assert next_round(up, topology) == {
        "shop": "its system keeps a log, and nothing else resets it",
        "redis": "its system keeps a log, and nothing else resets it",
        "balancer-1": "its log belongs to one round",
        "balancer-2": "its log belongs to one round",
    }
    assert not set(before.values()) & set(processes(up).values())
    assert requested(up) == {200: LIMIT, 429: SENT - LIMIT}


def test_a_store_that_is_flushed_stays_up_and_each_round_begins_with_empty_counters(
    up: Environment, folder: Path
) -> None:
    topology = shop(folder, redis="flush", shop="none")
    up.change(topology)
    assert requested(up) == {200: LIMIT, 429: SENT - LIMIT}
    before = processes(up)
    assert next_round(up, topology).keys() == {"balancer-1", "balancer-2"}
    assert set(up.reset()) == {"redis", "shop"}
    assert asked_redis(up, "DBSIZE") == ":0"
    assert requested(up) == {200: LIMIT, 429: SENT - LIMIT}
    assert {name: processes(up)[name] for name in ("redis", "shop")} == {
        name: before[name] for name in ("redis", "shop")
    }


def test_a_flush_that_redis_refuses_is_reported(up: Environment, folder: Path) -> None:
    topology = shop(folder, redis="flush")
    up.change(topology)
    assert asked_redis(up, "CONFIG SET requirepass another") == "+OK"
    next_round(up, topology)
    with pytest.raises(StartError, match=r"redis could not be reset: redis-cli ended with code 1: .*(AUTH|WRONGPASS)"):
        up.reset()


def test_a_reload_keeps_what_a_balancer_has_counted_so_none_of_its_settings_is_live(
    up: Environment, folder: Path
) -> None:
    shop(folder)
    system = systems.load("shop-behind-two-balancers", folder)
    topology = topologies.of_file(system, SETTINGS | {"limit": LIMIT, "store": "memory"})
    assert not any(launch.live for launch in topology.launches)
    up.change(topology)
    assert requested(up) == {200: LIMIT, 429: SENT - LIMIT}
    for name in ("balancer-1", "balancer-2"):
        log = up.running[name].folder / "error.log"
        up.running[name].process.signal("SIGHUP")
        until(lambda log=log: "exited with code 0" in log.read_text())  # type: ignore[misc]
    assert requested(up) == {429: SENT}


@pytest.mark.parametrize(
    ("reset", "left"), [("", {"redis": ("flush",)}), (", reset: flush", {}), (", reset: none", {})]
)
def test_a_store_that_stays_up_and_says_no_reset_carries_over_what_rounds_leave_in_it(
    up: Environment, folder: Path, reset: str, left: dict[str, tuple[str, ...]]
) -> None:
    (folder / "systems").mkdir()
    system = "patternbench-system: 1\nname: own\nabout: a store and a target\ncomponents:\n  - target: {}\n"
    (folder / "systems" / "own.yaml").write_text(f"{system}  - redis: {{name: redis{reset}}}\nendpoint: target\n")
    topology = topologies.of_file(systems.load("own", folder), {})
    up.change(topology)
    assert up.carried_over() == {}, "it was just started"
    up.change(topology)
    assert up.carried_over() == left


def own(folder: Path, component: str) -> Topology:
    """A system of one component called shop."""
    (folder / "systems").mkdir()
    system = f"patternbench-system: 1\nname: own\nabout: a shop\ncomponents:\n  - {component}\nendpoint: shop\n"
    (folder / "systems" / "own.yaml").write_text(system)
    return topologies.of_file(systems.load("own", folder), {})


@contextmanager
def leaving(url: str, count: int) -> Iterator[list[socket.socket]]:
    """Callers who have asked and will leave without their answers, at the latest at the end."""
    place = urlsplit(url)
    callers = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(count)]
    for caller in callers:
        caller.sendall(b"GET /bytes/10 HTTP/1.1\r\nHost: shop\r\n\r\n")
    try:
        yield callers
    finally:
        for caller in callers:
            caller.close()


@pytest.mark.parametrize("reset", ["", ", reset: none"])
def test_the_target_begins_a_round_without_what_the_one_before_has_left_in_its_queue(
    up: Environment, folder: Path, reset: str
) -> None:
    topology = own(folder, f"target: {{name: shop, workers: 1, service_time: 'fixed:1h'{reset}}}")
    up.change(topology)
    stats = f"{up.endpoint}/stats"
    with leaving(up.endpoint, 5):
        until(lambda: httpx.get(stats).json()["received"] == 5)
    assert next_round(up, topology) == {}, "it stays up"
    now = httpx.get(stats).json()
    assert (now["serving"], now["waiting"]) == (1, 4), "it works for callers who have left"
    assert up.reset() == ["shop"]
    now = httpx.get(stats).json()
    assert (now["serving"], now["waiting"]) == (0, 0)
    assert httpx.get(f"{up.endpoint}/delay/1ms", timeout=10).is_success, "it serves at once"


SLOW = """
import http.server, os, pathlib, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        while not pathlib.Path(sys.argv[1]).exists():
            time.sleep(0.01)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
class Server(http.server.HTTPServer):
    request_queue_size = 100
Server(("127.0.0.1", int(os.environ["PORT"])), Slow).serve_forever()
"""


def test_a_service_that_no_one_can_empty_is_waited_for_until_it_has_read_all_requests_of_the_round_before(
    up: Environment, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "slow.py").write_text(SLOW)
    command = f"[{sys.executable}, '{folder}/slow.py', '{folder}/go']"
    topology = own(folder, f"process: {{name: shop, command: {command}, ready: {{port: http}}}}")
    up.change(topology)
    with leaving(up.endpoint, 4):
        pass
    up.change(topology)
    monkeypatch.setattr(unfinished, "WITHIN_S", 0.0)
    work = up.still_doing()
    assert (work.left, work.is_none) == (4, False), "one is being answered, three wait; nothing takes CPU time"
    (folder / "go").touch()
    monkeypatch.setattr(unfinished, "WITHIN_S", 60.0)
    assert up.still_doing().is_none
    assert unfinished.left_at(up.running["shop"].launch.ports.values()) == 0


def test_what_was_just_started_has_nothing_left_of_the_round_before(up: Environment, folder: Path) -> None:
    topology = own(folder, "target: {name: shop, workers: 1}")
    up.change(topology)
    assert up.still_doing() == unfinished.NOTHING
