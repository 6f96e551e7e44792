"""The two services whose overloads may not end, as systems: up, asked, flushed, changed, reset, and down again."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from tests.support.brought_up import brought_up

from patternbench.lab import systems, topologies
from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import FaultSetup
from patternbench.lab.faults.acting import act_of
from patternbench.lab.faults.cache import CacheConnection
from patternbench.study.faults import Fault

ITEMS = 50
SETTINGS: Mapping[str, object] = {"items": ITEMS, "lookups": 3, "pool": 5, "web_threads": 10}
FLUSH = Fault.model_validate({"flush": {}, "where": "cache", "when": {"for": "1s"}})

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def items() -> Iterator[Environment]:
    """Items in MariaDB with a cache, up; skips where the machine lacks what it needs."""
    with tempfile.TemporaryDirectory(prefix="pb-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as a user of its own, who must reach it
        with brought_up("items", SETTINGS, folder) as up:
            yield up


def changed(up: Environment, **settings: object) -> set[str]:
    """Change settings as for the next round; returns what was started."""
    up.change(topologies.of_file(systems.load("items"), {**SETTINGS, **settings}))
    return {start.component for start in up.started}


def keys(up: Environment) -> int:
    with CacheConnection("cache", up.running["cache"].url) as cache:
        (count,) = cache.asked(["DBSIZE"])
    assert isinstance(count, bytes)
    return int(count)


def test_it_begins_with_all_items_in_its_cache_and_refills_it_after_a_flush(items: Environment) -> None:
    changed(items)
    items.reset()
    assert keys(items) == ITEMS
    act = act_of(FLUSH, "flush", FaultSetup(items, time.monotonic_ns))
    act.begin()
    assert act.end()[1] == {"keys": ITEMS}
    assert keys(items) == 0
    answers = [httpx.get(f"{items.endpoint}/items/7", timeout=30) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert {answer.text for answer in answers} == {'{"id":7,"name":"Item 7","related":33}'}
    assert keys(items) == 1
    assert "items" in items.reset()
    assert keys(items) == ITEMS


def test_its_options_change_while_it_runs(items: Environment) -> None:
    assert changed(items, timeout="2s", single_flight=True, waiting=20, ttl="20s") == set()
    options = httpx.get(f"{items.running['items'].endpoints['admin']}/actuator/options", timeout=30).json()
    assert (options["singleFlight"], options["waiting"], options["lookups"]) == (True, 20, 3)
    assert changed(items) == set()


def test_it_runs_on_postgres_without_a_cache_and_keeps_notes(items: Environment) -> None:
    assert changed(items, database="postgres", cache="none") == {"db", "items"}
    note = httpx.post(f"{items.endpoint}/items/7/notes", json={"text": "fine tea"}, timeout=30)
    assert (note.status_code, set(note.json())) == (201, {"id"})
    assert httpx.get(f"{items.endpoint}/items/7", timeout=30).json()["related"] == 33
    assert changed(items, database="postgres", cache="none") == set()
    assert set(items.reset()) == {"db", "items"}
    assert httpx.get(f"{items.endpoint}/items/7", timeout=30).status_code == 200, "items outlast a reset"


def test_the_service_of_the_heap_works(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {"heap": "128MiB", "pairs": 1000, "held": "1ms"}
    with brought_up("heap", settings, tmp_path_factory.mktemp("heap")) as up:
        answer = httpx.get(f"{up.endpoint}/work", timeout=30)
        assert (answer.status_code, answer.json()) == (200, {"sum": 499_500})
