"""Leases that all workers of a balancer hold together, next to those that each worker holds."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import Nginx, Redis, balancer, burst, eventually, get, limit, rules_of, running

BOTH = ("worker", "balancer")
BATCHES = "ratelimit_lease_batches_total"


def over_all_workers(config: str) -> str:
    """Let the kernel spread connections over the workers."""
    return re.sub(r"(listen 127\.0\.0\.1:\d+);", r"\1 reuseport;", config, count=1)


def leased(redis: Redis, **lease: Any) -> dict[str, Any]:
    terms = {"mode": "eager", "share": 0.5, "expires": "1m", "holder": "balancer", **lease}
    return rules_of(limit(store="redis", lease=terms), stores={"redis": redis.store()})


def remaining(nginx: Nginx, client: str) -> int:
    return int(re.findall(r";r=(\d+)", get(nginx, client).headers["RateLimit"])[0])


def test_all_workers_decide_from_one_batch_and_fetch_the_next_when_it_is_used_up(
    folder: Path, behind: Nginx, redis: Redis
) -> None:
    nginx = balancer(folder, leased(redis, most=20), behind.port, workers=4, extra=over_all_workers)
    with running(nginx):
        assert {get(nginx, "one-batch").status_code for _ in range(60)} == {200}
        assert eventually(lambda: nginx.metric(BATCHES)) == 3
        eventually(lambda: len(nginx.decisions()) == 60)
        assert len({row["worker"] for row in nginx.decisions()}) > 1
        assert {row["decided_by"] for row in nginx.decisions()} == {"lease"}


def test_two_balancers_with_eager_leases_of_all_their_workers_admit_exactly_the_limit(
    folder: Path, behind: Nginx, redis: Redis
) -> None:
    pair = [balancer(folder / name, leased(redis, expires="300ms"), behind.port, workers=2) for name in ("a", "b")]
    with running(*pair):
        admitted = [burst(pair, 400, "exactly-shared")[200]]

        def are_all_gone() -> bool:
            """What was left in a lease when all was asked for comes back when it expires."""
            admitted.append(burst(pair, 20, "exactly-shared")[200])
            return sum(admitted) >= 100

        eventually(are_all_gone)
        assert sum(admitted) == 100
        assert burst(pair, 200, "exactly-shared")[200] == 0


def test_lazy_leases_of_balancers_exceed_the_limit_by_no_more_than_their_bound(
    folder: Path, behind: Nginx, redis: Redis
) -> None:
    largest = 10
    rules = leased(redis, mode="lazy", most=largest)
    pair = [balancer(folder / name, rules, behind.port, workers=2) for name in ("a", "b")]
    with running(*pair):
        assert 100 <= burst(pair, 600, "lazy-shared")[200] <= 100 + largest


@pytest.mark.parametrize("holder", BOTH)
def test_what_is_left_of_a_lease_goes_back_when_it_expires(
    folder: Path, behind: Nginx, redis: Redis, holder: str
) -> None:
    client = f"left-{holder}"
    rules = leased(redis, holder=holder, expires="300ms")
    with running(nginx := balancer(folder, rules, behind.port)):
        for _ in range(3):
            assert get(nginx, client).status_code == 200
        eventually(lambda: nginx.metric("ratelimit_lease_settled_total", verb="refund") >= 1)
        assert remaining(nginx, client) == 96


def test_a_lease_outlives_the_worker_that_fetched_it(folder: Path, behind: Nginx, redis: Redis) -> None:
    with running(nginx := balancer(folder, leased(redis), behind.port)):
        assert remaining(nginx, "outlives") == 99
        for pid in nginx.workers():
            killed(nginx, pid)
        assert remaining(nginx, "outlives") == 98
        eventually(lambda: [row["decided_by"] for row in nginx.decisions()][-1:] == ["lease"])
        assert nginx.metric(BATCHES) <= 1  # a killed worker may not have told its own


def killed(nginx: Nginx, pid: int) -> None:
    """Kill a worker, and wait for the one that takes its turn."""
    before = len(nginx.workers())
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: pid not in nginx.workers() and len(nginx.workers()) == before)


@pytest.mark.parametrize("holder", BOTH)
def test_what_a_lazy_lease_of_a_fixed_window_has_used_is_told_when_its_workers_end(
    folder: Path, behind: Nginx, redis: Redis, holder: str
) -> None:
    client = f"ends-{holder}"
    rules = leased(redis, mode="lazy", holder=holder)
    with running(nginx := balancer(folder / "ending", rules, behind.port)):
        for _ in range(5):
            assert get(nginx, client).status_code == 200
        nginx.stop(signal.SIGQUIT)
    asking = rules_of(limit(store="redis"), stores={"redis": redis.store()})
    with running(other := balancer(folder / "after", asking, behind.port)):
        assert remaining(other, client) == 94


def test_a_balancers_lease_gives_back_what_another_limit_rejects(folder: Path, behind: Nginx, redis: Redis) -> None:
    narrow = limit(name="narrow", limit=1, match={"path_prefix": "/narrow"})
    rules = leased(redis)
    rules["limits"].append(narrow)
    with running(nginx := balancer(folder, rules, behind.port)):
        statuses = [get(nginx, "back", "/narrow").status_code for _ in range(4)]
        assert statuses == [200, 429, 429, 429]
        fields = get(nginx, "back", "/").headers["RateLimit"]
        assert re.findall(r'"per_client";r=(\d+)', fields) == ["98"]
