"""The twelve defects of a published implementation, each as a sentence about this one.

They were found by reading and running github.com/thiva-k/rate-limiter-nginx (2025-03-11), of which no code
is used here.
"""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    ALGORITHMS,
    MariaDB,
    Nginx,
    Redis,
    balancer,
    burst,
    decide,
    eventually,
    get,
    limit,
    rules_of,
    running,
    with_door,
)


@pytest.fixture(scope="module")
def pair(workshop: Path, behind: Nginx, redis: Redis, mariadb: MariaDB) -> Iterator[list[Nginx]]:
    stores = {"redis": redis.store(), "mariadb": mariadb.store()}
    limits = [
        limit(a, name=f"{s}-{a}", store=s, match={"path_prefix": f"/{s}/{a}/"}, when_store_fails="closed")
        for s in stores
        for a in ALGORITHMS
    ]
    for mode in ("lazy", "eager"):
        for a in ("fixed_window", "sliding_window_log"):
            lease = {"mode": mode, "share": 0.5, "expires": "300ms"}
            prefix = {"path_prefix": f"/{mode}/{a}/"}
            limits.append(limit(a, name=f"{mode}-{a}", store="redis", match=prefix, lease=lease))
    both: Any = [
        balancer(
            workshop / f"defects-{name}", rules_of(*limits, stores=stores, balancer=name), behind.port, extra=with_door
        )
        for name in ("one", "two")
    ]
    with running(*both):
        yield both


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_01_every_algorithm_survives_a_script_flush(pair: list[Nginx], redis: Redis, algorithm: str) -> None:
    client = f"flush-{algorithm}"
    assert get(pair[0], client, f"/redis/{algorithm}/").status_code == 200
    redis.ask("SCRIPT", "FLUSH")
    again = get(pair[0], client, f"/redis/{algorithm}/")
    assert again.status_code == 200
    assert "r=98" in again.headers["RateLimit"]


def test_02_requests_of_the_same_millisecond_are_all_counted_and_the_state_expires(
    pair: list[Nginx], redis: Redis
) -> None:
    assert burst(pair, 300, "same-ms", path="/redis/sliding_window_log/")[200] == 100
    key = redis.ask("--scan", "--pattern", "pb:{header=same-ms}*")
    assert 0 < int(redis.ask("PTTL", key)) <= 86_402_000


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window_log"])
def test_03_eager_leases_are_reserved_so_that_two_balancers_never_exceed_the_limit(
    pair: list[Nginx], algorithm: str
) -> None:
    admitted = burst(pair, 400, f"eager-{algorithm}", path=f"/eager/{algorithm}/")[200]
    assert 1 <= admitted <= 100


def test_03_lazy_leases_exceed_the_limit_by_no_more_than_the_stated_bound(pair: list[Nginx]) -> None:
    holders, largest = 4, 50
    admitted = burst(pair, 600, "lazy", path="/lazy/fixed_window/")[200]
    assert 100 <= admitted <= 100 + (holders - 1) * largest


def test_04_simultaneous_requests_do_not_collide_in_mariadb_and_leave_no_transaction_open(
    pair: list[Nginx], mariadb: MariaDB
) -> None:
    statuses = burst(pair, 240, "collide", path="/mariadb/sliding_window_log/")
    assert statuses == {200: 100, 429: 140}
    assert mariadb.sql("SELECT COUNT(*) FROM information_schema.innodb_trx") == "0"


def test_05_a_dead_store_costs_no_errors_whatever_its_limit_does_then(folder: Path, behind: Nginx) -> None:
    stores = {"redis": {"kind": "redis", "address": "127.0.0.1:1"}}
    limits = [
        limit(name=p, store="redis", when_store_fails=p, match={"path_prefix": f"/{p}/"})
        for p in ("open", "closed", "local")
    ]
    lease = {"mode": "eager"}
    limits.append(limit(name="leased", store="redis", lease=lease, match={"path_prefix": "/leased/"}))
    with running(nginx := balancer(folder, rules_of(*limits, stores=stores), behind.port)):
        statuses = {p: get(nginx, path=f"/{p}/").status_code for p in ("open", "closed", "local", "leased")}
    assert statuses == {"open": 200, "closed": 429, "local": 200, "leased": 200}


def test_06_keys_are_apart_for_each_algorithm_and_tagged_for_a_cluster(pair: list[Nginx], redis: Redis) -> None:
    for algorithm in ALGORITHMS:
        get(pair[0], "apart", f"/redis/{algorithm}/")
    keys = redis.ask("--scan", "--pattern", "pb:{header=apart}*").splitlines()
    assert len(keys) == len(ALGORITHMS)
    assert all(re.fullmatch(r"pb:\{header=apart\}:[\w-]+:\w+:\d+(:\d+)?", key) for key in keys)


def test_07_the_sliding_counter_counts_microseconds_and_keeps_its_oldest_sub_window(
    pair: list[Nginx], redis: Redis
) -> None:
    shape = {"limit": 10, "window": 10_000_000, "burst": 10, "sub_windows": 5}
    start, weighed = 1_700_000_000_000_000, 10_200_000
    # Ten taken at the start; a tenth of the sub-window of two seconds after the window, nine of them still count.
    requests = [[start, 10], [start + weighed - 1, 1], [start + weighed, 1], [start + weighed, 1]]
    requested = {"store": "redis", "algorithm": "sliding_window_counter", "plan": shape, "requests": requests}
    answers = decide(pair[0], **requested, key="microseconds")
    assert [answer[0] for answer in answers] == [True, False, True, False]
    assert answers[1][3] == 1, "a microsecond too early"
    key = redis.ask("--scan", "--pattern", "pb:{microseconds}*")
    assert 10_000 < int(redis.ask("PTTL", key)) <= 12_000 + 2_000, "longer than the window, by a sub-window"


@pytest.mark.parametrize("algorithm", ["token_bucket", "gcra", "leaky_bucket"])
def test_08_a_burst_of_five_means_five_for_every_bucket(folder: Path, behind: Nginx, algorithm: str) -> None:
    small = limit(algorithm, limit=5 if algorithm == "leaky_bucket" else 100, burst=5)
    if algorithm == "leaky_bucket":
        small["window"] = "5s"
    with running(nginx := balancer(folder, rules_of(small), behind.port)), ThreadPoolExecutor(20) as pool:
        began = time.monotonic()
        statuses = list(pool.map(lambda _: get(nginx).status_code, range(20)))
        gained = int(time.monotonic() - began) if algorithm == "leaky_bucket" else 0
    assert 5 <= statuses.count(200) <= 5 + gained


def test_09_mariadb_is_asked_once_per_request_and_forgets_old_keys(pair: list[Nginx], mariadb: MariaDB) -> None:
    get(pair[0], "once", "/mariadb/gcra/")
    mariadb.sql("SET GLOBAL log_output='TABLE'; TRUNCATE mysql.general_log; SET GLOBAL general_log=1")
    try:
        for _ in range(20):
            assert get(pair[0], "once", "/mariadb/gcra/").status_code == 200
    finally:
        mariadb.sql("SET GLOBAL general_log=0")
    queries = "SELECT COUNT(*), SUM(argument LIKE '%CALL ratelimit_decide%') FROM mysql.general_log"
    assert mariadb.sql(f"{queries} WHERE user_host LIKE 'native%'").split() == ["20", "20"]
    mariadb.sql("UPDATE ratelimit_state SET expires = 1", "ratelimit")
    forgotten = int(mariadb.sql("CALL ratelimit_purge(1000000)", "ratelimit"))
    assert forgotten > 0
    left = "SELECT (SELECT COUNT(*) FROM ratelimit_state) + COUNT(*) FROM ratelimit_log"
    assert mariadb.sql(left, "ratelimit") == "0"


def test_10_an_unused_lease_goes_back_to_the_store(pair: list[Nginx], redis: Redis) -> None:
    for _ in range(3):
        assert get(pair[0], "returned", "/eager/sliding_window_log/").status_code == 200
    key = redis.ask("--scan", "--pattern", "pb:{header=returned}*")
    script = "return struct.unpack('<d', redis.call('GETRANGE', KEYS[1], 16, 23))"  # the sum of a log's costs
    assert int(redis.ask("EVAL", script, "1", key)) > 3
    assert eventually(lambda: int(redis.ask("EVAL", script, "1", key)) == 3)


def test_11_counts_of_two_nodes_are_never_overwritten_by_the_last_writer(pair: list[Nginx]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: burst([n], 50, "writers", path="/redis/token_bucket/"), pair))
    assert get(pair[0], "writers", "/redis/token_bucket/").status_code == 429


def test_12_answers_carry_the_fields_and_metrics_and_rules_are_reloaded(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit(limit=1)), behind.port)):
        get(nginx)
        rejected = get(nginx)
        assert rejected.status_code == 429
        assert int(rejected.headers["Retry-After"]) > 0
        assert rejected.headers["Content-Type"] == "application/problem+json"
        assert rejected.json()["violated-policies"] == ["per_client"]
        nginx.enforce(rules_of(limit(limit=3)))
        eventually(lambda: get(nginx).status_code == 200)
        eventually(lambda: nginx.metric("ratelimit_decisions_total", outcome="rejected") >= 1)
        assert nginx.metrics().startswith("# HELP")
