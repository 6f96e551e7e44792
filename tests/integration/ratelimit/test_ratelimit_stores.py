"""Every store answers like the definition, and like the Lua core for what only leases ask."""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    ALGORITHMS,
    FILTER,
    VECTORS,
    MariaDB,
    Nginx,
    Redis,
    balancer,
    decide,
    limit,
    rules_of,
    running,
    with_door,
)

OTHER_WAYS = ("sent_script", "lock", "transaction")
"""How Redis is asked in measurements, next to one call of a script that it keeps."""
LEASABLE = ["fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket"]


@pytest.fixture(scope="module")
def nginx(workshop: Path, behind: Nginx, redis: Redis, mariadb: MariaDB) -> Iterator[Nginx]:
    unix = {"kind": "redis", "address": f"unix:{redis.socket}"}
    edward = {**mariadb.store("edward"), "address": f"unix:{mariadb.socket}"}
    stores = {
        "redis": redis.store(),
        "redis-unix": unix,
        **{f"redis-{way}": {**redis.store(), "asks": way} for way in OTHER_WAYS},
        "redis-new": {**redis.store(), "connections": "new"},
        "mariadb-new": {**mariadb.store(), "connections": "new"},
        "mariadb": mariadb.store(),
        "mariadb-ed25519": edward,
    }
    nginx = balancer(workshop / "door", rules_of(limit(), stores=stores), behind.port, extra=with_door)
    with running(nginx):
        yield nginx


@pytest.mark.parametrize("store", ["redis", "mariadb"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_store_decides_the_shared_vectors_like_the_definition(
    nginx: Nginx, redis: Redis, mariadb: MariaDB, store: str, algorithm: str
) -> None:
    (redis if store == "redis" else mariadb).flush()
    vectors = json.loads((VECTORS / f"{algorithm}.json").read_text(encoding="utf-8"))
    for number, case in enumerate(vectors["cases"]):
        ask = {
            "algorithm": algorithm,
            "plan": case["plan"],
            "requests": case["requests"],
            "key": f"v{number}",
        }
        got = decide(nginx, store=store, **ask)
        assert got == case["answers"], case["name"]


@pytest.mark.parametrize("store", [*(f"redis-{way}" for way in OTHER_WAYS), "redis-new", "mariadb-new"])
@pytest.mark.parametrize("algorithm", ["sliding_window_log", "token_bucket"])
def test_a_store_that_is_asked_otherwise_decides_the_same(
    nginx: Nginx, redis: Redis, mariadb: MariaDB, store: str, algorithm: str
) -> None:
    (mariadb if store.startswith("mariadb") else redis).flush()
    vectors = json.loads((VECTORS / f"{algorithm}.json").read_text(encoding="utf-8"))
    for number, case in enumerate(vectors["cases"][:3]):
        ask = {"algorithm": algorithm, "plan": case["plan"], "requests": case["requests"], "key": f"other{number}"}
        assert decide(nginx, store=store, **ask) == case["answers"], case["name"]


@pytest.mark.parametrize("store", [f"redis-{way}" for way in OTHER_WAYS])
def test_leases_over_a_store_that_is_asked_otherwise_are_those_of_the_core(nginx: Nginx, store: str) -> None:
    shape = {"limit": 9, "window": 10_000_000, "burst": 6, "sub_windows": 4}
    ask: dict[str, Any] = {"algorithm": "fixed_window", "plan": shape, "key": f"lease-{store}"}
    ask["requests"] = lease_requests(random.Random(1))
    assert decide(nginx, store=store, **ask) == core_answers(ask)


@pytest.mark.parametrize("store", ["redis-unix", "mariadb-ed25519"])
def test_the_store_is_reached_over_a_unix_socket_and_by_ed25519(nginx: Nginx, store: str) -> None:
    bucket = {"limit": 2, "window": 10_000_000, "burst": 2, "sub_windows": 1}
    requests = [[1_700_000_000_000_000, 1]] * 3
    got = decide(nginx, store=store, algorithm="token_bucket", plan=bucket, requests=requests, key="unix")
    assert [row[0] for row in got] == [True, True, False]


CORE = """
package.path = "{lua}/?.lua;{lua}/?/init.lua;" .. package.path
local cjson, cores, verbs = require("cjson"), require("ratelimit.core"), require("ratelimit.core.verbs")
local ask = cjson.decode(io.read("*a"))
local core, state, out = cores[ask.algorithm], {{}}, {{}}
for i = 1, core.size(ask.plan) do state[i] = 0 end
for i, r in ipairs(ask.requests) do
  out[i] = {{ verbs[r[3]](core, state, r[1], ask.plan, r[2], 1, r[4]) }}
  out[i][6] = nil
end
print(cjson.encode(out))
"""


def core_answers(ask: dict[str, Any]) -> list[list[Any]]:
    script = CORE.format(lua=FILTER / "lua")
    done = subprocess.run(["luajit", "-e", script], input=json.dumps(ask), capture_output=True, text=True, check=True)
    answers: list[list[Any]] = json.loads(done.stdout)
    return answers


def lease_requests(rng: random.Random) -> list[list[Any]]:
    now, out = 1_700_000_000_000_000, []
    taken: list[int] = []
    for _ in range(120):
        now += rng.choice([0, 1, 200_000, 900_000, 4_000_000])
        verb = rng.choice(["take", "reserve", "report", "refund"])
        at = rng.choice(taken) if taken and verb == "refund" else now
        out.append([now, rng.randint(1, 3), verb, at])
        if verb in ("take", "reserve"):
            taken.append(now)
    return out


@pytest.mark.parametrize("store", ["redis", "mariadb"])
@pytest.mark.parametrize("algorithm", LEASABLE)
def test_the_store_serves_leases_like_the_core(nginx: Nginx, store: str, algorithm: str) -> None:
    for seed in range(3):
        shape = {"limit": 9, "window": 10_000_000, "burst": 6, "sub_windows": 4}
        ask: dict[str, Any] = {"algorithm": algorithm, "plan": shape, "key": f"lease{seed}"}
        ask["requests"] = lease_requests(random.Random(seed))
        assert decide(nginx, store=store, **ask) == core_answers(ask)
