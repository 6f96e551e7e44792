"""Several limits on one request: what one rejects is taken from none, and log, metrics and client are told so."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    ALGORITHMS,
    MariaDB,
    Nginx,
    Redis,
    Sidecar,
    balancer,
    eventually,
    get,
    limit,
    rules_of,
    running,
)

STORES = ["memory", "redis", "mariadb", "crdt"]


@pytest.fixture(scope="module")
def stores(workshop: Path, redis: Redis, mariadb: MariaDB, sidecar_binary: Path) -> Iterator[dict[str, Any]]:
    sidecar = Sidecar(sidecar_binary, workshop / "several-sidecar", "several")
    with running(sidecar):
        yield {"redis": redis.store(), "mariadb": mariadb.store(), "crdt": sidecar.store()}


def pair_of_limits(store: str, algorithm: str, **changes: Any) -> list[dict[str, Any]]:
    """Return a wide limit and, after it, one of 5, for one path."""
    common = {"store": store, "match": {"path_prefix": f"/{store}/{algorithm}/"}, "when_store_fails": "closed"}
    window = {"window": "1m", "burst": 5000} if algorithm == "leaky_bucket" else {}
    wide = limit(algorithm, name=f"wide-{store}-{algorithm}", limit=100_000, **common, **window, **changes)
    return [wide, limit(name=f"narrow-{store}-{algorithm}", limit=5, **common)]


@pytest.fixture(scope="module")
def nginx(workshop: Path, behind: Nginx, stores: dict[str, Any]) -> Iterator[Nginx]:
    limits = [each for store in STORES for algorithm in ALGORITHMS for each in pair_of_limits(store, algorithm)]
    nginx = balancer(workshop / "several", rules_of(*limits, stores=stores), behind.port, workers=1)
    with running(nginx):
        yield nginx


def remaining(answer: Any, name: str) -> int:
    """Return ``r`` of one limit in the field of an answer."""
    item = next(item for item in answer.headers["RateLimit"].split(", ") if item.startswith(f'"{name}"'))
    return int(item.split("r=")[1].split(";")[0])


def decided(nginx: Nginx, name: str) -> Counter[tuple[str, str]]:
    """Count the logged decisions of one limit by whether they took and by who decided."""
    return Counter((row["allowed"], row["decided_by"]) for row in nginx.decisions() if row["limit"] == name)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("store", STORES)
def test_what_a_later_limit_rejects_is_neither_taken_nor_logged_nor_counted_as_taken_by_an_earlier_one(
    nginx: Nginx, store: str, algorithm: str
) -> None:
    wide, path = f"wide-{store}-{algorithm}", f"/{store}/{algorithm}/"
    answers = [get(nginx, f"several-{store}-{algorithm}", path) for _ in range(15)]
    assert Counter(answer.status_code for answer in answers) == {200: 5, 429: 10}
    reported = [remaining(answer, wide) for answer in answers if wide in answer.headers["RateLimit"]]
    full = 5000 if algorithm == "leaky_bucket" else 100_000
    # A bucket refills meanwhile; nothing else may differ from "five were taken".
    assert all(full - 5 <= each <= full for each in reported[5:])
    if algorithm in ("fixed_window", "sliding_window_log", "sliding_window_counter"):
        assert reported == [full - 1, full - 2, full - 3, full - 4, full - 5] + [full - 5] * (len(reported) - 5)

    def outcomes(name: str) -> float:
        return nginx.metric("ratelimit_decisions_total", limit=wide, outcome=name)

    withdrawn = len(reported) - 5
    assert withdrawn >= 1
    eventually(lambda: (outcomes("allowed"), outcomes("withdrawn")) == (5, withdrawn))
    logged = {("1", "store"): 5, ("0", "withdrawn"): withdrawn}
    eventually(lambda: decided(nginx, wide) == logged)


def test_what_a_later_limit_rejects_goes_back_to_a_lease_and_is_reported_as_not_taken(
    folder: Path, behind: Nginx, stores: dict[str, Any]
) -> None:
    leased = pair_of_limits("redis", "fixed_window", lease={"mode": "eager", "expires": "1m"})
    with running(nginx := balancer(folder, rules_of(*leased, stores=stores), behind.port, workers=1)):
        answers = [get(nginx, "leased-several", "/redis/fixed_window/") for _ in range(8)]
        reported = [remaining(answer, leased[0]["name"]) for answer in answers]
        assert reported == [99_999, 99_998, 99_997, 99_996, 99_995, 99_995, 99_995, 99_995]
        eventually(lambda: nginx.metric("ratelimit_decisions_total", limit=leased[0]["name"], outcome="withdrawn") == 3)


@pytest.mark.parametrize("store", STORES)
def test_a_cost_above_the_limit_is_reported_every_time_that_waiting_never_helps_and_what_remains(
    folder: Path, behind: Nginx, stores: dict[str, Any], store: str
) -> None:
    priced = limit(limit=10, store=store, cost={"from": "header", "name": "X-Cost", "most": 50})
    with running(nginx := balancer(folder, rules_of(priced, stores=stores), behind.port, workers=1)):
        client = f"priced-{store}"
        assert remaining(get(nginx, client, **{"X-Cost": "7"}), "per_client") == 3
        for cost, helps in [("11", False), ("5", True), ("11", False), ("5", True), ("40", False)]:
            for _ in range(3):
                answer = get(nginx, client, **{"X-Cost": cost})
                assert answer.status_code == 429
                assert ("Retry-After" in answer.headers, remaining(answer, "per_client")) == (helps, 3)
                assert ("ever allows" in answer.json()["detail"]) is not helps
        assert remaining(get(nginx, client, **{"X-Cost": "3"}), "per_client") == 0
