"""A host changes what runs into what is wanted next: what can stays up, and is as if it had just been started so."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from tests.integration.run.conftest import left_behind

from patternbench.lab.host.calls import Call
from patternbench.lab.host.changes import every_round
from patternbench.lab.host.launch import File, FreshStart, Launch, LiveCall, LiveFile, Preparation
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import Answers, Http
from patternbench.terms.units import Duration

SERVICE = """
import json, os, signal, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

state = {"calls": [], "hits": 0, "pid": os.getpid(), "read": 0, "refuses": False}

def read(*_):
    if os.path.exists("config.json"):
        state["config"] = json.load(open("config.json"))
        state["read"] += 1

class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status=200):
        body = json.dumps(state).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        state["hits"] += self.path == "/hit"
        state["refuses"] = state["refuses"] or self.path == "/refuse"
        self.answer()

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        state["calls"].append(body)
        self.answer(500 if state["refuses"] else 200)

    def do_DELETE(self):
        state["hits"] = 0
        self.answer(500 if state["refuses"] else 204)

    def log_message(self, *_):
        pass

class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # a client that goes away in mid-request, as a probe may: no words of the service's

signal.signal(signal.SIGHUP, read)
read()
Quiet(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
"""


def service(name: str = "shop", **fields: object) -> Launch:
    """A component that tells all that it has been told, and whom it has been told of."""
    served = {"ports": {"http": 0}, "url": "http://127.0.0.1:${self.port.http}", "ready": Http("http")} | fields
    command = (sys.executable, "-u", "-c", SERVICE, "${self.port.http}")
    return Launch(kind="process", name=name, command=command, **served)  # type: ignore[arg-type]


def limited(limit: int, **fields: object) -> Launch:
    """A component with a limit that it takes by a call."""
    call = Call("PUT", "${self.url}/limit", body=f"limit {limit} at ${{self.url}}")
    return service(live=(LiveCall("limit", call),), **fields)


def configured(version: str, **fields: object) -> Launch:
    """A component that reads a file again on SIGHUP, and says which one it has read."""
    config = File("config.json", {"value": version, "change": "${self.change}"})
    acts = Answers("http", "/", '"change": "${self.change}"')
    return service(files=(config,), live=(LiveFile("config.json", "SIGHUP", acts),), **fields)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "host") as local:
        yield local


def state(host: LocalHost, name: str = "shop", path: str = "/") -> dict[str, object]:
    with urlopen(host.running[name].url + path) as answer:
        reported: dict[str, object] = json.load(answer)
        return reported


def reasons(host: LocalHost) -> dict[str, str]:
    return {start.component: start.why for start in host.started}


def test_what_is_wanted_already_is_left_alone(host: LocalHost) -> None:
    host.change([limited(5)])
    assert reasons(host) == {"shop": "it was not up"}
    assert host.started[0].seconds > 0
    host.change([limited(5)])
    assert reasons(host) == {}
    assert state(host)["calls"] == [f"limit 5 at {host.running['shop'].url}"]


def test_a_live_call_is_made_after_the_start_and_again_when_its_content_changes(host: LocalHost) -> None:
    host.change([limited(5)])
    before = state(host)["pid"]
    host.change([limited(6)])
    host.change([limited(6)])
    after, url = state(host), host.running["shop"].url
    assert after["calls"] == [f"limit 5 at {url}", f"limit 6 at {url}"]
    assert (after["pid"], reasons(host)) == (before, {})


def test_a_live_call_leaves_no_connection_open_that_would_keep_the_service_busy(host: LocalHost) -> None:
    host.change([limited(5)])
    port = host.running["shop"].launch.ports["http"]
    remote = [connection.raddr for connection in psutil.Process().net_connections("tcp")]
    assert port not in [address.port for address in remote if address]


def test_a_live_file_is_replaced_and_acts_when_the_change_returns(host: LocalHost) -> None:
    host.change([configured("one")])
    before = state(host)
    for version in ("two", "three"):
        host.change([configured(version)])
        assert state(host)["config"] == {"value": version, "change": "1" if version == "two" else "2"}
    after = state(host)
    assert (after["pid"], after["read"], before["read"]) == (before["pid"], 3, 1)
    assert (host.running["shop"].folder / "config.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in host.running["shop"].folder.iterdir()] == ["config.json"]


def test_a_file_that_does_not_act_in_time_is_reported_and_the_component_is_restarted_next_time(host: LocalHost) -> None:
    never = replace(configured("one", within=Duration.parse("500ms")), live=(deaf := LiveFile("config.json"),))
    host.change([never])
    deaf = replace(deaf, acts=Answers("http", "/", '"change": "1"'))
    with pytest.raises(StartError, match=r"^shop didn't load its new config.json within 500ms: "):
        host.change([replace(configured("two", within=Duration.parse("500ms")), live=(deaf,))])
    assert "shop" not in host.running
    host.change([configured("two")])
    assert state(host)["config"] == {"value": "two", "change": "0"}


def test_what_cannot_be_changed_alive_is_restarted_with_those_that_refer_to_it_and_no_other(
    host: LocalHost,
) -> None:
    def system(setting: str) -> list[Launch]:
        shop = service(env={"SETTING": setting})
        return [
            shop,
            service("front", env={"SHOP": "${shop.url}"}),
            service("other"),
            service("last", after=("front",)),
        ]

    host.change(system("one"))
    before = {name: state(host, name)["pid"] for name in host.running}
    host.change(system("two"))
    assert reasons(host) == {
        "shop": "its env changed",
        "front": "shop, which it refers to, was started",
        "last": "front, which it refers to, was started",
    }
    same = [name for name in host.running if state(host, name)["pid"] == before[name]]
    assert same == ["other"]
    assert len(left_behind(str(host.folder))) == 8, "four components, each under its guard"


def test_who_refers_to_a_started_component_in_a_live_part_alone_is_told_its_new_address(host: LocalHost) -> None:
    def system(setting: str) -> list[Launch]:
        front = service("front", files=(File("config.json", {"to": "${shop.url}"}),), live=(LiveFile("config.json"),))
        return [service(env={"SETTING": setting}), front]

    host.change(system("one"))
    before, first = state(host, "front")["pid"], host.running["shop"].url
    host.change(system("two"))
    assert reasons(host) == {"shop": "its env changed"}
    assert state(host, "front")["pid"] == before
    assert host.running["shop"].url != first
    config = json.loads((host.running["front"].folder / "config.json").read_text())
    assert config == {"to": host.running["shop"].url}


def test_a_component_that_is_not_wanted_any_more_ends_and_a_new_one_starts(host: LocalHost) -> None:
    host.change([service("one"), service("two")])
    before = state(host, "two")["pid"]
    host.change([service("two"), service("three")])
    assert (list(host.running), reasons(host)) == (["two", "three"], {"three": "it was not up"})
    assert state(host, "two")["pid"] == before
    assert not left_behind(str(host.folder / "one"))


def test_no_thread_is_asked_for_a_system_that_stays_as_it_is(host: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    host.change([limited(5), service("other")])
    monkeypatch.setattr("patternbench.lab.host.local_host.ThreadPoolExecutor", None)
    host.change([limited(5), service("other")])
    assert (list(host.running), host.started) == (["shop", "other"], [])
    with pytest.raises(TypeError):
        host.change([limited(6), service("other")])


def test_a_component_that_was_killed_is_restarted_with_its_last_words_as_the_reason(host: LocalHost) -> None:
    host.change([limited(5), service("other")])
    host.running["shop"].process.signal("SIGKILL")
    assert host.running["shop"].process.ended(10)
    host.change([limited(6), service("other")])
    assert reasons(host) == {"shop": "shop ended with code 137: it wrote nothing"}
    assert state(host)["calls"] == [f"limit 6 at {host.running['shop'].url}"]


def test_a_live_call_that_is_refused_is_the_cause_and_the_others_stay_up(host: LocalHost) -> None:
    host.change([limited(5), service("other")])
    before = state(host, "other")["pid"]
    state(host, path="/refuse")
    reported = r"^shop didn't accept its live setting `limit`: PUT http://127.0.0.1:\d+/limit was answered with 500 \("
    with pytest.raises(StartError, match=reported):
        host.change([limited(6), service("other")])
    assert list(host.running) == ["other"]
    host.change([limited(6), service("other")])
    assert reasons(host) == {"shop": "it was not up"}
    assert (state(host)["calls"], state(host, "other")["pid"]) == ([f"limit 6 at {host.running['shop'].url}"], before)


def test_a_reset_by_call_and_by_command_leaves_the_component_up_and_its_settings_as_they_were(
    host: LocalHost,
) -> None:
    resets = (Call("DELETE", "${self.url}/hits"), Preparation(("touch", "${self.folder}/was-reset")))
    host.change([limited(5, reset=resets), service("other")])
    before = state(host, path="/hit")
    assert host.reset(but=["shop"]) == []
    assert state(host)["hits"] == 1
    assert host.reset(but=[]) == ["shop"]
    after = state(host)
    assert (before["hits"], after["hits"], after["pid"]) == (1, 0, before["pid"])
    assert after["calls"] == [f"limit 5 at {host.running['shop'].url}"] * 2, "a reset may undo what was set"
    assert (host.running["shop"].folder / "was-reset").exists()


@pytest.mark.parametrize(
    ("reset", "cause"),
    [
        (Call("DELETE", "${self.url}/hits"), r"DELETE http://127.0.0.1:\d+/hits was answered with 500"),
        (Preparation(("sh", "-c", "echo no such table >&2; exit 3")), "sh ended with code 3: no such table"),
    ],
    ids=["call", "command"],
)
def test_a_reset_that_fails_is_reported_and_its_component_is_started_by_the_next_change(
    host: LocalHost, reset: Call | Preparation, cause: str
) -> None:
    host.change([service(reset=(reset,))])
    state(host, path="/refuse")
    with pytest.raises(StartError, match=f"^shop could not be reset: {cause}"):
        host.reset(but=[])
    host.change([service()])
    assert reasons(host) == {"shop": "it was not up"}


def test_a_component_that_is_restarted_at_the_same_address_takes_its_live_settings_again(host: LocalHost) -> None:
    host.change([limited(5)])
    host.running["shop"].process.signal("SIGKILL")
    assert host.running["shop"].process.ended(10)
    host.restart("shop")
    assert state(host)["calls"] == [f"limit 5 at {host.running['shop'].url}"]


def test_a_reset_by_restart_gives_the_component_an_empty_folder(host: LocalHost) -> None:
    launches = [service(reset=(FreshStart(),)), service("other")]
    restarts: Mapping[str, str] = every_round(launches)
    host.change(launches, restarts)
    (host.running["shop"].folder / "left").touch()
    host.change(launches, restarts)
    assert reasons(host) == {"shop": "its reset is a restart"}
    assert not (host.running["shop"].folder / "left").exists()


def test_many_changes_and_resets_leave_no_process_and_no_open_file(host: LocalHost) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    reset = (Preparation(("true",)),)
    host.change([limited(0, reset=reset)])
    host.reset(but=[])
    before, running = opened(), len(left_behind(str(host.folder)))
    for limit in range(1, 20):
        host.change([limited(limit, reset=reset)])
        host.reset(but=[])
    assert (opened(), len(left_behind(str(host.folder)))) == (before, running)


def test_nothing_is_left_when_a_change_is_interrupted(tmp_path: Path) -> None:
    interrupted = threading.Event()

    def pause(seconds: float) -> None:
        if interrupted.is_set():
            signal.raise_signal(signal.SIGINT)
        time.sleep(seconds)

    host = LocalHost(tmp_path / "host", pause=pause)
    host.change([configured("one"), service("other")])
    interrupted.set()
    never = LiveFile("config.json", acts=Answers("http", "/", "never"))
    # A shell that starts tests in its background has them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            host.change([replace(configured("two"), live=(never,)), service("other")])
    finally:
        signal.signal(signal.SIGINT, before)
    assert (host.running, left_behind(str(tmp_path))) == ({}, [])
