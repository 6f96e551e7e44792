"""Between rounds a system that keeps logs is as after a start, whatever of it stays up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.integration.lab.test_accounts import message
from tests.integration.lab.test_host import until
from tests.integration.lab.test_rate_limiting import LIMIT, SENT, requested

from patternbench.lab import systems, topologies
from patternbench.lab.environment import Environment
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
    assert up.reset() == ["redis"]
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
