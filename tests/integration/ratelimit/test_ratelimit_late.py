"""A store that answers late, or comes back without what it counted: the bounds of the filter hold over real sockets.

The spec ``late_store_spec.lua`` holds the same bounds in simulated time, for every order of events that its seeds make.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    ALGORITHMS,
    MariaDB,
    Nginx,
    Redis,
    Way,
    balancer,
    burst,
    eventually,
    get,
    limit,
    rules_of,
    running,
)

WORKERS, LARGEST, LIMIT = 2, 10, 100
HOLDERS = {"worker": 2 * WORKERS, "balancer": 2}


@contextmanager
def pair_before(way: Way, kind: dict[str, Any], folder: Path, behind: Nginx, **terms: Any) -> Iterator[list[Nginx]]:
    """Two balancers that reach their store by a way."""
    stores = {"far": {**kind, "address": f"127.0.0.1:{way.port}"}}
    rules = rules_of(limit(store="far", when_store_fails="closed", **terms), stores=stores)
    pair = [balancer(folder / name, rules, behind.port, workers=WORKERS) for name in ("a", "b")]
    with running(*pair):
        for nginx in pair:
            eventually(lambda nginx=nginx: get(nginx, "first").status_code == 200)
        yield pair


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("mode", ["lazy", "eager"])
def test_leases_keep_their_bound_over_a_store_whose_answers_take_longer_than_requests_wait_for_a_batch(
    folder: Path, behind: Nginx, redis: Redis, mode: str, holder: str
) -> None:
    lease = {"mode": mode, "share": 0.5, "most": LARGEST, "expires": "1m", "holder": holder}
    with (
        running(way := Way(redis.port, late_s=0.08)),
        pair_before(way, redis.store(), folder, behind, lease=lease, name=f"late-{mode}-{holder}") as pair,
    ):
        admitted = burst(pair, 600, "late")[200]
    assert LIMIT / 2 < admitted <= LIMIT + (mode == "lazy") * (HOLDERS[holder] - 1) * LARGEST


def admitted_in_the_end(pair: list[Nginx], client: str, count: int) -> int:
    """Send requests by eight at a time; one that is told to come again in a second does so. Return how many passed."""

    def passes(number: int) -> bool:
        for _ in range(20):
            answer = get(pair[number % 2], client)
            if answer.headers.get("Retry-After") != "1":
                break
            time.sleep(1)
        return answer.status_code == 200

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(passes, range(count)))


def booked(mariadb: MariaDB, client: str) -> int:
    return int(float(mariadb.sql(f"SELECT b FROM ratelimit_state WHERE k LIKE 'pb:{{header={client}}}%'", "ratelimit")))


@pytest.mark.slow
def test_no_unit_is_lost_when_many_ask_a_slow_mariadb_at_once(folder: Path, behind: Nginx, mariadb: MariaDB) -> None:
    terms = {"limit": 20, "name": "at-once"}
    with (
        running(way := Way(mariadb.port, late_s=0.03)),
        pair_before(way, {**mariadb.store(), "timeout": "250ms"}, folder, behind, **terms) as pair,
    ):
        assert admitted_in_the_end(pair, "crowd", 60) == 20
    assert booked(mariadb, "crowd") == 20


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_mariadb_counts_nothing_for_whoever_waited_for_the_row_until_nobody_waits_any_more(
    mariadb: MariaDB, algorithm: str
) -> None:
    call = f"CALL ratelimit_decide('late-{algorithm}', 'take', '{algorithm}', 5, 60000000, 5, 2, 1, 0, 0, 1, -1)"
    with pytest.raises(AssertionError, match=r"ERROR 1242 .* LATE"):
        mariadb.sql(f"SET @ratelimit_until = 1; {call}", "ratelimit")
    assert mariadb.sql(f"SET @ratelimit_until = NULL; {call}", "ratelimit").split("\t")[1:3] == ["1", "4"]


def counts(nginx: Nginx, client: str = "alice", requests: int = 1) -> int:
    """Return how many requests of a client pass."""
    return [get(nginx, client).status_code for _ in range(requests)].count(200)


@pytest.fixture(scope="module")
def forgetful(workshop: Path) -> Iterator[Redis]:
    """Give a Redis that keeps nothing over a restart."""
    with running(redis := Redis(workshop / "forgetful")):
        yield redis


@pytest.mark.parametrize("policy", ["local", "closed"])
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "leaky_bucket"])
def test_a_store_that_is_away_and_comes_back_empty_gives_no_second_and_no_third_limit(
    folder: Path, behind: Nginx, forgetful: Redis, algorithm: str, policy: str
) -> None:
    """A limit of ten used to be admitted three times: by the store, by the balancer alone, and by the empty store."""
    stores = {"far": {**forgetful.store(), "timeout": "200ms", "breaker": {"failures": 1, "open_for": "50ms"}}}
    name = f"{algorithm}-{policy}"
    few = limit(algorithm, name=name, limit=10, store="far", when_store_fails=policy)
    with running(nginx := balancer(folder, rules_of(few, stores=stores), behind.port, workers=1)):
        eventually(lambda: get(nginx, "warm", "/").status_code == 200)
        passed = counts(nginx, requests=6)
        forgetful.stop()
        passed += counts(nginx, requests=3)
        forgetful.start()
        eventually(lambda: get(nginx, "other") and forgetful.ask("DBSIZE") != "0")
        passed += counts(nginx, requests=20)
    assert passed == 10


def test_a_client_that_has_used_its_limit_gets_from_balancers_alone_what_they_do_not_know_at_most(
    folder: Path, behind: Nginx, forgetful: Redis
) -> None:
    stores = {"far": {**forgetful.store(), "timeout": "200ms", "breaker": {"failures": 1, "open_for": "50ms"}}}
    rules = rules_of(limit(limit=10, store="far", name="both"), stores=stores, balancers=2)
    pair = [balancer(folder / name, rules, behind.port, workers=1) for name in ("a", "b")]
    with running(*pair):
        passed = sum(counts(nginx) for _ in range(5) for nginx in pair)
        assert passed == 10
        forgetful.stop()
        # The balancer that was asked before last has not heard of the last unit.
        assert sum(counts(nginx, requests=5) for nginx in pair) <= 1
        forgetful.start()
        assert sum(counts(nginx, requests=5) for nginx in pair) == 0


def test_a_store_that_was_flushed_is_given_what_this_balancer_knows(
    folder: Path, behind: Nginx, forgetful: Redis
) -> None:
    rules = rules_of(limit(limit=10, store="far", name="flushed"), stores={"far": forgetful.store()})
    with running(nginx := balancer(folder, rules, behind.port, workers=1)):
        passed = counts(nginx, requests=7)
        forgetful.flush()
        passed += counts(nginx, requests=10)
    assert passed == 10
