"""The clock of a balancer steps by five seconds while it works: nothing is given twice, and nothing breaks.

libfaketime shifts the clock of this nginx alone. The numbers follow from the definitions: a limit of 3,600 an hour
gives one unit a second, so a step of five seconds forward may give a bucket five, and a step back gives none.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from ratelimit_fixture import ALGORITHMS, Nginx, Redis, balancer, eventually, get, limit, rules_of, running

LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
BURST = 10

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="install faketime (apt-get install)")


class Shifted:
    """A balancer whose clock can be shifted."""

    def __init__(self, nginx: Nginx, file: Path) -> None:
        self.nginx, self.file = nginx, file

    def shift(self, seconds: int) -> None:
        self.file.write_text(f"{seconds:+d}s\n", encoding="utf-8")

    def admitted(self, algorithm: str, client: str, count: int = 20) -> int:
        statuses = [get(self.nginx, client, f"/{algorithm}/").status_code for _ in range(count)]
        assert set(statuses) <= {200, 429}, self.nginx.errors()
        return statuses.count(200)


@pytest.fixture(scope="module")
def shifted(workshop: Path, behind: Nginx, redis: Redis) -> Iterator[Shifted]:
    folder, file = workshop / "shifted", workshop / "shift"
    rates = [
        limit(
            a,
            name=a,
            match={"path_prefix": f"/{a}/"},
            window="1h",
            **({"limit": 3600, "burst": BURST} if a in ("token_bucket", "gcra") else {"limit": BURST}),
        )
        for a in ALGORITHMS
        if a != "leaky_bucket"
    ]
    shared = limit("gcra", name="shared", store="redis", match={"path_prefix": "/shared/"}, limit=1, window="1s")
    nginx = balancer(folder, rules_of(*rates, shared, stores={"redis": redis.store()}), behind.port)
    made = Shifted(nginx, file)
    made.shift(0)
    preload = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    words = [f"{name}={value}" for name, value in {**preload, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}.items()]
    nginx.command = ["env", *words, *nginx.command]
    nginx.config.write_text(
        "".join(f"env {word.split('=')[0]};\n" for word in words) + nginx.config.read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    with running(nginx):
        yield made


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a != "leaky_bucket"])
def test_a_step_of_five_seconds_gives_no_more_than_five_seconds_are_worth(shifted: Shifted, algorithm: str) -> None:
    bucket = algorithm in ("token_bucket", "gcra")
    slack = 2 if bucket else 0  # what a bucket gains in the seconds that the test itself takes
    shifted.shift(0)
    assert BURST <= shifted.admitted(algorithm, "stepped") <= BURST + slack
    shifted.shift(-5)
    assert shifted.admitted(algorithm, "stepped") <= slack
    shifted.shift(5)
    assert shifted.admitted(algorithm, "stepped") <= (5 + 2 * slack if bucket else 0)


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a != "leaky_bucket"])
def test_a_clock_that_is_set_back_by_hours_locks_no_one_out(shifted: Shifted, algorithm: str) -> None:
    shifted.shift(0)
    assert shifted.admitted(algorithm, "set-back") >= BURST
    shifted.shift(-4 * 3600)
    try:
        assert shifted.admitted(algorithm, "set-back") >= BURST
    finally:
        shifted.shift(0)


def test_a_rejection_is_forgotten_in_time_by_a_balancer_whose_clock_was_set_back(shifted: Shifted) -> None:
    shifted.shift(0)
    eventually(lambda: get(shifted.nginx, "cached", "/shared/").status_code == 429)
    shifted.shift(-3600)
    try:
        eventually(lambda: get(shifted.nginx, "cached", "/shared/").status_code == 200, 5)
    finally:
        shifted.shift(0)


def test_the_log_shows_that_the_clock_has_stepped(shifted: Shifted) -> None:
    shifted.shift(0)
    shifted.admitted("gcra", "seen", 1)
    shifted.shift(3600)
    shifted.admitted("gcra", "seen", 1)

    def times() -> list[int]:
        return [int(row["time_us"]) for row in shifted.nginx.decisions() if row["client"] == "header=seen"]

    eventually(lambda: len(times()) == 2)
    first, second = sorted(times())
    assert 3_590_000_000 < second - first < 3_660_000_000, os.linesep.join(map(str, times()))
