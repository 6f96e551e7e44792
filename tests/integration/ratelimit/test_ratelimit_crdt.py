"""Two load balancers, each with a sidecar next to it, share limits by gossip."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    ALGORITHMS,
    Nginx,
    Sidecar,
    balancer,
    burst,
    eventually,
    get,
    limit,
    rules_of,
    running,
)


@pytest.fixture(scope="module")
def cells(sidecar_binary: Path, workshop: Path) -> Iterator[list[Sidecar]]:
    first = Sidecar(sidecar_binary, workshop / "cell-1", "one")
    second = Sidecar(sidecar_binary, workshop / "cell-2", "two", first.gossip)
    with running(first, second):
        yield [first, second]


@pytest.fixture(scope="module")
def pair(cells: list[Sidecar], workshop: Path, behind: Nginx) -> Iterator[list[Nginx]]:
    limits = [
        limit(a, name=a, store="near", match={"path_prefix": f"/{a}/"}, when_store_fails="local") for a in ALGORITHMS
    ]
    lease = {"mode": "eager", "share": 0.2, "most": 10}
    limits.append(limit(name="leased", store="near", match={"path_prefix": "/leased/"}, lease=lease))
    both: Any = [
        balancer(workshop / f"crdt-{i}", rules_of(*limits, stores={"near": c.store()}, balancers=2), behind.port)
        for i, c in enumerate(cells)
    ]
    with running(*both):
        yield both


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a != "leaky_bucket"])
def test_one_balancer_alone_admits_exactly_the_limit(pair: list[Nginx], algorithm: str) -> None:
    assert burst(pair[:1], 300, f"alone-{algorithm}", path=f"/{algorithm}/") == {200: 100, 429: 200}


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window_counter", "token_bucket"])
def test_two_balancers_admit_no_more_than_the_limit_twice_and_then_agree(pair: list[Nginx], algorithm: str) -> None:
    admitted = burst(pair, 1000, f"both-{algorithm}", path=f"/{algorithm}/")[200]
    assert 100 <= admitted <= 200
    for nginx in pair:
        eventually(lambda nginx=nginx: get(nginx, f"both-{algorithm}", f"/{algorithm}/").status_code == 429)


def test_eager_leases_over_two_sidecars_admit_at_most_the_limit_of_each(pair: list[Nginx]) -> None:
    admitted = burst(pair, 600, "leased", path="/leased/")[200]
    assert 60 <= admitted <= 200


def test_a_killed_sidecar_is_survived_and_its_counts_come_back(cells: list[Sidecar], pair: list[Nginx]) -> None:
    for _ in range(30):
        assert get(pair[0], "regained", "/fixed_window/").status_code == 200
    eventually(lambda: "r=69" in get(pair[1], "regained", "/fixed_window/").headers["RateLimit"])
    cells[0].stop(signal.SIGKILL)
    assert get(pair[0], "regained", "/fixed_window/").status_code == 200
    cells[0].command += [] if "-join" in cells[0].command else ["-join", cells[1].gossip]
    cells[0].start()
    eventually(lambda: "r=6" in get(pair[0], "regained", "/fixed_window/").headers["RateLimit"], 20)
