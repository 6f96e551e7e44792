"""A real Envoy as gateway, with two small services behind it: each setting acts, and is changed while it runs."""

from __future__ import annotations

import http.client
import json
import math
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.gateway import Gateway
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.ready import Port

SERVICE = """
import json, sys, time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

name, asked = sys.argv[2], Counter()

class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        asked[self.path] += 1
        if self.path == "/slow":
            time.sleep(1)
        fails = self.path.startswith("/fails-at-first") and asked[self.path] == 1 or self.path == f"/fails-at/{name}"
        body = json.dumps({"name": name, "path": self.path, "asked": asked[self.path]}).encode()
        self.send_response(503 if fails else 429 if self.path == "/full" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
"""
REPLICAS = ("shop-1", "shop-2")
NEIGHBOURS = ComponentRegistry(REPLICAS, {"shop": REPLICAS})
MANY = 400
EACH_USER = {"per": "X-Api-Key", "fill_interval": "1h"}


def service(name: str) -> Launch:
    command = (sys.executable, "-c", SERVICE, "${self.port.http}", name)
    url = "http://127.0.0.1:${self.port.http}"
    return Launch("process", name, command, Port("http"), ports={"http": 0}, url=url, reset=())


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHost]:
    with LocalHost(tmp_path_factory.mktemp("gateway")) as local:
        yield local


def up(host: LocalHost, **settings: object) -> list[str]:
    """A gateway with these settings in front of both services; returns which components were started for it."""
    gateway = Gateway.model_validate({"routes": [{"to": "shop"}], **settings})
    host.change([*map(service, REPLICAS), gateway.describe("edge", NEIGHBOURS)])
    return [start.component for start in host.started]


def balanced(host: LocalHost, **settings: object) -> list[str]:
    """A gateway with one cluster with these settings."""
    return up(host, clusters={"shop": {"to": "shop", **settings}})


def connection(host: LocalHost) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(host.running["edge"].url.removeprefix("http://"), timeout=10)


def get(host: LocalHost, path: str = "/", **headers: str) -> tuple[int, dict[str, str], dict[str, object]]:
    asking = connection(host)
    asking.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = asking.getresponse()
    body = answer.read()
    asking.close()
    reported = json.loads(body) if body.startswith(b"{") else {}
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, reported


def statuses(host: LocalHost, times: int, path: str = "/", **headers: str) -> list[int]:
    return [get(host, path, **headers)[0] for _ in range(times)]


def names(host: LocalHost, times: int) -> Counter[object]:
    """Which service has answered how often."""
    return Counter(get(host)[2]["name"] for _ in range(times))


@contextmanager
def load(host: LocalHost) -> Iterator[Counter[object]]:
    """Requests of four users at once, as long as the context lasts: how often each status or error came."""
    over, seen, lock = threading.Event(), Counter[object](), threading.Lock()

    def use() -> None:
        asking = connection(host)
        while not over.is_set():
            try:
                asking.request("GET", "/")
                answer = asking.getresponse()
                answer.read()
                outcome: object = answer.status
            except (OSError, http.client.HTTPException) as error:
                outcome, asking = repr(error), connection(host)
            with lock:
                seen[outcome] += 1

    users = [threading.Thread(target=use) for _ in range(4)]
    for user in users:
        user.start()
    try:
        yield seen
    finally:
        over.set()
        for user in users:
            user.join()


def settle(seen: Counter[object], more: int = 200) -> None:
    """Return once so many more requests were answered."""
    expected, patience = seen.total() + more, threading.Event()
    while seen.total() < expected:
        patience.wait(0.01)


@pytest.mark.parametrize(("weights", "share"), [("3:1", 0.75), ([1, 1], 0.5), ("1:9", 0.1), ("0:1", 0.0)])
def test_weights_share_requests_out_within_binomial_bounds(host: LocalHost, weights: object, share: float) -> None:
    balanced(host, balancing="weighted", weights=weights)
    deviation = abs(names(host, MANY)["shop-1"] - MANY * share)
    assert deviation <= 4 * math.sqrt(MANY * share * (1 - share))


@pytest.mark.parametrize("balancing", ["round_robin", "random", "least_request"])
def test_every_way_of_balancing_uses_all_replicas_alike(host: LocalHost, balancing: str) -> None:
    balanced(host, balancing=balancing)
    answered = names(host, MANY)["shop-1"]
    assert abs(answered - MANY / 2) <= 4 * math.sqrt(MANY / 4)
    assert (answered == MANY / 2) or balancing != "round_robin"


def test_a_limit_lets_exactly_its_tokens_through_and_says_that_it_was_the_gateway(host: LocalHost) -> None:
    up(host, limit={"max_tokens": 7, "fill_interval": "1h"})
    assert statuses(host, 10) == [200] * 7 + [429] * 3
    assert get(host)[1]["x-envoy-ratelimited"] == "true"
    up(host)
    status, headers, _ = get(host, "/full")
    assert (status, headers.get("x-envoy-ratelimited")) == (429, None)


def test_a_changed_limit_and_a_renewed_one_begin_with_all_tokens_and_without_a_start(host: LocalHost) -> None:
    up(host, limit={"max_tokens": 7, "fill_interval": "1h"})
    statuses(host, 7)
    assert up(host, limit={"max_tokens": 3, "fill_interval": "1h"}) == []
    assert statuses(host, 4) == [200] * 3 + [429]
    assert up(host, limit={"max_tokens": 3, "fill_interval": "1h"}) == []
    assert statuses(host, 1) == [429]
    assert host.reset(but=()) == ["edge"]
    assert statuses(host, 4) == [200] * 3 + [429]
    assert up(host, limit={"max_tokens": "none"}) == []
    assert statuses(host, 10) == [200] * 10


def test_tokens_come_back_evenly_over_the_interval(host: LocalHost) -> None:
    up(host, limit={"max_tokens": 2, "tokens_per_fill": 100, "fill_interval": "100ms"})
    with load(host) as seen:
        settle(seen, 300)
    assert seen[200] > 2
    assert set(seen) <= {200, 429}


def test_each_value_of_a_header_has_its_own_bucket(host: LocalHost) -> None:
    values = {"gold": {"max_tokens": 5, "fill_interval": "1h"}}
    up(host, limit={"max_tokens": 2, "values": values, **EACH_USER})
    for user in ("ann", "bob"):
        assert statuses(host, 3, X_Api_Key=user) == [200, 200, 429]
    assert statuses(host, 6, X_Api_Key="gold") == [200] * 5 + [429]
    assert statuses(host, 3) == [200, 200, 429]


def test_a_route_has_its_own_limit_or_none(host: LocalHost) -> None:
    limit = {"max_tokens": 1, "fill_interval": "1h"}
    routes = [{"prefix": "/free", "to": "shop", "limit": {}}, {"prefix": "/dear", "to": "shop", "limit": limit}]
    up(host, routes=[*routes, {"to": "shop"}], limit={**limit, "max_tokens": 2})
    assert statuses(host, 5, "/free") == [200] * 5
    assert statuses(host, 2, "/dear") == [200, 429]
    assert statuses(host, 3) == [200, 200, 429]


def test_a_path_decides_which_service_answers_and_what_it_is_asked(host: LocalHost) -> None:
    routes = [
        {"prefix": "/one", "to": "shop-1", "rewrite": "/"},
        {"prefix": "/two", "to": "shop-2", "rewrite": "/deep"},
        {"prefix": "/both", "to": "all"},
    ]
    up(host, routes=routes, clusters={"all": {"to": ["shop-1", "shop-2"]}})
    requested = [get(host, path) for path in ("/one/items?a=b", "/one", "/two/items", "/both")]
    assert [reported["path"] for _, _, reported in requested] == ["/items?a=b", "/", "/deep/items", "/both"]
    assert [reported["name"] for _, _, reported in requested[:3]] == ["shop-1", "shop-1", "shop-2"]
    assert get(host, "/else")[0] == 404


def test_an_attempt_that_fails_is_retried_so_often_as_is_said_and_not_by_default(host: LocalHost) -> None:
    up(host, routes=[{"to": "shop-1"}])
    assert get(host, "/fails-at-first/1")[0] == 503
    up(host, routes=[{"to": "shop-1"}], retries={"num_retries": 1, "retry_on": "5xx", "base_interval": "1ms"})
    status, _, reported = get(host, "/fails-at-first/2")
    assert (status, reported["asked"]) == (200, 2)


def test_a_retry_goes_to_another_host_where_that_is_said(host: LocalHost) -> None:
    clusters = {"shop": {"to": "shop", "balancing": "random"}}
    retries = {"num_retries": 1, "base_interval": "1ms"}
    up(host, clusters=clusters, retries=retries)
    assert 503 in statuses(host, 60, "/fails-at/shop-1")
    up(host, clusters=clusters, retries={**retries, "other_host": True})
    assert statuses(host, 60, "/fails-at/shop-1") == [200] * 60


def test_an_answer_that_takes_too_long_is_given_up_and_a_breaker_turns_away_at_once(host: LocalHost) -> None:
    up(host, timeout="100ms")
    assert get(host, "/slow")[0] == 504
    balanced(host, circuit_breakers={"max_requests": 0})
    status, headers, _ = get(host)
    assert (status, headers["x-envoy-overloaded"]) == (503, "true")


def test_a_host_that_fails_so_often_in_a_row_is_left_out_until_the_next_round(host: LocalHost) -> None:
    outliers = {"consecutive_5xx": 3, "base_ejection_time": "300s"}
    balanced(host, outlier_detection=outliers, update_merge_window="0ms")
    answers = Counter(statuses(host, 40, "/fails-at/shop-2"))
    assert answers == {200: 37, 503: 3}
    host.reset(but=())
    assert Counter(statuses(host, 2, "/fails-at/shop-2")) == {200: 1, 503: 1}
    balanced(host)
    assert Counter(statuses(host, 40, "/fails-at/shop-2")) == {200: 20, 503: 20}


def test_limits_weights_and_retries_change_under_load_without_a_failed_request(host: LocalHost) -> None:
    up(host)
    with load(host) as seen:
        settle(seen)
        for weights in ("1:1", "9:1", "1:9", "0:1"):
            assert balanced(host, balancing="weighted", weights=weights) == []
            settle(seen)
        assert names(host, 20) == {"shop-2": 20}
        limit = {"max_tokens": 1_000_000, "fill_interval": "1s"}
        assert up(host, limit=limit, retries={"num_retries": 2}, timeout="5s") == []
        settle(seen)
    assert set(seen) == {200}


def test_load_continues_when_a_replica_is_killed_and_uses_the_one_that_comes_in_its_place(host: LocalHost) -> None:
    settings = {
        "clusters": {"shop": {"to": "shop", "outlier_detection": {"consecutive_gateway_failure": 1}}},
        "retries": {"num_retries": 3, "retry_on": "reset,connect-failure", "other_host": True},
    }
    up(host, **settings)
    with load(host) as seen:
        settle(seen)
        host.running["shop-2"].process.signal(signal.SIGKILL.name)
        settle(seen)
        assert names(host, 10) == {"shop-1": 10}
        assert up(host, **settings) == ["shop-2"]
        settle(seen)
    assert set(seen) == {200}
    assert set(names(host, 10)) == set(REPLICAS)


def test_other_clusters_start_the_gateway_again(host: LocalHost) -> None:
    up(host)
    assert up(host, routes=[{"to": "shop-2"}]) == ["edge"]
    assert names(host, 4) == {"shop-2": 4}
