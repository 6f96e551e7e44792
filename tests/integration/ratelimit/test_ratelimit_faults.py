"""Stores that die, freeze, forget and return, and an nginx that is reloaded, under load; the shop is behind it too.

The filter never answers 5xx, follows the policy meanwhile, and recovers without a restart.
"""

import os
import re
import signal
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from ratelimit_fixture import MariaDB, Nginx, Redis, balancer, burst, eventually, get, limit, rules_of, running
from tests.support.asking import asking

POLICIES = ("open", "closed", "local")


@dataclass(frozen=True)
class Case:
    """A store, and the fixture of what the balancer stands before."""

    store: str
    served: str = "behind"

    @property
    def name(self) -> str:
        return f"fragile-{self.store}-{self.served}"


CASES = {"redis": Case("redis"), "mariadb": Case("mariadb"), "redis-shop": Case("redis", "shop")}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


@pytest.fixture(scope="module")
def store(case: Case, workshop: Path) -> Iterator[Any]:
    if case.store == "redis":
        component: Any = Redis(workshop / case.name).start()
    else:
        component = MariaDB(workshop / case.name).install()
    yield component
    component.stop()


@pytest.fixture(scope="module")
def nginx(case: Case, store: Any, workshop: Path, request: pytest.FixtureRequest) -> Iterator[Nginx]:
    stores = {"shared": {**store.store(), "timeout": "50ms"}}
    limits = [
        limit(name=p, store="shared", when_store_fails=p, limit=10**6, match={"path_prefix": f"/{p}/"})
        for p in POLICIES
    ]
    few = limit(name="few", store="shared", when_store_fails="local", limit=10, match={"path_prefix": "/few/"})
    served: Nginx = request.getfixturevalue(case.served)
    rules = rules_of(*limits, few, stores=stores, balancers=2)
    nginx = balancer(workshop / f"{case.name}-balancer", rules, served.port)
    with running(nginx):
        yield nginx


@contextmanager
def load(nginx: Nginx) -> Iterator[Callable[[], Counter[tuple[str, int]]]]:
    """Send requests of every policy until the block ends; give a view of (policy, status) counts."""
    seen: Counter[tuple[str, int]] = Counter()

    def ask(client: httpx.Client, policy: str) -> None:
        seen[policy, client.get(f"{nginx.url}/{policy}/").status_code] += 1

    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(headers={"X-Api-Key": "loaded"}, timeout=10))
        stack.enter_context(asking([partial(ask, client, p) for p in POLICIES for _ in range(2)], pause_s=0.005))
        yield lambda: Counter(seen)


def store_is_used(nginx: Nginx) -> bool:
    answer = get(nginx, "probe", "/closed/")
    return answer.status_code == 200


def watch_outage(nginx: Nginx, begin: Callable[[], Any], end: Callable[[], Any]) -> Counter[tuple[str, int]]:
    eventually(lambda: store_is_used(nginx))
    with load(nginx) as seen:
        eventually(lambda: seen()["closed", 200] > 5)
        begin()
        eventually(lambda: seen()["closed", 429] > 20)
        end()
        eventually(lambda: store_is_used(nginx), 30)
        before = seen()["closed", 200]
        eventually(lambda: seen()["closed", 200] > before + 5)
        return seen()


def no_server_error(seen: Counter[tuple[str, int]]) -> bool:
    return all(status in (200, 429) for _, status in seen)


def test_a_killed_store_is_survived_by_policy_and_taken_back_when_it_returns(nginx: Nginx, store: Any) -> None:
    seen = watch_outage(nginx, lambda: store.stop(signal.SIGKILL), store.start)
    assert no_server_error(seen)
    assert seen["open", 429] == 0
    assert seen["local", 429] == 0


def test_a_frozen_store_is_survived_by_policy_and_taken_back_when_it_thaws(nginx: Nginx, store: Any) -> None:
    seen = watch_outage(nginx, lambda: store.send(signal.SIGSTOP), lambda: store.send(signal.SIGCONT))
    assert no_server_error(seen)
    assert seen["open", 429] == 0


def test_a_frozen_store_is_asked_by_few_requests_because_its_breaker_opens(nginx: Nginx, store: Any) -> None:
    eventually(lambda: store_is_used(nginx))
    store.send(signal.SIGSTOP)
    try:
        skipped = nginx.metric("ratelimit_store_skipped_total")
        for _ in range(60):
            get(nginx, "slow", "/open/")
        eventually(lambda: nginx.metric("ratelimit_store_skipped_total") > skipped + 20)
    finally:
        store.send(signal.SIGCONT)


def test_one_short_stall_of_a_store_costs_its_own_length_by_policy_and_no_pause(
    folder: Path, behind: Nginx, redis: Redis
) -> None:
    stores = {"shared": {**redis.store(), "timeout": "200ms"}}
    stalled = limit(limit=10**6, store="shared", when_store_fails="open")
    with running(nginx := balancer(folder, rules_of(stalled, stores=stores), behind.port, workers=1)):
        eventually(lambda: "RateLimit" in get(nginx, "stalled").headers)
        redis.ask("CLIENT", "PAUSE", "330", "ALL")
        assert burst([nginx], 64, "stalled") == {200: 64}
        assert nginx.metric("ratelimit_store_failures_total", reason="timeout") > 5
        assert nginx.metric("ratelimit_store_skipped_total") == 0
        assert "RateLimit" in get(nginx, "stalled").headers


def test_a_flushed_store_begins_again_without_an_error(nginx: Nginx, store: Any) -> None:
    eventually(lambda: store_is_used(nginx))
    with load(nginx) as seen:
        for _ in range(3):
            store.flush()
            time.sleep(0.05)
        eventually(lambda: sum(seen().values()) > 100)
        assert no_server_error(seen())


def test_the_local_policy_admits_the_limit_divided_by_the_balancers(nginx: Nginx, store: Any) -> None:
    eventually(lambda: store_is_used(nginx))
    store.stop(signal.SIGKILL)
    try:
        statuses = Counter(get(nginx, "alone", "/few/").status_code for _ in range(20))
    finally:
        store.start()
    assert statuses == {200: 5, 429: 15}
    eventually(lambda: nginx.metric("ratelimit_decided_by_total", by="policy_local") >= 20)


def broken(function: str) -> Callable[[str], str]:
    """Replace a function of the filter by one that fails, for a configuration."""
    module, name = function.split(".")
    breaks = f'require("ratelimit.{module}").{name} = function() error("broken") end'
    return lambda text: re.sub(r"(init_by_lua_block \{.*) \}", rf"\1 {breaks} }}", text)


def by_policy(nginx: Nginx) -> dict[str, list[int]]:
    """Send three requests under each policy and return their statuses."""
    return {p: [get(nginx, "faulty", f"/{p}/").status_code for _ in range(3)] for p in POLICIES}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("deciding.all", {"open": [200, 200, 200], "closed": [429, 429, 429], "local": [200, 429, 429]}),
        ("subjects.one", {"open": [200, 200, 200], "closed": [429, 429, 429], "local": [429, 429, 429]}),
        ("decisions.add", {p: [200, 200, 429] for p in POLICIES}),
        ("answers.describe", {p: [200, 200, 429] for p in POLICIES}),
    ],
)
def test_an_error_inside_the_filter_is_counted_and_follows_each_limits_policy(
    folder: Path, behind: Nginx, redis: Redis, function: str, expected: dict[str, list[int]]
) -> None:
    limits = [
        limit(name=p, store="redis", when_store_fails=p, limit=2, match={"path_prefix": f"/{p}/"}) for p in POLICIES
    ]
    redis.flush()
    rules = rules_of(*limits, stores={"redis": redis.store()}, balancers=2)
    with running(nginx := balancer(folder, rules, behind.port, workers=1, extra=broken(function))):
        assert by_policy(nginx) == expected
        assert get(nginx, "faulty", "/unlimited/").status_code == 200
        assert nginx.metric("ratelimit_faults_total") >= 9
        assert "broken" in nginx.errors()


def test_an_error_under_the_only_limit_of_the_rules_follows_its_policy(folder: Path, behind: Nginx) -> None:
    rules = rules_of(limit(limit=4, when_store_fails="closed"))
    with running(nginx := balancer(folder, rules, behind.port, extra=broken("deciding.nearby"))):
        assert get(nginx).status_code == 429


class Dawdler(threading.Thread):
    """A Redis that sends its answer byte by byte, each well within a timeout, all of it far beyond one."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requested = 0

    def run(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self.answer, args=(self.listener.accept()[0],), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        numbers = struct.pack("<7d", 1.7e15, 1, 9, 1e6, 0, 0, 1)
        reply = b"$%d\r\n%s\r\n" % (len(numbers), numbers)
        with suppress(OSError), connection:
            connection.recv(65536)
            self.requested += 1
            for byte in reply:
                connection.sendall(bytes([byte]))
                time.sleep(0.02)

    def stop(self) -> None:
        self.listener.close()


def test_a_store_that_answers_in_pieces_has_one_timeout_for_all_of_them(folder: Path, behind: Nginx) -> None:
    store = Dawdler()
    stores = {"slow": {"kind": "redis", "address": f"127.0.0.1:{store.port}", "timeout": "200ms"}}
    slow = limit(store="slow", when_store_fails="closed")
    with running(store, nginx := balancer(folder, rules_of(slow, stores=stores), behind.port)):
        assert get(nginx).status_code == 429
        eventually(lambda: nginx.metric("ratelimit_store_failures_total", reason="timeout") >= 1)
    assert store.requested


def test_a_reload_under_load_drops_no_request_and_keeps_the_counts(folder: Path, served: Nginx) -> None:
    counted = limit(limit=10**6, name="counted")
    with running(nginx := balancer(folder, rules_of(counted), served.port)):
        get(nginx, "kept")
        with _hammer(nginx) as seen:
            for _ in range(3):
                nginx.send(signal.SIGHUP)
                time.sleep(0.2)
            eventually(lambda: seen[200] > 100, 30)
        assert set(seen) == {200}
        assert "r=999998" in get(nginx, "kept").headers["RateLimit"]


def test_a_killed_worker_is_replaced_and_the_counts_stay(folder: Path, served: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit()), served.port)):
        for _ in range(10):
            get(nginx, "kept")
        os.kill(nginx.workers()[0], signal.SIGKILL)
        eventually(lambda: len(nginx.workers()) == 2)
        assert "r=89" in eventually(lambda: _survives(nginx, "kept"))


def test_a_worker_killed_under_load_breaks_its_own_connections_only(folder: Path, served: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit(limit=10**6)), served.port)):
        with _hammer(nginx) as seen:
            for _ in range(2):
                eventually(lambda: len(nginx.workers()) == 2)
                before = seen[200]
                os.kill(nginx.workers()[0], signal.SIGKILL)
                eventually(lambda before=before: seen[200] > before + 30, 30)
        assert {status for status in seen if isinstance(status, int)} == {200}
        used = 10**6 - int(get(nginx, "hammer").headers["RateLimit"].split("r=")[1].split(";")[0])
        # Every answered request was counted once; one whose connection broke may have been counted before.
        assert seen[200] + 1 <= used <= sum(seen.values()) + 1


HOLD = """
local lock = require("ratelimit.stores.lock")
local limit = require("ratelimit.in_force").current.limits[1]
assert(lock.new(0.05):acquire_one(lock.stripe(require("ratelimit.keys").nearby(limit, "header=" .. ngx.var.arg_key))))
require("ffi").cdef("int raise(int number);")
require("ffi").C.raise(9)
"""


def test_a_worker_that_dies_while_it_holds_a_lock_leaves_it_to_the_others(folder: Path, behind: Nginx) -> None:
    (folder / "hold.lua").write_text(HOLD, encoding="utf-8")
    door = f"location = /hold {{ content_by_lua_file {folder}/hold.lua; }}\n    location / {{"
    extra: Callable[[str], str] = lambda text: text.replace("location / {", door)  # noqa: E731
    with running(nginx := balancer(folder, rules_of(limit()), behind.port, extra=extra)):
        assert get(nginx, "held").status_code == 200
        for key in ("held", "a", "b", "c"):
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{nginx.url}/hold?key={key}")
            eventually(lambda: len(nginx.workers()) == 2)
        answers = [get(nginx, key) for key in ("held", "a", "b", "c") for _ in range(20)]
        assert {a.status_code for a in answers} == {200}
        assert nginx.metric("ratelimit_store_failures_total") == 0


def _survives(nginx: Nginx, client: str) -> str:
    try:
        return get(nginx, client).headers["RateLimit"]
    except httpx.TransportError:
        return ""


def test_bad_rules_change_nothing_and_their_problems_are_logged_with_their_places(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit(limit=5)), behind.port)):
        nginx.enforce(rules_of(limit(limit=-1, algorithm="leaky"), stores={"r": {"kind": "redis"}}))
        eventually(lambda: "the rules in force stay" in nginx.errors())
        eventually(lambda: nginx.metric("ratelimit_plan_reloads_total", result="bad") >= 1)
        assert "limits[0].limit: must be a whole number from 1" in nginx.errors()
        assert "limits[0].algorithm: must be one of fixed_window" in nginx.errors()
        assert get(nginx).headers["RateLimit-Policy"] == '"per_client";q=5;w=86400'


@contextmanager
def _hammer(nginx: Nginx) -> Iterator[Counter[int | str]]:
    seen: Counter[int | str] = Counter()

    def ask() -> None:
        try:
            seen[get(nginx, "hammer").status_code] += 1
        except httpx.TransportError as error:
            seen[repr(error)] += 1

    with asking([ask] * 3):
        yield seen
