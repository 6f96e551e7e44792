"""A real nginx with the bundling filter before a small service: who waits with whom, and what each of them gets."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.support.http2 import Http2Connection

from patternbench.lab.announced import STATUS
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.bundler import Bundler
from patternbench.lab.config import nginx_config
from patternbench.lab.host.launch import File, Launch
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import Port
from patternbench.terms.units import Duration

SERVICE = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

asked = []

class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        if self.path == "/asked":
            return self.answer(200, json.dumps(asked))
        asked.append(self.path)
        ids = [one for one in self.path.partition("?")[0].removeprefix("/items/").split(",")]
        if "slow" in ids:
            time.sleep(1.5)
        if "fails" in ids:
            return self.answer(503, "busy", "text/plain", ("Retry-After", "3"))
        items = [self.item(one) for one in ids if one != "lost"]
        if len(ids) == 1:
            return self.answer(items[0]["status"], json.dumps(items[0]["body"]))
        self.answer(200, json.dumps({"size": len(items), "items": items}))

    def item(self, one):
        who = self.headers.get("Authorization")
        if one == "nobody":
            return {"id": one, "status": 404, "body": {"title": "Not Found", "status": 404}}
        return {"id": one, "status": 200, "body": {"id": one, "who": who, "none": [], "big": 12345678901234567}}

    def answer(self, status, text, kind="application/json", *headers):
        body = text.encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
"""
ROUTE = {"single": "/items/{id}", "bundle": "/items/{ids}"}
LONG = "10s"
"""A wait that no test waits for: its bundle is full before."""
LONGER_THAN_TWO = "3s"
"""A wait within which a second request comes, on a busy machine too."""
HTTP = httpx.Client(verify=False, trust_env=False, timeout=20)
"""Asks without reading a list of authorities each time, so that requests follow each other closely."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHost]:
    need = nginx_config.need()
    if not need.met:
        pytest.skip(f"{need.name} is missing: {need.how}")
    with LocalHost(tmp_path_factory.mktemp("bundler")) as local:
        yield local


def up(host: LocalHost, size: int, wait: str = LONG, **settings: object) -> list[str]:
    """A bundler with these settings in front of the service; returns which components were started for it."""
    command = (sys.executable, "-c", SERVICE, "${self.port.http}")
    shop = Launch(
        "process", "shop", command, Port("http"), ports={"http": 0}, url="http://127.0.0.1:${self.port.http}", reset=()
    )
    route = {**ROUTE, "size": size, "wait": wait}
    bundler = Bundler.model_validate({"upstream": "shop", "routes": [route], "timeout": "700ms", **settings})
    host.change([shop, bundler.describe("bundler", ComponentRegistry(["shop"]))])
    return [start.component for start in host.started]


def up_with_http2(host: LocalHost, size: int) -> Http2Connection:
    """A connection by HTTP/2 to a bundler whose operator has added an address for it."""
    up(host, size)
    shop, bundler = (host.running[name].declared for name in ("shop", "bundler"))
    listen = "listen 127.0.0.1:${self.port.http};"
    (config,) = (file for file in bundler.files if file.path == "nginx.conf")
    assert isinstance(config.content, str)
    assert listen in config.content
    more = replace(
        config, content=config.content.replace(listen, f"{listen} listen 127.0.0.1:${{self.port.two}} http2;")
    )
    files = tuple(more if file is config else file for file in bundler.files)
    endpoints = {**bundler.endpoints, "two": "http://127.0.0.1:${self.port.two}"}
    host.change([shop, replace(bundler, files=files, ports={**bundler.ports, "two": 0}, endpoints=endpoints)])
    address = urlsplit(host.running["bundler"].endpoints["two"])
    assert address.hostname
    assert address.port
    return Http2Connection(address.hostname, address.port)


def requested(host: LocalHost) -> list[str]:
    """The paths that came to the service so far."""
    paths: list[str] = HTTP.get(f"{host.running['shop'].url}/asked").json()
    return paths


def counted(host: LocalHost, name: str) -> int:
    counts: dict[str, int] = HTTP.get(f"{host.running['bundler'].endpoints[STATUS]}/status").json()
    return counts[name]


def arrived(host: LocalHost, requests: int) -> None:
    """Return once so many requests have come to the bundler since its start."""
    patience = threading.Event()
    for _ in range(500):
        if counted(host, "requests") >= requests:
            return
        patience.wait(0.01)
    raise AssertionError(f"{requests} requests did not arrive")


def get(host: LocalHost, path: str, who: str = "Ann") -> httpx.Response:
    return HTTP.get(host.running["bundler"].url + path, headers={"Authorization": who})


def one_by_one(host: LocalHost, *requests: tuple[str, str]) -> list[httpx.Response]:
    """The answers to requests (id and caller), each sent when the one before it has come."""
    before, answers = counted(host, "requests"), list[Future[httpx.Response]]()
    with ThreadPoolExecutor(len(requests)) as clients:
        for number, (one, who) in enumerate(requests, 1):
            answers.append(clients.submit(get, host, f"/items/{one}", who))
            arrived(host, before + number)
    return [answer.result() for answer in answers]


def of_ann(host: LocalHost, *ids: str) -> list[httpx.Response]:
    return one_by_one(host, *((one, "Ann") for one in ids))


def new_paths(host: LocalHost, before: list[str]) -> list[str]:
    return requested(host)[len(before) :]


def test_requests_of_one_caller_continue_as_one_and_each_gets_his_own(host: LocalHost) -> None:
    up(host, 3)
    before = requested(host)
    answers = of_ann(host, "a", "b", "nobody")
    assert new_paths(host, before) == ["/items/a,b,nobody"]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert answers[0].text == '{"id": "a", "who": "Ann", "none": [], "big": 12345678901234567}'
    assert [answer.headers["Content-Type"] for answer in answers[1:]] == [
        "application/json",
        "application/problem+json",
    ]


def test_items_of_different_callers_are_never_in_one_call(host: LocalHost) -> None:
    up(host, 2)
    before = requested(host)
    answers = one_by_one(host, ("a", "Ann"), ("a", "Bob"), ("b", "Bob"), ("c", "Ann"))
    assert sorted(new_paths(host, before)) == ["/items/a,b", "/items/a,c"]
    assert [answer.json()["who"] for answer in answers] == ["Ann", "Bob", "Bob", "Ann"]


def test_callers_from_different_addresses_are_never_in_one_call(host: LocalHost) -> None:
    """The service is told the address of a bundle's first caller (X-Real-IP)."""
    up(host, 2)
    before, requests = requested(host), counted(host, "requests")
    url = f"{host.running['bundler'].url}/items/"
    with ThreadPoolExecutor(4) as pool:
        for number, (one, address) in enumerate([("a", 1), ("b", 2), ("c", 2), ("d", 1)], 1):
            client = httpx.Client(transport=httpx.HTTPTransport(local_address=f"127.0.0.{address}"))
            pool.submit(client.get, url + one)
            arrived(host, requests + number)
    assert sorted(new_paths(host, before)) == ["/items/a,d", "/items/b,c"]


def test_a_lone_request_goes_through_as_it_came(host: LocalHost) -> None:
    up(host, 2, "20ms")
    before = requested(host)
    assert get(host, "/items/a").json()["id"] == "a"
    assert get(host, "/items/a?of=1").status_code == 200
    assert get(host, "/items/a,b").json()["size"] == 2
    assert new_paths(host, before) == ["/items/a", "/items/a?of=1", "/items/a,b"]


def test_what_two_ask_for_is_asked_for_once(host: LocalHost) -> None:
    up(host, 2)
    before = requested(host)
    answers = of_ann(host, "a", "a", "b")
    assert new_paths(host, before) == ["/items/a,b"]
    assert [answer.json()["id"] for answer in answers] == ["a", "a", "b"]


def test_two_who_ask_for_the_same_one_thing_share_its_answer(host: LocalHost) -> None:
    up(host, 2, LONGER_THAN_TWO)
    before = requested(host)
    assert [answer.status_code for answer in of_ann(host, "nobody", "nobody")] == [404, 404]
    assert new_paths(host, before) == ["/items/nobody"]


def test_who_asked_for_what_the_answer_lacks_gets_a_502_alone(host: LocalHost) -> None:
    up(host, 3)
    assert [answer.status_code for answer in of_ann(host, "a", "lost", "b")] == [200, 502, 200]


def test_a_bundle_that_fails_fails_each_with_its_status(host: LocalHost) -> None:
    up(host, 2)
    answers = of_ann(host, "a", "fails")
    assert [(one.status_code, one.text, one.headers["Retry-After"]) for one in answers] == [(503, "busy", "3")] * 2


def test_a_bundle_that_is_not_answered_in_time_fails_each_with_a_504(host: LocalHost) -> None:
    up(host, 2)
    assert [answer.status_code for answer in of_ann(host, "a", "slow")] == [504, 504]


@pytest.mark.parametrize("gone", [0, 1])
def test_a_client_that_goes_away_hurts_no_one_else(host: LocalHost, gone: int) -> None:
    up(host, 3)
    before, already = counted(host, "requests"), requested(host)
    address = host.running["bundler"].url.removeprefix("http://").split(":")
    with ThreadPoolExecutor(2) as clients:
        answers = []
        for number in range(3):
            if number == gone:
                leaving = socket.create_connection((address[0], int(address[1])))
                leaving.sendall(b"GET /items/c HTTP/1.1\r\nHost: " + ":".join(address).encode())
                leaving.sendall(b"\r\nAuthorization: Ann\r\nAccept: */*\r\n\r\n")
                arrived(host, before + number + 1)
                leaving.close()
            else:
                answers.append(clients.submit(get, host, f"/items/{number}"))
                arrived(host, before + number + 1)
    assert [answer.result().status_code for answer in answers] == [200, 200]
    (path,) = new_paths(host, already)
    assert path.count(",") == 2


def test_who_finds_as_many_waiting_as_may_continues_alone(host: LocalHost) -> None:
    up(host, 2, LONGER_THAN_TWO, most_waiting=1)
    before, turned = requested(host), counted(host, "overflows")
    assert [answer.status_code for answer in of_ann(host, "a", "b")] == [200, 200]
    assert sorted(new_paths(host, before)) == ["/items/a", "/items/b"]
    assert counted(host, "overflows") == turned + 1


def test_requests_over_http2_continue_alone_and_each_gets_its_answer_instead_of_a_502(host: LocalHost) -> None:
    """The Lua module of nginx makes no subrequests over HTTP/2, so a bundle could not be asked for."""
    with up_with_http2(host, 2) as connection:
        before, turned, faults = requested(host), counted(host, "requests"), counted(host, "faults")
        streams = [connection.ask("GET", f"/items/{one}", [("authorization", "Ann")]) for one in "ab"]
        answers = [connection.response(stream) for stream in streams]
    assert [answer.headers[":status"] for answer in answers] == ["200", "200"]
    assert [json.loads(answer.body)["id"] for answer in answers] == ["a", "b"]
    assert sorted(new_paths(host, before)) == ["/items/a", "/items/b"]
    assert (counted(host, "requests"), counted(host, "faults")) == (turned, faults)
    assert [answer.status_code for answer in of_ann(host, "c", "d")] == [200, 200]
    assert requested(host)[-1] == "/items/c,d"


def test_what_is_bundled_changes_while_it_runs(host: LocalHost) -> None:
    up(host, 2)
    assert up(host, 4, LONG) == []
    before = requested(host)
    assert {answer.status_code for answer in of_ann(host, "a", "b", "c", "d")} == {200}
    assert new_paths(host, before) == ["/items/a,b,c,d"]


def test_every_worker_has_the_new_rules_before_it_counts_as_changed(host: LocalHost) -> None:
    up(host, 2, "20ms", workers=2)
    assert up(host, 3, "20ms", workers=2) == []
    reported = HTTP.get(f"{host.running['bundler'].endpoints[STATUS]}/status").json()
    assert reported["changes"] == [host.running["bundler"].facts["change"]] * 2
    assert get(host, "/items/a").status_code == 200


def test_calls_and_requests_are_counted(host: LocalHost) -> None:
    up(host, 2, LONGER_THAN_TWO)
    names = ("requests", "calls", "bundles", "bundled", "full", "faults")
    before, waited = [counted(host, name) for name in names], counted(host, "waited_us")
    of_ann(host, "a", "b")
    get(host, "/items/c")
    get(host, "/other")
    grown = [counted(host, name) - number for name, number in zip(names, before, strict=True)]
    assert grown == [3, 2, 1, 2, 1, 0]
    assert counted(host, "waited_us") - waited >= Duration.parse(LONGER_THAN_TWO).us * 0.99


def test_bad_rules_keep_nginx_from_starting_and_says_why(tmp_path: Path) -> None:
    bundler = Bundler.model_validate(
        {"upstream": "http://127.0.0.1:9", "routes": [{**ROUTE, "size": 2, "wait": "1ms"}]}
    )
    good = bundler.describe("bundler", ComponentRegistry())
    config = next(file for file in good.files if file.path == "nginx.conf")
    bad = replace(good, files=(config, File("rules.json", {"version": 2, "routes": []})), within=Duration.parse("3s"))
    with LocalHost(tmp_path) as local, pytest.raises(StartError, match="version: must be 1"):
        local.change([bad])
