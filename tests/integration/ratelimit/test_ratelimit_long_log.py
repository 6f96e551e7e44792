"""A log of many entries: no request may hold up all others, and no one is forgotten when its limit changes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import MariaDB, Nginx, Redis, balancer, eventually, get, limit, rules_of, running

ENTRIES = 60_000
FILL = """
local entries, value, at = tonumber(ARGV[1]), {}, tonumber(redis.call('TIME')[1]) * 1000000
value[1] = struct.pack('<dddd', 0, entries, entries, entries)
for i = 1, entries do value[i + 1] = struct.pack('<dd', at - entries + i, i) end
redis.call('SET', KEYS[1], table.concat(value), 'PX', 86400000)
"""
DAY = 86_400_000_000


@pytest.fixture(scope="module")
def stores(redis: Redis, mariadb: MariaDB) -> dict[str, Any]:
    return {"redis": redis.store(), "mariadb": mariadb.store()}


@pytest.fixture
def nginx(folder: Path, behind: Nginx, stores: dict[str, Any]) -> Iterator[Nginx]:
    costly = {"from": "header", "name": "X-Cost", "most": 50_000}
    shape = limit("sliding_window_log", store="redis", limit=ENTRIES, cost=costly, when_store_fails="closed")
    with running(nginx := balancer(folder, rules_of(shape, stores=stores), behind.port)):
        yield nginx


def calls(redis: Redis) -> int:
    found = re.findall(r"cmdstat_(?:getrange|setrange|get|set):calls=(\d+)", redis.ask("INFO", "commandstats"))
    return sum(int(number) for number in found)


def test_a_costly_request_reads_little_of_a_log_of_60000_entries(nginx: Nginx, redis: Redis) -> None:
    key = f"pb:{{header=long}}:per_client:sliding_window_log:{DAY}"
    redis.ask("EVAL", FILL, "1", key, str(ENTRIES))
    redis.ask("CONFIG", "RESETSTAT")
    for cost in ("1", "7", "30000", "49999", "50000"):
        rejected = get(nginx, "long", **{"X-Cost": cost})
        assert rejected.status_code == 429
        assert int(rejected.headers["Retry-After"]) > 86_000
    assert calls(redis) < 5 * 60
    assert nginx.metric("ratelimit_store_failures_total") == 0


def left(nginx: Nginx, policy: str) -> int:
    """Wait for the rules with this policy, as someone else; return what remains for ``alice`` after one more."""
    eventually(lambda: policy in get(nginx, "someone-else").headers["RateLimit-Policy"])
    return int(get(nginx).headers["RateLimit"].split("r=")[1].split(";")[0])


@pytest.mark.parametrize("store", ["memory", "redis", "mariadb"])
def test_a_changed_limit_of_a_log_forgets_no_one(
    folder: Path, behind: Nginx, stores: dict[str, Any], store: str
) -> None:
    def limited(units: int) -> dict[str, Any]:
        return rules_of(limit("sliding_window_log", name=f"log-{store}", store=store, limit=units), stores=stores)

    with running(nginx := balancer(folder, limited(10), behind.port, workers=1)):
        for taken, units in enumerate((10, 20, 3000, 12, 40, 4000, 2000), start=1):
            nginx.enforce(limited(units))
            assert left(nginx, f"q={units};") == units - taken


@pytest.mark.parametrize("store", ["memory", "redis", "mariadb"])
def test_a_client_of_two_tiers_has_one_log(folder: Path, behind: Nginx, stores: dict[str, Any], store: str) -> None:
    tiers = {"tier": {"from": "header", "name": "X-Tier"}, "tiers": {"gold": {"limit": 5}}}
    shape = limit("sliding_window_log", name=f"tiers-{store}", store=store, limit=3, **tiers)
    with running(nginx := balancer(folder, rules_of(shape, stores=stores), behind.port)):
        assert [get(nginx).status_code for _ in range(4)] == [200, 200, 200, 429]
        gold = {"X-Tier": "gold"}
        assert [get(nginx, **gold).status_code for _ in range(3)] == [200, 200, 429]
        assert get(nginx).status_code == 429
