"""Our systems in containers on a real engine: addresses, settings and faults as with processes, and no trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from scripts.images import built, composed, staged
from scripts.images.built import Builder
from scripts.images.staged import IMAGES
from tests.integration.run.conftest import command, entries, left_behind
from tests.support import docker as engines
from tests.support.docker import Docker

from patternbench.lab import environment, systems
from patternbench.lab.containers import images
from patternbench.lab.environment import Environment
from patternbench.lab.faults.schedule import FaultSchedule
from patternbench.lab.software import engine
from patternbench.lab.topologies import of_file
from patternbench.study.faults import Fault
from patternbench.study.model.placement import CONTAINERS, IN, PROCESSES

SYSTEM = """\
patternbench-system: 1
name: pair
about: the target, and a neighbour
settings:
  workers: {default: 4, about: requests at the same time}
  service_time: {default: "fixed:1ms", about: of each}
components:
  - target: {workers: "${workers}", service_time: "${service_time}"}
  - process:
      name: neighbour
      image: patternbench-target
      command: [bash, -c, 'trap exit TERM; trap "echo heard" HUP; echo burning; while :; do :; done']
      ports: {}
      ready: {log: burning}
      files: {note.txt: "for ${target.url}"}
      reset: {command: [bash, -c, 'read line <note.txt; echo "$line" >seen.txt; test "$$" != 1']}
endpoint: target
"""
BASE = "patternbench-test-base"


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    """An engine with the image of the target, which our own builder has made."""
    why = engines.lacking()
    if why:
        pytest.skip(f"no container engine: {why}")
    with engines.started(tmp_path_factory.mktemp("docker")) as up, pytest.MonkeyPatch.context() as here:
        for name, value in up.env.items():
            here.setenv(name, value)
        engines.import_base(up, BASE, [Path(engine.binary())])
        folder = staged.staged(IMAGES["target"], tmp_path_factory.mktemp("images"))
        Builder("docker").build(IMAGES["target"], folder, BASE)
        images.identity.cache_clear()
        yield up
    images.identity.cache_clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pair")
    (made / "systems").mkdir()
    (made / "systems" / "pair.yaml").write_text(SYSTEM)
    return made


@pytest.fixture(scope="module")
def up(docker: Docker, folder: Path) -> Iterator[Environment]:
    with environment.named(systems.load("pair", folder), {IN: CONTAINERS}, folder / "logs") as running:
        yield running
    assert docker.left() == []


def state_of(docker: Docker, name: str) -> dict[str, Any]:
    return engines.inspected(docker, name)


def test_a_component_runs_in_a_container_of_nobody_that_can_write_its_own_folder_alone(
    docker: Docker, up: Environment
) -> None:
    assert httpx.get(f"{up.endpoint}/bytes/10").is_success
    found = state_of(docker, "target")
    assert (found["Config"]["User"], found["HostConfig"]["ReadonlyRootfs"]) == ("10001:10001", True)
    assert (found["HostConfig"]["NetworkMode"], found["HostConfig"]["CapDrop"]) == ("host", ["ALL"])
    assert [mount["Destination"] for mount in found["Mounts"]] == [str(up.running["target"].folder)]
    tried = subprocess.run(
        ["docker", "exec", found["Id"], "bash", "-c", "echo x >/app/x"],
        check=False,
        env={**os.environ, **docker.env},
        capture_output=True,
        text=True,
    )
    assert "Read-only file system" in tried.stderr


def test_what_a_container_costs_counts_as_that_of_its_component(up: Environment) -> None:
    contained, (parent,) = up.contained_cpu_s(), up.processes()["neighbour"]
    assert parent != up.running["neighbour"].process.pid
    until(lambda: up.contained_cpu_s() > contained)
    assert up.dead() == []
    assert up.notes() == {}


def test_a_reset_is_carried_out_in_the_container(up: Environment, folder: Path) -> None:
    up.change(of_file(systems.load("pair", folder), {IN: CONTAINERS}))
    assert up.started == []
    assert set(up.reset()) == {"neighbour", "target"}
    assert (up.running["neighbour"].folder / "seen.txt").read_text() == f"for {up.endpoint}\n"


def test_a_frozen_component_stands_and_goes_on(docker: Docker, up: Environment) -> None:
    with FaultSchedule([Fault.model_validate({"freeze": {}, "where": "target"})], up):
        assert state_of(docker, "target")["State"]["Status"] == "paused"
        with pytest.raises(httpx.TimeoutException):
            httpx.get(up.endpoint, timeout=0.3)
    assert httpx.get(f"{up.endpoint}/bytes/1").is_success
    assert up.dead() == []


def test_a_crashed_component_comes_back_at_the_same_address_in_a_new_container(docker: Docker, up: Environment) -> None:
    before = state_of(docker, "target")["Id"]
    crash = Fault.model_validate({"crash": {}, "where": "target"})
    with FaultSchedule([crash], up), pytest.raises(httpx.ConnectError):
        httpx.get(up.endpoint)
    assert httpx.get(f"{up.endpoint}/bytes/1").is_success
    assert state_of(docker, "target")["Id"] != before
    assert up.restarted[-1] == "target"
    assert up.dead() == []


def test_limits_of_a_container_act_and_are_given_back(docker: Docker, up: Environment) -> None:
    with FaultSchedule([Fault.model_validate({"cpu_limit": {"cores": 0.25}, "where": "neighbour"})], up):
        host = state_of(docker, "neighbour")["HostConfig"]
        assert host["CpuQuota"] / host["CpuPeriod"] == 0.25
    assert state_of(docker, "neighbour")["HostConfig"]["CpuQuota"] in (-1, 0)


def test_cpu_time_is_stolen_from_a_container_too(up: Environment) -> None:
    stolen = {"cpu": {"percentage": 90}, "where": "neighbour", "when": {"for": "400ms"}}
    with FaultSchedule([Fault.model_validate(stolen)], up) as schedule:
        schedule.start(time.monotonic_ns())
        time.sleep(0.8)
    (acted,) = schedule.acted
    assert acted.counters["stolen_us"] > 200_000


def test_a_changed_setting_or_limit_starts_the_service_that_has_it_and_no_other(
    docker: Docker, up: Environment, folder: Path
) -> None:
    system, before = systems.load("pair", folder), state_of(docker, "neighbour")["Id"]
    up.change(of_file(system, {IN: CONTAINERS, "target.cpus": 0.5, "target.memory": "64MiB"}))
    host = state_of(docker, "target")["HostConfig"]
    assert (host["NanoCpus"], host["Memory"]) == (500_000_000, 64 * 1024**2)
    # what refers to it is started with it, as with processes
    assert [start.component for start in up.started] == ["target", "neighbour"]
    up.change(of_file(system, {IN: PROCESSES}))
    assert docker.left() == []
    assert httpx.get(f"{up.endpoint}/bytes/1").is_success
    up.change(of_file(system, {IN: CONTAINERS}))
    assert state_of(docker, "neighbour")["Id"] != before


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (("kill",), "service target ended with code 137, as it was killed"),
        (("pause",), "service target was paused by someone else than this run"),
    ],
    ids=["kill", "pause"],
)
def test_what_others_do_to_a_container_is_told_and_the_next_round_has_it_again(
    docker: Docker, up: Environment, folder: Path, deed: tuple[str, ...], words: str
) -> None:
    docker(*deed, str(state_of(docker, "target")["Id"]))
    assert up.running["target"].process.ended(20)
    assert words in up.dead()[0]
    up.change(of_file(systems.load("pair", folder), {IN: CONTAINERS}))
    assert httpx.get(f"{up.endpoint}/bytes/1").is_success
    assert up.dead() == []


def test_an_image_has_what_it_needs_and_nothing_that_no_image_may_have(docker: Docker) -> None:
    names = docker("run", "--rm", "--network", "none", "--entrypoint", "bash", images.TARGET, "-c", LISTS).splitlines()
    assert {"/app/health", "/app/patternbench-engine"} == set(names)
    assert staged.unwanted(names) == []
    (config,) = json.loads(docker("image", "inspect", images.TARGET))
    assert list(built.exposed(config["Config"])) == []


LISTS = 'shopt -s globstar dotglob; for each in /app/** /tmp/** /root/**; do [ -f "$each" ] && echo "$each"; done; :'

STUDY = """\
patternbench: 1
name: contained
system: {name: pair, in: [processes, containers], settings: {service_time: "fixed:2ms"}}
rounds: 2
time_limit: 20s
warm_up: 200ms
workload:
  closed: {users: 2, duration: 1s}
  request: {path: /bytes/10}
usage: {target: target}
faults:
  - delay: {percentage: 50, duration: 5ms}
"""


def test_a_study_compares_processes_with_containers(docker: Docker, folder: Path, tmp_path: Path) -> None:
    (folder / "study.yaml").write_text(STUDY)
    before = docker.left()
    words = command("run", str(folder / "study.yaml"), "--out", str(tmp_path / "run"))
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = entries(tmp_path / "run")
    assert [entry["status"] for entry in found] == ["done"] * 4
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    (place,) = (factor for factor in plan["factors"] if factor["name"] == "system.in")
    assert (place["role"], place["none"], place["levels"]) == ("pattern", PROCESSES, [PROCESSES, CONTAINERS])
    images_of = json.loads((tmp_path / "run" / "manifest.json").read_text())["images"]
    assert images_of["target"] == f"{images.TARGET} {images.identity(images.TARGET)}"
    table = pd.read_parquet(tmp_path / "run" / "rounds.parquet")
    assert (table["usage.target.cpu_s"] > 0).all()
    assert (table["usage.target.memory_mib"] > 0).all()
    assert docker.left() == before


STARTS = """
import sys
from pathlib import Path
from patternbench.lab import environment, systems
folder = Path(sys.argv[1])
up = environment.named(systems.load("pair", folder), {".in": "containers"}, folder / sys.argv[2])
print("up", flush=True)
sys.stdin.read()
"""


def until(reached: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_containers_are_gone_when_the_run_is_killed(docker: Docker, folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTS, folder, "killed"], stdin=-1, stdout=-1) as ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"up\n"
        ours.send_signal(signal.SIGKILL)
    until(lambda: left_behind(str(folder / "killed")) == [], 60)
    label = "label=com.docker.compose.service=target"
    until(lambda: all("killed" not in docker("inspect", one) for one in docker("ps", "-aq", "--filter", label).split()))


def test_compose_takes_every_file_of_ours_and_finds_the_target_healthy(docker: Docker) -> None:
    for name in composed.SYSTEMS:
        docker("compose", "--file", str(staged.FOLDER / name / "compose.yaml"), "config", "--quiet")
    words = ("compose", "--file", str(staged.FOLDER / "target" / "compose.yaml"))
    try:
        docker(*words, "up", "--detach", "--wait", "--wait-timeout", "60", "target")
        assert json.loads(docker(*words, "ps", "--format", "json"))["Health"] == "healthy"
    finally:
        docker(*words, "down", "--timeout", "0")
