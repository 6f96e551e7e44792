"""Faults between the containers of one Compose project on a real engine, one after another, and what they cost."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from tests.integration.run.conftest import entries, left_behind, patternbench
from tests.support import docker as engines
from tests.support.docker import IMAGE, Docker

from patternbench.lab import environment, systems
from patternbench.lab.environment import Environment
from patternbench.lab.faults.schedule import FaultOutcome, FaultSchedule
from patternbench.lab.host.processes import StartError
from patternbench.lab.topology import Link
from patternbench.study.faults import Fault

OPEN, FAILED = "open for business\n", "failed\n"
WAY = "shop.web -> shop.store"
LINKS = [Link("shop.web", "shop.store", inside=True), Link("shop.store", "shop.web", inside=True)]
SYSTEM = """\
patternbench-system: 1
name: shop
about: a shop in containers, whose page is that of its store
settings: {greeting: {default: hello, about: read by the web service alone}}
components:
  - compose:
      name: shop
      file: ../compose.yaml
      services: {web: 8080}
      env: {GREETING: "${greeting}"}
      ready: /
      within: 30s
endpoint: shop
"""
ASKS = (
    "busybox timeout 2 bash -c '"
    'exec 3<>/dev/tcp/store/8080 || exit; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; '
    'read -r status <&3; [[ $status == *" 200 "* ]] && busybox cat <&3'
    "' 2>/dev/null | busybox grep business || echo failed"
)
"""Asks the store for its page, on a connection of its own."""
PAGE = f"#!/bin/sh\necho; {ASKS}\n"
CALLS = (
    'busybox mkdir -p /www/cgi-bin; busybox printf %s "$$PAGE" > /www/cgi-bin/store; '
    "busybox chmod +x /www/cgi-bin/store; exec httpd -f -p 8080 -h /www"
)
SERVES = ["httpd", "-f", "-p", "8080", "-h", "/www"]


def compose(port: int) -> str:
    """A project of two callers of a store, of which one is published at a port."""
    plain = {"image": IMAGE, "stop_grace_period": "1s"}
    env = {"PAGE": PAGE.replace("$", "$$"), "GREETING": "${GREETING:-}"}
    web = {"command": ["sh", "-c", CALLS], "environment": env, "ports": [f"127.0.0.1:{port}:8080"]}
    services = {
        "web": {**plain, **web, "depends_on": ["store"]},
        "other": {**plain, "command": ["sleep", "600"]},
        "store": {**plain, "command": SERVES},
        "shared": {**plain, "command": ["sleep", "600"], "network_mode": "none"},
    }
    return json.dumps({"services": services})


def installed(folder: Path) -> systems.SystemFile:
    """The system, with its Compose file, in a folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    (folder / "systems").mkdir(exist_ok=True)
    (folder / "compose.yaml").write_text(compose(port))
    (folder / "systems" / "shop.yaml").write_text(SYSTEM)
    return systems.load("shop", folder)


@pytest.fixture(scope="module")
def up(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    folder = tmp_path_factory.mktemp("shop")
    with environment.named(installed(folder), {}, folder / "logs", LINKS) as running:
        yield running
    assert docker.left() == []
    assert left_behind(str(folder)) == []


def page(up: Environment) -> str:
    """What the web service answers, which calls the store for each answer."""
    return httpx.get(f"{up.endpoint}/cgi-bin/store", timeout=10).text


def of_the_other(docker: Docker) -> str:
    """What the other caller gets of the store."""
    container = str(engines.inspected(docker, "other")["Id"])
    return docker("exec", container, "sh", "-c", ASKS) + "\n"


def fault(kind: str, where: str = WAY, **settings: Any) -> Fault:
    return Fault.model_validate({kind: settings, "where": where})


def acted(up: Environment, acting: Fault, expected: str = FAILED) -> FaultOutcome:
    """Have a fault act while the page is asked for, which is well before and after."""
    assert page(up) == OPEN
    with FaultSchedule([acting], up) as schedule:
        assert page(up) == expected
    assert page(up) == OPEN
    assert up.dead() == []
    (outcome,) = schedule.acted
    assert outcome.ended_ns > outcome.began_ns
    return outcome


def test_a_fault_on_a_link_between_services_acts_for_its_caller_alone(docker: Docker, up: Environment) -> None:
    assert page(up) == OPEN
    with FaultSchedule([fault("abort", percentage=100, status=503)], up) as schedule:
        assert page(up) == FAILED
        assert of_the_other(docker) == OPEN
    assert page(up) == OPEN
    (outcome,) = schedule.acted
    assert outcome.counters == {"requests": 1}


def test_a_delay_between_services_is_as_long_as_its_level(up: Environment) -> None:
    began = time.monotonic()
    acted(up, fault("delay", percentage=100, duration="1s"), OPEN)
    assert time.monotonic() - began > 1
    began = time.monotonic()
    assert page(up) == OPEN
    assert time.monotonic() - began < 1, "a busy machine takes its time, but no whole second"


@pytest.mark.parametrize("kind", ["refuse", "partition"])
def test_a_link_between_services_is_cut_and_mended(up: Environment, kind: str) -> None:
    acted(up, fault(kind))


def test_packets_between_services_are_lost_and_counted(docker: Docker, up: Environment) -> None:
    assert acted(up, fault("loss", percentage=100)).counters["packets"] > 0
    some = acted(up, fault("loss", percentage=0.0001), OPEN)
    assert some.counters == {"packets": 0}
    with FaultSchedule([fault("loss", percentage=100)], up):
        assert of_the_other(docker) == OPEN


def test_a_service_is_disconnected_and_comes_back_with_its_name(docker: Docker, up: Environment) -> None:
    acted(up, fault("disconnect", "shop.store"))
    assert of_the_other(docker) == OPEN
    acted(up, fault("abort", percentage=100, status=503))


@pytest.mark.parametrize("kind", ["restart", "crash"])
@pytest.mark.parametrize("service", ["store", "web"])
def test_after_a_new_start_of_either_end_the_faults_on_its_link_act_again(
    docker: Docker, up: Environment, kind: str, service: str
) -> None:
    before = engines.inspected(docker, service)["State"]
    assert isinstance(before, dict)
    with FaultSchedule([fault(kind, f"shop.{service}")], up) as schedule:
        pass
    after = engines.inspected(docker, service)["State"]
    assert isinstance(after, dict)
    assert (after["Status"], after["StartedAt"] != before["StartedAt"]) == ("running", True)
    assert schedule.acted[0].ended_ns > schedule.acted[0].began_ns
    assert up.dead() == []
    acted(up, fault("abort", percentage=100, status=503))


def test_a_new_start_on_purpose_is_no_death_while_the_round_goes_on(up: Environment) -> None:
    with FaultSchedule([fault("restart", "shop.store")], up):
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            assert up.dead() == []
            time.sleep(0.1)
    assert page(up) == OPEN


@pytest.mark.parametrize(
    ("acting", "words"),
    [
        (fault("loss", "shop.web -> shop.stoer", percentage=5), "the project has no service `stoer`"),
        (fault("disconnect", "shop.shared"), "service shared is in no network of its own"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_by_name(up: Environment, acting: Fault, words: str) -> None:
    with pytest.raises(StartError, match=words), FaultSchedule([acting], up):
        pass
    assert not up.dead()


def test_a_container_that_works_beyond_its_limit_is_throttled_and_measured(docker: Docker, up: Environment) -> None:
    container = str(engines.inspected(docker, "other")["Id"])
    meters = up.containers()
    assert len(meters["shop"]) == 4
    (meter,), (idle,) = meters["shop.other"], meters["shop.store"]
    before, before_idle = meter.read(), idle.read()
    with FaultSchedule([fault("cpu_limit", "shop.other", cores=0.1)], up):
        docker("exec", container, "sh", "-c", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done")
    used, unused = meter.read().since(before), idle.read().since(before_idle)
    assert 0.02 < used.cpu_s < 20
    assert used.throttled_s > 0
    assert 0 < used.memory_mib < 64
    assert unused.cpu_s < used.cpu_s
    assert unused.throttled_s == 0


def test_a_link_of_a_service_with_the_network_of_the_machine_is_refused(docker: Docker, tmp_path: Path) -> None:
    system = installed(tmp_path)
    written = json.loads((tmp_path / "compose.yaml").read_text())
    written["services"]["other"]["network_mode"] = "host"
    (tmp_path / "compose.yaml").write_text(json.dumps(written))
    links, before = [Link("shop.other", "shop.store", inside=True)], docker.left()
    with pytest.raises(StartError, match=r"service other has the network of this machine \(`network_mode: host`\)"):
        environment.named(system, {}, tmp_path / "logs", links)
    assert docker.left() == before


STUDY = """\
patternbench: 1
name: contained
system: {name: shop, settings: {greeting: [hello, bye]}}
rounds: 1
time_limit: 60s
workload:
  closed: {users: 1, duration: 3s, think_time: 50ms}
  request: {path: /cgi-bin/store}
strategies:
  - {client: native, baseline: {}}
usage: {store: shop.store, web: shop.web, all: shop}
faults:
  - {abort: {percentage: 100}, where: shop.web -> shop.store, when: {from: 200ms, for: 300ms}}
  - {delay: {percentage: 100, duration: 20ms}, where: shop.web -> shop.store, when: {from: 800ms, for: 300ms}}
  - {loss: {percentage: 50}, where: shop.web -> shop.store, when: {from: 1400ms, for: 300ms}}
  - {disconnect: {}, where: shop.store, when: {from: 2s, for: 300ms}}
"""


def rules() -> list[str]:
    """The rules of this machine's own network, without what they have counted."""
    saved = subprocess.run(["/usr/sbin/iptables-save"], check=True, capture_output=True, text=True).stdout
    return [line.partition(" [")[0] for line in saved.splitlines() if not line.startswith("#")]


def kinds(entry: dict[str, Any]) -> Sequence[str]:
    return [acting["kind"] for acting in entry["faults"]]


@pytest.mark.slow
def test_a_study_of_containers_records_their_faults_and_usage_and_starts_only_what_reads_a_setting(
    docker: Docker, tmp_path: Path
) -> None:
    before, there = rules(), docker.left()
    installed(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    done = patternbench("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run"))
    first, second = entries(tmp_path / "run")
    assert {first["status"], second["status"]} == {"done"}, done.stdout + done.stderr
    assert kinds(first) == kinds(second) == ["abort", "delay", "loss", "disconnect"]
    assert all(acting["began_us"] < acting["ended_us"] for acting in first["faults"])
    assert [start["component"] for start in first["starts"]] == ["shop"]
    assert [(start["component"], start["why"]) for start in second["starts"]] == [("shop.web", "its settings changed")]
    rounds = pd.read_parquet(tmp_path / "run" / "rounds.parquet")
    for name in ("store", "web"):
        assert (rounds[f"usage.{name}.cpu_s"] > 0).all()
        assert (rounds[f"usage.{name}.throttled_s"] >= 0).all()
    assert (rounds["usage.all.memory_mib"] > rounds["usage.web.memory_mib"]).all()
    assert "usage.all.throttled_s" not in rounds
    assert docker.left() == there
    assert left_behind(str(tmp_path)) == []
    assert rules() == before
