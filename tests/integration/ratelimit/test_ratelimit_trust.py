"""What the filter believes of a store, and for how long: a rejection, a connection, an answer, its silence."""

import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from ratelimit_fixture import (
    MariaDB,
    Nginx,
    Redis,
    Server,
    Sidecar,
    Way,
    balancer,
    eventually,
    get,
    limit,
    rules_of,
    running,
)


def store_at(port: int, kind: str = "redis") -> dict[str, Any]:
    return {"kind": kind, "address": f"127.0.0.1:{port}", "timeout": "500ms"}


def lease(mode: str, **changes: Any) -> dict[str, Any]:
    return {"mode": mode, "share": 0.5, "expires": "200ms", **changes}


def left(answer: httpx.Response) -> int:
    return int(answer.headers["RateLimit"].split("r=")[1].split(";")[0])


@pytest.mark.parametrize("holder", ["worker", "balancer"])
@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_a_lease_that_found_nothing_left_notices_what_comes_back_long_before_the_window_ends(
    folder: Path, behind: Nginx, redis: Redis, mode: str, holder: str
) -> None:
    redis.flush()
    leased = limit(limit=2, store="redis", lease=lease(mode, holder=holder))
    rules = rules_of(leased, stores={"redis": redis.store()})
    with running(nginx := balancer(folder, rules, behind.port, workers=1)):
        eventually(lambda: get(nginx).status_code == 429)
        redis.flush()
        eventually(lambda: get(nginx).status_code == 200, 5)


def test_a_raised_limit_helps_who_was_at_it(folder: Path, behind: Nginx, redis: Redis) -> None:
    redis.flush()
    leased = limit(limit=2, store="redis", lease=lease("eager", expires="1m"))
    rules = rules_of(leased, stores={"redis": redis.store()})
    with running(nginx := balancer(folder, rules, behind.port, workers=1)):
        eventually(lambda: get(nginx).status_code == 429)
        nginx.enforce({**rules, "limits": [{**leased, "limit": 1000}]})
        eventually(lambda: get(nginx).status_code == 200, 5)


@pytest.fixture(scope="module")
def cells(sidecar_binary: Path, workshop: Path) -> Iterator[list[Sidecar]]:
    first = Sidecar(sidecar_binary, workshop / "trust-1", "one")
    second = Sidecar(sidecar_binary, workshop / "trust-2", "two", first.gossip)
    with running(first, second):
        yield [first, second]


@pytest.mark.parametrize("size", ["static", "dynamic"])
def test_an_eager_lease_over_a_sidecar_leaves_the_other_balancer_its_share(
    folder: Path, behind: Nginx, cells: list[Sidecar], size: str
) -> None:
    leased = limit(store="near", name=size, lease=lease("eager", share=0.2, size=size, expires="1m"))
    both = [
        balancer(folder / str(i), rules_of(leased, stores={"near": cell.store()}), behind.port, workers=1)
        for i, cell in enumerate(cells)
    ]
    with running(*both):
        for client in ("a", "b", "c"):
            assert [get(nginx, client).status_code for nginx in both for _ in range(5)] == [200] * 10


def test_a_failover_is_followed_although_the_old_master_continues_answering(
    folder: Path, behind: Nginx, redis: Redis
) -> None:
    redis.flush()
    old = Redis(folder / "old")
    with running(old, way := Way(old.port)):
        rules = rules_of(limit(store="far", when_store_fails="closed"), stores={"far": store_at(way.port)})
        with running(nginx := balancer(folder / "nginx", rules, behind.port)):
            eventually(lambda: get(nginx).status_code == 200)
            old.ask("REPLICAOF", "127.0.0.1", str(redis.port))
            eventually(lambda: get(nginx).status_code == 429)
            way.leads_to = redis.port
            eventually(lambda: [get(nginx).status_code for _ in range(20)] == [200] * 20)


@pytest.mark.parametrize("holder", ["worker", "balancer"])
def test_what_a_lazy_lease_used_is_told_when_the_store_comes_back(
    folder: Path, behind: Nginx, redis: Redis, holder: str
) -> None:
    redis.flush()
    with running(way := Way(redis.port)):
        leased = limit(limit=20, store="far", when_store_fails="closed", lease=lease("lazy", holder=holder))
        stores = {"far": {**store_at(way.port), "breaker": {"open_for": "50ms"}}}
        with running(nginx := balancer(folder, rules_of(leased, stores=stores), behind.port, workers=1)):
            eventually(lambda: get(nginx, "other").status_code == 200)
            assert [get(nginx).status_code for _ in range(7)] == [200] * 7
            way.cut()
            eventually(lambda: nginx.metric("ratelimit_store_failures_total") >= 1)
            way.leads_to = redis.port
            eventually(lambda: nginx.metric("ratelimit_lease_settled_total", verb="report") >= 2)
            assert left(eventually(lambda: (found := get(nginx)).status_code == 200 and found)) == 12


class Liar(Server):
    """A Redis whose script answers with these numbers."""

    def __init__(self, *numbers: float) -> None:
        super().__init__()
        self.numbers = struct.pack("<7d", *numbers)

    def treat(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while requested := connection.recv(65536):
                reply = b"$%d\r\n%s\r\n" % (len(self.numbers), self.numbers)
                connection.sendall(reply if b"EVAL" in requested else b"+PONG\r\n")


@pytest.mark.parametrize(
    "numbers",
    [
        (float("inf"), 1, 9, 1e6, 0, 0, 1),
        (1.7e15, 1, 9, float("nan"), 0, 0, 1),
        (1.7e15, 1, 9, 1e6, 0, 86400e6, 1),
        (1.7e15, 1, -1e300, 1e6, 0, 0, 1),
    ],
    ids=["a time that is none", "a reset that is none", "a delay of a day", "less than nothing remains"],
)
def test_an_answer_that_no_redis_of_ours_gives_falls_under_the_policy(
    folder: Path, behind: Nginx, numbers: tuple[float, ...]
) -> None:
    with running(store := Liar(*numbers)):
        lied = limit("leaky_bucket", store="far", when_store_fails="closed")
        rules = rules_of(lied, stores={"far": store_at(store.port)})
        with running(nginx := balancer(folder, rules, behind.port, workers=1)):
            assert [get(nginx).status_code for _ in range(3)] == [429] * 3
            assert nginx.metric("ratelimit_faults_total") == 0


def test_a_redis_that_may_forget_clients_is_named_in_the_log(folder: Path, behind: Nginx) -> None:
    store = Redis(folder / "redis", "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
    with running(store):
        rules = rules_of(limit(store="far"), stores={"far": store_at(store.port)})
        with running(nginx := balancer(folder / "nginx", rules, behind.port)):
            eventually(lambda: "store far: a flood of made-up keys" in nginx.errors())
            assert nginx.errors().count("maxmemory-policy is allkeys-lru") == 1


def test_a_decision_log_begins_when_its_folder_is_there_and_lacks_no_row(folder: Path, behind: Nginx) -> None:
    later = folder / "later"
    rules = rules_of(limit(), decision_log={"folder": str(later)})
    with running(nginx := balancer(folder / "nginx", rules, behind.port)):
        for _ in range(20):
            get(nginx)
        eventually(lambda: "the decision log can't be written" in nginx.errors())
        later.mkdir()

        def rows() -> int:
            return sum(len(path.read_text().splitlines()) - 1 for path in later.glob("decisions-*.tsv"))

        eventually(lambda: rows() == 20)


MANY = "INSERT INTO ratelimit_state (k, expires) SELECT CONCAT('past-', seq), 1 FROM seq_1_to_25000;"


def test_mariadb_forgets_expired_keys_as_long_as_there_are_more(folder: Path, behind: Nginx, mariadb: MariaDB) -> None:
    purge = 'content_by_lua_block { require("ratelimit.asking").purge() ngx.exit(204) }'
    nginx = balancer(
        folder,
        rules_of(limit(store="shared"), stores={"shared": mariadb.store()}),
        behind.port,
        workers=1,
        extra=lambda text: text.replace("location / {", f"location = /purge {{ {purge} }}\n    location / {{"),
    )
    mariadb.sql(MANY, "ratelimit")
    count = "SELECT COUNT(*) FROM ratelimit_state WHERE k LIKE 'past-%'"
    with running(nginx):
        assert httpx.get(nginx.url + "/purge", timeout=30).status_code == 204
        eventually(lambda: mariadb.sql(count, "ratelimit") == "0")


@pytest.mark.parametrize("kind", ["redis", "mariadb", "sidecar"])
def test_what_a_stalled_store_is_asked_and_nobody_waits_for_is_not_counted_when_it_goes_on(
    folder: Path, behind: Nginx, request: pytest.FixtureRequest, kind: str
) -> None:
    """Each of these requests is rejected after the store's timeout; it used to be counted all the same."""
    store = request.getfixturevalue("cells")[0] if kind == "sidecar" else request.getfixturevalue(kind)
    stalls = {**store.store(), "timeout": "150ms", "breaker": {"failures": 1000}}
    rules = rules_of(limit(name=f"late-{kind}", store="far", when_store_fails="closed"), stores={"far": stalls})
    with running(nginx := balancer(folder, rules, behind.port, workers=1)):
        eventually(lambda: get(nginx, "late").status_code == 200)
        before = left(eventually(lambda: (found := get(nginx, "late")).status_code == 200 and found))
        store.send(signal.SIGSTOP)
        try:
            assert [get(nginx, "late").status_code for _ in range(5)] == [429] * 5
        finally:
            store.send(signal.SIGCONT)
        eventually(lambda: get(nginx, "another").status_code == 200)
        assert left(get(nginx, "late")) == before - 1
