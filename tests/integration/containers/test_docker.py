"""Compose projects on a real engine: up, watched, told why not, and gone without a trace."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.integration.run.conftest import command, entries, left_behind
from tests.support import docker as engines
from tests.support.docker import IMAGE, Docker

from patternbench.lab import environment, systems
from patternbench.lab.faults.schedule import FaultSchedule
from patternbench.lab.host.processes import StartError
from patternbench.lab.topologies import of_file
from patternbench.study.faults import Fault

pytestmark = pytest.mark.usefixtures("nothing_left")

SYSTEM = """\
patternbench-system: 1
name: shop
about: a shop in containers
components:
  - compose: {{name: shop, file: ../compose.yaml, services: {{web: 8080}}, ready: /, within: {within}}}
endpoint: shop
"""
WEB = f"""\
services:
  web:
    image: {IMAGE}
    command: [httpd, -f, -p, "8080", -h, /www]
    ports: ["127.0.0.1::8080"]
"""
SEEDED = "{seed: {condition: service_completed_successfully}}"
STORE = f"  store: {{image: {IMAGE}, command: [sleep, '600'], depends_on: {SEEDED}, volumes: ['data:/data']}}\n"
SEED = f"  seed: {{image: {IMAGE}, command: ['true']}}\n"
"""Ends before the store begins, and well."""
JOB = f"  job: {{image: {IMAGE}, command: ['true']}}\n"
"""Ends well, and nothing waits for it."""
VOLUMES = "volumes: {data: {}}\n"
WELL = WEB + STORE + SEED + JOB + VOLUMES
PATIENT = WELL.replace("command: [sleep, '600'],", "command: [sleep, '600'], stop_grace_period: 2m,")
"""Its store ends by no signal, and would be given two minutes for it."""


@pytest.fixture
def install(docker: Docker, tmp_path: Path) -> Callable[..., systems.SystemFile]:
    def install(compose: str, within: str = "20s") -> systems.SystemFile:
        (tmp_path / "compose.yaml").write_text(compose)
        (tmp_path / "systems").mkdir(exist_ok=True)
        (tmp_path / "systems" / "shop.yaml").write_text(SYSTEM.format(within=within))
        return systems.load("shop", tmp_path)

    return install


def until(reached: Callable[[], bool], seconds: float = 20.0) -> None:
    """Return once something is so; fail when it is not within a time."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_project_is_up_while_its_system_is_and_leaves_nothing(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    with environment.named(install(PATIENT), {}, tmp_path / "logs") as up:
        assert httpx.get(up.endpoint).text == "open for business\n"
        assert up.notes() == {}
        before = up.contained_cpu_s()
        until(lambda: httpx.get(up.endpoint).is_success and up.contained_cpu_s() > before)
        assert up.dead() == []
        assert len(docker.left()) >= 4
        ended = time.monotonic()
    assert time.monotonic() - ended < 60, "containers that do not end by themselves are killed"
    assert docker.left() == []


def wrong_projects(engine: str, unread: str, words: str) -> dict[str, tuple[str, str]]:
    """Compose files that do not come up with an engine, and what is told of each; ``unread`` is one that is no file."""
    return {
        "ends": (
            WEB + f"  bad: {{image: {IMAGE}, command: [sh, -c, 'echo no database >&2; exit 3']}}\n",
            "service bad ended with code 3: no database",
        ),
        "called-ends": (WEB.replace("httpd, -f", "sh, -c, 'exit 0'"), "service web ended with code 0"),
        "port": (
            WEB.replace("8080:8080", "9").replace("127.0.0.1::8080", "127.0.0.1::81"),
            "service web publishes no port 8080; it publishes 81",
        ),
        "unhealthy": (
            WEB + "    healthcheck: {test: ['CMD', 'sh', '-c', 'exit 1'], interval: 1s, retries: 2}\n",
            "not up within 6 s: service web is ",
        ),
        "image": (WEB.replace(f"image: {IMAGE}", "image: 127.0.0.1:1/none"), f"`{engine} up` ended with code "),
        "yaml": (unread, words),
    }


def does_not_come_up(install: Callable[..., systems.SystemFile], tmp_path: Path, compose: str, words: str) -> None:
    with pytest.raises(StartError) as refused:
        environment.named(install(compose, "6s" if "6 s" in words else "60s"), {}, tmp_path / "logs")
    assert words in str(refused.value)
    assert "Removed" not in str(refused.value)


WRONG = wrong_projects("docker compose", WEB + "  nonsense: 3\n", "`docker compose config` ended with code ")


@pytest.mark.parametrize(("compose", "words"), WRONG.values(), ids=WRONG)
def test_why_a_project_does_not_come_up_is_told_and_nothing_is_left(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path, compose: str, words: str
) -> None:
    does_not_come_up(install, tmp_path, compose, words)
    assert docker.left() == []


def test_a_port_that_is_taken_is_told(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path, taken_port: int
) -> None:
    compose = WEB.replace("127.0.0.1::8080", f"127.0.0.1:{taken_port}:8080")
    with pytest.raises(StartError, match=r"docker compose up` ended with code .*(in use|already allocated)"):
        environment.named(install(compose), {}, tmp_path / "logs")
    assert docker.left() == []


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port at which we listen ourselves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (("kill",), "service store ended with code 137, as it was killed"),
        (("pause",), "service store was paused by someone else than this run"),
        (("restart", "--time", "0"), "service store ended"),
        (("rm", "--force"), "service store "),
    ],
    ids=["kill", "pause", "restart", "rm"],
)
def test_what_is_done_to_a_container_ends_the_system_with_its_cause_and_the_next_round_has_it_again(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path, deed: tuple[str, ...], words: str
) -> None:
    system = install(WELL)
    with environment.named(system, {}, tmp_path / "logs") as up:
        container = str(engines.inspected(docker, "store")["Id"])
        docker(*deed, container)
        assert up.running["shop"].process.ended(20)
        (dead,) = up.dead()
        assert words in dead
        up.change(of_file(system, {}))
        assert httpx.get(up.endpoint).is_success
        assert up.dead() == []
    assert docker.left() == []


def test_a_frozen_service_stands_and_goes_on_and_nobody_takes_it_for_dead(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    fault = Fault.model_validate({"freeze": {}, "where": "shop.store"})
    with environment.named(install(WELL), {}, tmp_path / "logs") as up:
        for _ in range(2):
            with FaultSchedule([fault], up) as schedule:
                assert status(docker, "store") == "paused"
                assert httpx.get(up.endpoint).is_success
            assert status(docker, "store") == "running"
            (acted,) = schedule.acted
            assert acted.ended_ns > acted.began_ns
        assert up.dead() == []


def test_a_crashed_service_is_gone_and_comes_back_and_dies_for_good_when_someone_else_kills_it(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    fault = Fault.model_validate({"crash": {}, "where": "shop.store"})
    with environment.named(install(WELL), {}, tmp_path / "logs") as up:
        with FaultSchedule([fault], up):
            assert status(docker, "store") == "exited"
            assert up.dead() == []
        assert status(docker, "store") == "running"
        assert up.dead() == []
        docker("kill", str(engines.inspected(docker, "store")["Id"]))
        assert up.running["shop"].process.ended(20)
        assert "service store ended with code 137" in up.dead()[0]


@pytest.mark.parametrize("own", ["", "    cpus: 1.5\n    mem_limit: 128m\n"], ids=["none before", "some before"])
def test_limits_act_while_a_service_runs_and_are_given_back(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path, own: str
) -> None:
    faults = [
        {"cpu_limit": {"cores": 0.5}, "where": "shop.web"},
        {"memory_limit": {"size": "64MiB"}, "where": "shop.web"},
    ]
    with environment.named(install(WEB + own), {}, tmp_path / "logs") as up:
        before = limits(docker)
        with FaultSchedule([Fault.model_validate(fault) for fault in faults], up):
            assert limits(docker) == (0.5, 64 * 1024**2)
        cores, memory = limits(docker)
        assert (cores, memory) == before if own else (cores == 0 and memory > 1e9), "no limit is one of all the memory"
        assert up.dead() == []


def limits(docker: Docker) -> tuple[float, int]:
    """Return the processors and the bytes of memory that the service may use; 0 for those without a limit."""
    host = engines.inspected(docker, "web")["HostConfig"]
    assert isinstance(host, dict)
    cores = host["NanoCpus"] / 1e9 or max(host["CpuQuota"], 0) / (host["CpuPeriod"] or 1)
    return cores, max(host["Memory"], 0)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("shop.stoer", "the project has no service `stoer`; it has job, seed, store, web"),
        ("shop.job", "service job is exited, not running"),
    ],
)
def test_a_crash_that_cannot_be_is_refused_with_why(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path, where: str, words: str
) -> None:
    fault = Fault.model_validate({"crash": {}, "where": where})
    with environment.named(install(WELL), {}, tmp_path / "logs") as up:
        with pytest.raises(StartError, match=words), FaultSchedule([fault], up):
            pass
        assert up.dead() == []


def test_a_published_service_whose_port_the_file_leaves_open_is_back_at_the_same_one(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    with environment.named(install(WEB), {}, tmp_path / "logs") as up:
        for kind in ("crash", "restart", "disconnect"):
            with FaultSchedule([Fault.model_validate({kind: {}, "where": "shop.web"})], up):
                pass
            assert httpx.get(up.endpoint).is_success
            assert up.dead() == []
    assert docker.left() == []


def test_a_crash_after_which_a_container_would_be_elsewhere_is_refused(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    fault = Fault.model_validate({"crash": {}, "where": "shop.web"})
    words = "port 8080/tcp of service web would be published at another port of this machine"
    with environment.named(install(f"{WEB}    deploy: {{replicas: 2}}\n"), {}, tmp_path / "logs") as up:
        with pytest.raises(StartError, match=words), FaultSchedule([fault], up):
            pass
        assert up.dead() == []


def status(docker: Docker, service: str) -> str:
    """Return the engine's word for the container of a service."""
    state = engines.inspected(docker, service)["State"]
    assert isinstance(state, dict)
    return str(state["Status"])


def test_a_container_without_memory_is_told(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    hungry = f"  hungry: {{image: {IMAGE}, command: [sh, -c, 'sleep 2; tail /dev/zero'], mem_limit: 16m}}\n"
    with environment.named(install(WEB + hungry), {}, tmp_path / "logs") as up:
        assert up.running["shop"].process.ended(30)
        assert "service hungry ended with code 137, as it ran out of memory" in up.dead()[0]


def test_load_goes_to_every_container_of_the_first_service(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    command = 'command: [sh, -c, "hostname > /www/index.html; httpd -f -p 8080 -h /www"]'
    compose = WEB.replace('command: [httpd, -f, -p, "8080", -h, /www]', f"{command}\n    deploy: {{replicas: 2}}")
    with environment.named(install(compose), {}, tmp_path / "logs") as up:
        assert len(up.targets) == 2
        assert len({httpx.get(target).text for target in up.targets}) == 2
    assert docker.left() == []


def test_an_image_is_built_once_under_a_name_that_stays(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "Containerfile").write_text(
        f'FROM {IMAGE}\nCMD ["httpd", "-f", "-p", "8080", "-h", "/www"]\n'
    )
    compose = 'services: {web: {build: {context: image, dockerfile: Containerfile}, ports: ["127.0.0.1::8080"]}}\n'
    before = set(docker("images", "--quiet").split())
    for run in ("first", "second"):
        with environment.named(install(compose), {}, tmp_path / run) as up:
            assert httpx.get(up.endpoint).is_success
    assert len(set(docker("images", "--quiet").split()) - before) == 1


STARTS = """
import sys
from pathlib import Path
from patternbench.lab import environment, systems
folder = Path(sys.argv[1])
up = environment.named(systems.load("shop", folder), {}, folder / "logs")
print("up", flush=True)
sys.stdin.read()
"""


def test_a_project_is_gone_when_the_run_is_killed(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    install(WELL)
    with subprocess.Popen([sys.executable, "-c", STARTS, tmp_path], stdin=-1, stdout=-1, env=dict(os.environ)) as ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"up\n"
        ours.send_signal(signal.SIGKILL)
    until(lambda: docker.left() == [], 60)
    until(lambda: left_behind(str(tmp_path)) == [], 60)


STUDY = """\
patternbench: 1
name: contained
system: shop
rounds: 6
time_limit: 20s
workload:
  closed: {users: 2, duration: 1s}
strategies:
  - {client: native, baseline: {}}
"""


def test_only_the_round_in_which_a_container_dies_fails_and_says_why(
    docker: Docker, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    install(WELL)
    (tmp_path / "study.yaml").write_text(STUDY)
    words = command("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run"))
    with subprocess.Popen(words, stdout=-1, stderr=-1, env=dict(os.environ)) as run:
        until(lambda: any(entry["status"] == "done" for entry in entries(tmp_path / "run")), 60)
        docker("kill", str(engines.inspected(docker, "store")["Id"]))
        run.communicate(timeout=120)
    found = entries(tmp_path / "run")
    causes = [entry["cause"] for entry in found if entry["status"] == "failed"]
    assert len(found) == 6
    assert len(causes) == 1
    assert "service store ended with code 137, as it was killed" in causes[0]
    assert all(entry["system_cpu_seconds"] > 0.1 for entry in found if entry["status"] == "done")
    assert docker.left() == []
