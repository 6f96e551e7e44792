"""Two load balancers of two workers share a limit of 100: of a burst of 1,000 exactly 100 are admitted.

``RATELIMIT_RUNS=20`` repeats each burst twenty times; the default is two.
"""

import os
from collections.abc import Iterator
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
    eventually,
    limit,
    rules_of,
    running,
)

IN_STEPS = ("lock", "transaction")
"""The ways to ask Redis in which the balancer decides between reading and writing."""
RUNS = int(os.environ.get("RATELIMIT_RUNS", "2"))
pytestmark = pytest.mark.timeout(max(300, 60 * RUNS))
"""A burst on a leaky bucket lasts about half a minute: it lets through what it admits one by one."""


@pytest.fixture(scope="module")
def balancers(workshop: Path, behind: Nginx, redis: Redis, mariadb: MariaDB) -> Iterator[list[Nginx]]:
    stores = {"redis": redis.store(), "mariadb": mariadb.store()}
    limits = [
        limit(a, name=f"{s}-{a}", store=s, match={"path_prefix": f"/{s}/{a}/"}, when_store_fails="closed")
        for s in stores
        for a in ALGORITHMS
    ]
    stores |= {f"redis-{way}": {**redis.store(), "asks": way} for way in IN_STEPS}
    limits += [
        limit(name=way, store=f"redis-{way}", match={"path_prefix": f"/{way}/"}, when_store_fails="closed")
        for way in IN_STEPS
    ]
    both: Any = [
        balancer(workshop / name, rules_of(*limits, stores=stores, balancer=name), behind.port)
        for name in ("one", "two")
    ]
    with running(*both):
        yield both


def decided(balancers: list[Nginx], client: str) -> list[dict[str, str]]:
    return [row for nginx in balancers for row in nginx.decisions() if row["client"] == f"header={client}"]


@pytest.mark.parametrize("store", ["redis", "mariadb"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_burst_of_1000_is_admitted_exactly_100_times(balancers: list[Nginx], store: str, algorithm: str) -> None:
    for run in range(RUNS):
        client = f"{store}-{algorithm}-{run}"
        wait = 1 if algorithm == "leaky_bucket" else 10  # the bucket holds what it admits for up to a minute
        burst(balancers, 1000, client, users=20, path=f"/{store}/{algorithm}/", wait=wait)
        eventually(lambda client=client: len(decided(balancers, client)) == 1000)
        rows = decided(balancers, client)
        assert {row["decided_by"] for row in rows} <= {"store", "over_limit_cache"}
        admitted = [row for row in rows if row["allowed"] == "1"]
        times = [int(row["time_us"]) for row in rows]
        # A leaky bucket of 100 a minute gains one place every 0.6 s; the others of 100 a day gain none.
        gained = (max(times) - min(times)) // 600_000 if algorithm == "leaky_bucket" else 0
        assert 100 <= len(admitted) <= 100 + gained, (algorithm, store, run)


@pytest.mark.parametrize("way", IN_STEPS)
def test_balancers_that_decide_between_reading_and_writing_admit_exactly_the_limit(
    balancers: list[Nginx], way: str
) -> None:
    assert burst(balancers, 400, f"steps-{way}", users=10, path=f"/{way}/")[200] == 100


@pytest.fixture(scope="module")
def alone(workshop: Path, behind: Nginx) -> Iterator[Nginx]:
    limits = [limit(a, name=a, match={"path_prefix": f"/{a}/"}) for a in ALGORITHMS if a != "leaky_bucket"]
    long = limit("sliding_window_log", name="long", limit=3000, match={"path_prefix": "/long/"})
    with running(nginx := balancer(workshop / "alone", rules_of(*limits, long), behind.port, workers=4)):
        yield nginx


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a != "leaky_bucket"])
def test_four_workers_of_one_nginx_share_a_limit_in_memory_exactly(alone: Nginx, algorithm: str) -> None:
    for run in range(RUNS):
        assert burst([alone], 1000, f"run-{run}", path=f"/{algorithm}/") == {200: 100, 429: 900}


def test_a_log_that_is_kept_by_the_page_is_exact_too(alone: Nginx) -> None:
    assert burst([alone], 4000, "paged", path="/long/") == {200: 3000, 429: 1000}
