"""A flush with a real Redis: by itself, and in a round of the load engine."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.integration.run.conftest import entries, left_behind, patternbench

from patternbench.lab import environment, startable, systems
from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import FaultSetup
from patternbench.lab.faults.acting import act_of
from patternbench.lab.faults.cache import CacheConnection
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import Fault

FLUSH = Fault.model_validate({"flush": {}, "where": "cache", "when": {"from": "1s", "for": "1s"}})
SYSTEM = """\
patternbench-system: 1
name: own
about: a cache, what fills it before it is up, and a target
components:
  - redis: {name: cache, reset: none}
  - process:
      name: filled
      command: python3 -m http.server ${self.port.http} --bind 127.0.0.1
      env: {REDISCLI_AUTH: "${cache.url.password}"}
      prepare: ["redis-cli -e -p ${cache.url.port} MSET a 1 b 2 c 3"]
      reset: restart
  - target: {service_time: "fixed:1ms", reset: none}
endpoint: target
"""
STUDY = """\
patternbench: 1
name: flushed
system: own
rounds: 1
warm_up: 200ms
time_limit: 30s
workload: {open: {rate: 50, duration: 4s}, request: {path: /bytes/10}}
faults:
  - {flush: {}, where: cache, when: {from: 1500ms, for: 1s}}
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A cache and a target."""
    folder = tmp_path_factory.mktemp("flush")
    written(folder)
    system = systems.load("own", folder)
    if lacking := startable.needs_problems(system, {}):
        pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
    with environment.named(system, {}, folder / "up") as one:
        yield one


def written(folder: Path) -> None:
    (folder / "systems").mkdir()
    (folder / "systems" / "own.yaml").write_text(SYSTEM)


def asked(up: Environment, *commands: list[str]) -> list[object]:
    with CacheConnection("cache", up.running["cache"].url) as cache:
        return cache.asked(*commands)


def test_a_flush_removes_the_keys_of_all_databases_and_says_how_many_and_when(up: Environment) -> None:
    asked(up, ["FLUSHALL"], ["MSET", "a", "1", "b", "2"], ["SELECT", "3"], ["SET", "text", "two words\r\n*3\r\n"])
    act, before = act_of(FLUSH, "flush", FaultSetup(up, time.monotonic_ns)), time.monotonic_ns()
    began = act.begin()
    after = time.monotonic_ns()
    assert asked(up, ["DBSIZE"], ["SELECT", "3"], ["DBSIZE"]) == [b"0", b"OK", b"0"]
    ended, did = act.end()
    assert before < began < ended < after, "it is over when the keys are gone, not when its window is"
    assert did == {"keys": 3}


def test_a_flush_of_an_empty_cache_is_one_too(up: Environment) -> None:
    asked(up, ["FLUSHALL"])
    act = act_of(FLUSH, "flush", FaultSetup(up, time.monotonic_ns))
    act.begin()
    assert act.end()[1] == {"keys": 0}


def test_a_cache_that_refuses_says_why_and_what_did_not_begin_can_be_ended(up: Environment) -> None:
    url = urlsplit(up.running["cache"].url)
    with pytest.raises(StartError, match="the cache cache refused: WRONGPASS"):
        CacheConnection("cache", f"redis://:wrong@{url.hostname}:{url.port}")
    act = act_of(FLUSH, "flush", FaultSetup(up, lambda: 7))
    assert act.end() == (7, {})


def test_a_place_where_no_cache_is_and_one_that_speaks_otherwise_are_told() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with CacheConnection("cache", f"redis://127.0.0.1:{port}") as cache:
            there, _ = server.accept()
            with closing(there):
                there.sendall(b"HTTP/1.1 400 Bad Request\r\n")
                there.shutdown(socket.SHUT_WR)
                with pytest.raises(StartError, match="what it says is not Redis's protocol"):
                    cache.flushed()
    with pytest.raises(StartError, match=r"the cache cache doesn't answer: .*refused"):
        CacheConnection("cache", f"redis://127.0.0.1:{port}")


def test_a_round_records_when_a_cache_was_flushed_and_how_many_keys_it_had(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "flushed.yaml").write_text(STUDY)
    done = patternbench("run", str(tmp_path / "flushed.yaml"), "--out", str(tmp_path / "run"))
    (entry,) = entries(tmp_path / "run")
    assert entry["status"] == "done", done.stdout + done.stderr
    (acted,) = entry["faults"]
    assert (acted["kind"], acted["where"], acted["deeds"]) == ("flush", "cache", {"keys": 3.0})
    assert 1.7 - 0.02 <= acted["began_us"] / 1e6 < acted["ended_us"] / 1e6 < 2.7
    assert not left_behind(str(tmp_path))


def test_a_flush_where_there_is_no_cache_is_refused_before_anything_starts(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "flushed.yaml").write_text(STUDY.replace("where: cache", "where: target"))
    done = patternbench("run", str(tmp_path / "flushed.yaml"), "--out", str(tmp_path / "run"))
    assert done.returncode != 0
    assert "flush empties a cache, and target doesn't speak Redis's protocol" in done.stderr + done.stdout
    assert "allowed: cache" in done.stderr + done.stdout
