"""A client with many connections on one key: MariaDB locks its row, and no one else may notice."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from ratelimit_fixture import MariaDB, Nginx, balancer, burst, eventually, get, limit, rules_of, running
from tests.support.asking import asking

HOLD = """
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
SELECT k FROM ratelimit_state WHERE k LIKE 'pb:{header=greedy}%' FOR UPDATE;
SELECT SLEEP(3600);
"""


@pytest.fixture(scope="module")
def pair(workshop: Path, behind: Nginx, mariadb: MariaDB) -> Iterator[list[Nginx]]:
    stores = {"shared": {**mariadb.store(), "timeout": "250ms", "pool": 8}}
    limits = [
        limit(name=p, store="shared", when_store_fails=p, limit=10**6, match={"path_prefix": f"/{p}/"})
        for p in ("open", "closed", "local")
    ]
    limits.append(limit(name="hundred", store="shared", when_store_fails="local", match={"path_prefix": "/hundred/"}))
    small = limit(name="per_path", key={"from": "query", "name": "q"}, match={"path_prefix": "/hundred/"})
    limits.append({**small, "store": "shared", "limit": 1000, "missing_key": "skip"})
    both: Any = [
        balancer(workshop / f"busy-{n}", rules_of(*limits, stores=stores), behind.port) for n in ("one", "two")
    ]
    with running(*both):
        for nginx in both:
            eventually(lambda nginx=nginx: "r=" in get(nginx, "first", "/closed/").headers["RateLimit"])
        yield both


@contextmanager
def locked_row(mariadb: MariaDB) -> Iterator[None]:
    """Hold the lock on the rows of the client ``greedy``, as a transaction that does not come to its end."""
    command = ["mariadb", "--no-defaults", f"--socket={mariadb.socket}", "-uroot", "-N", "-B", "ratelimit"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    ) as holder:
        assert holder.stdin
        holder.stdin.write(HOLD)
        holder.stdin.close()
        holding = "SELECT id FROM information_schema.processlist WHERE info = 'SELECT SLEEP(3600)'"
        number = eventually(lambda: mariadb.sql(holding))
        try:
            yield
        finally:
            mariadb.sql(f"KILL {number}")
            holder.wait(10)


@contextmanager
def many(nginx: Nginx, path: str) -> Iterator[list[int]]:
    """Ask as one client over 64 connections until the block ends; give the statuses."""
    statuses: list[int] = []
    limits = httpx.Limits(max_keepalive_connections=64)
    with httpx.Client(headers={"X-Api-Key": "greedy"}, timeout=30, limits=limits) as client:

        def ask() -> None:
            statuses.append(client.get(nginx.url + path).status_code)

        with asking([ask] * 64):
            yield statuses


def by_whom(nginxes: list[Nginx], client: str, requests: int) -> set[str]:
    """Return who decided on a client's requests, once the log has them all."""

    def decided() -> list[str]:
        return [row["decided_by"] for n in nginxes for row in n.decisions() if row["client"] == f"header={client}"]

    eventually(lambda: len(decided()) >= requests)
    return set(decided())


def test_64_connections_that_wait_for_one_locked_row_hold_up_no_other_client(
    pair: list[Nginx], mariadb: MariaDB
) -> None:
    nginx = pair[0]
    get(nginx, "greedy", "/closed/")
    with locked_row(mariadb), many(nginx, "/closed/") as statuses:
        eventually(lambda: 429 in statuses)
        answers = [get(nginx, f"bystander-{i % 5}", "/closed/").status_code for i in range(60)]
        eventually(lambda: nginx.metric("ratelimit_store_failures_total", reason="busy") > 20)
    assert answers == [200] * 60
    assert set(statuses) <= {200, 429}
    # A server without time for a query, on a machine that others use too, ends it for that: ``timeout``, and no error.
    assert nginx.metric("ratelimit_store_failures_total", reason="error") == 0
    assert nginx.metric("ratelimit_store_skipped_total") == 0
    for i in range(5):
        assert by_whom([nginx], f"bystander-{i}", 12) == {"store"}
    eventually(lambda: get(nginx, "greedy", "/closed/").status_code == 200)


def test_a_busy_key_falls_under_open_or_is_rejected_and_never_gets_a_second_quota(
    pair: list[Nginx], mariadb: MariaDB
) -> None:
    nginx = pair[0]
    for path in ("/open/", "/local/"):
        get(nginx, "greedy", path)
    with locked_row(mariadb):
        assert get(nginx, "greedy", "/open/").status_code == 200
        rejected = get(nginx, "greedy", "/local/")
    assert (rejected.status_code, rejected.headers["Retry-After"]) == (429, "1")
    assert nginx.metric("ratelimit_decided_by_total", by="policy_local") == 0


def test_a_burst_of_300_over_64_connections_is_admitted_exactly_100_times(pair: list[Nginx]) -> None:
    for run in range(3):
        statuses = burst(pair, 300, f"burst-{run}", users=64, path="/hundred/")
        assert statuses == {200: 100, 429: 200}
        assert by_whom(pair, f"burst-{run}", 300) <= {"store", "over_limit_cache"}


def test_a_burst_under_two_limits_is_admitted_no_more_than_100_times(pair: list[Nginx]) -> None:
    statuses = burst(pair, 300, "two-limits", users=64, path="/hundred/?q=several")
    assert set(statuses) == {200, 429}
    assert statuses[200] <= 100
    assert not by_whom(pair, "two-limits", 300) & {"policy_open", "policy_local"}


def test_requests_for_one_key_go_to_the_server_together(pair: list[Nginx], mariadb: MariaDB) -> None:
    nginx = pair[0]
    count = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'COM_COMMIT'"
    before = int(mariadb.sql(count))
    statuses = burst([nginx], 640, "together", users=64, path="/closed/")
    assert statuses == {200: 640}
    assert int(mariadb.sql(count)) - before < 320


EXPIRED = """
INSERT INTO ratelimit_state (k, expires) SELECT CONCAT('old-', seq), 1 FROM seq_1_to_1000;
INSERT INTO ratelimit_state (k, expires) VALUES ('young', 4000000000);
"""


def test_a_worker_forgets_all_expired_keys_and_no_other(folder: Path, behind: Nginx, mariadb: MariaDB) -> None:
    purge = 'content_by_lua_block { require("ratelimit.asking").purge() ngx.exit(204) }'
    stores = {"shared": mariadb.store()}
    nginx = balancer(
        folder,
        rules_of(limit(store="shared"), stores=stores),
        behind.port,
        extra=lambda text: text.replace("location / {", f"location = /purge {{ {purge} }}\n    location / {{"),
    )
    mariadb.sql(EXPIRED, "ratelimit")
    with running(nginx):
        assert httpx.get(nginx.url + "/purge", timeout=30).status_code == 204
    left = mariadb.sql(
        "SELECT COUNT(*) FROM ratelimit_state WHERE k LIKE 'old-%' UNION ALL "
        "SELECT COUNT(*) FROM ratelimit_state WHERE k = 'young'",
        "ratelimit",
    )
    assert left.split() == ["0", "1"]
