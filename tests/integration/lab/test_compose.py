"""A Compose project as a system, with a stand-in for its engine: which orders it gets, and what comes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.integration.run.conftest import left_behind
from tests.support.studies import ROOT

from patternbench.lab import environment, startable, systems, topologies
from patternbench.lab.containers import engine
from patternbench.lab.containers.project import PORTS, image_prefix, project_name
from patternbench.lab.faults.schedule import FaultSchedule
from patternbench.lab.host.processes import StartError
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import EDGE, Link
from patternbench.study.faults import Fault

ENGINES = {
    "docker": ("docker",),
    "docker-compose": ("docker-compose", "docker"),
    "podman-compose": ("podman-compose", "podman"),
}
"""What is installed with each program that speaks Compose: that which knows the containers, too."""

PROGRAMS = {program for programs in ENGINES.values() for program in programs}
SYSTEM = """\
patternbench-system: 1
name: shop
about: a shop in containers
settings: {tag: {default: v1, about: of the image}}
components:
  - compose:
      name: shop
      file: ../compose.yaml
      services: {web: 80, admin: 9000}
      profiles: [demo]
      env: {TAG: "${tag}"}
      ready: /
endpoint: shop
"""
AS_JSON = json.dumps(
    {
        "name": "x",
        "services": {
            "web": {"image": "shop:v1", "ports": [{"mode": "ingress", "target": 80, "protocol": "tcp"}]},
            "admin": {"ports": [{"target": 9000, "published": "9000"}]},
            "db": {"image": "postgres"},
        },
    }
)
AS_YAML = "services:\n  web:\n    ports: ['80']\n  admin:\n    ports: ['127.0.0.1:9000:9000/tcp']\n  db: {}\n"


class Installed:
    """A machine on which one engine is installed, and which commands that was given."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        (folder / "printed").write_text(AS_YAML if name == "podman-compose" else AS_JSON)
        (folder / "compose.yaml").write_text("services: {}\n")
        (folder / "systems").mkdir()
        (folder / "systems" / "shop.yaml").write_text(SYSTEM)
        (folder / "bin").mkdir()
        for one in ENGINES[name]:
            program = folder / "bin" / one
            program.write_text(f"#!{sys.executable}\n" + (ROOT / "tests/support/compose_stand_in.py").read_text())
            program.chmod(0o755)
        if name == "docker":
            (folder / "docker" / "cli-plugins").mkdir(parents=True)
            (folder / "docker" / "cli-plugins" / "docker-compose").touch(0o755)

    @property
    def system(self) -> SystemFile:
        return systems.load("shop", self.folder)

    def orders(self) -> list[list[str]]:
        """The words of each order since the beginning."""
        return [json.loads(line) for line in (self.folder / "orders.jsonl").read_text().splitlines()]

    def composed(self) -> list[list[str]]:
        """The words of the orders to Compose alone, but for the question whether it takes ports that are added.

        It never does.
        """
        return [order for order in self.orders() if "-f" in order and not any(PORTS in word for word in order)]

    def becomes(self, **states: dict[str, object]) -> None:
        """Have containers be in other states, all at once."""
        (self.folder / "states.new").write_text(json.dumps(states))
        (self.folder / "states.new").rename(self.folder / "states.json")

    def downs(self) -> int:
        """How often the project was taken down."""
        return sum("down" in order for order in self.orders())


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Installed]:
    def install(name: str) -> Installed:
        found = Installed(tmp_path, name)
        system_path = [
            path for path in os.environ["PATH"].split(":") if not any(Path(path, one).exists() for one in PROGRAMS)
        ]
        monkeypatch.setenv("PATH", ":".join([str(tmp_path / "bin"), *system_path]))
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
        monkeypatch.setenv("STAND_IN", str(tmp_path))
        monkeypatch.setattr(engine, "PLUGINS", ())
        return found

    return install


@pytest.mark.parametrize("name", ENGINES)
def test_a_project_is_up_while_its_system_is_and_goes_down_with_its_volumes(
    name: str, install: Callable[[str], Installed]
) -> None:
    installed = install(name)
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        assert httpx.get(f"{up.endpoint}/compose.yaml").text == "services: {}\n"
        log = installed.folder / "logs" / "shop.log"
        until(lambda: "web-1  | open for business" in log.read_text())
        port = (installed.folder / "port").read_text()
        assert {name: url.rpartition(":")[2] for name, url in up.endpoints().items()} == dict.fromkeys(
            ("system", "shop", "shop.web", "shop.admin"), port
        )
    project = project_name("shop", str(installed.folder / "logs" / "shop"))
    head = ["docker", "compose"] if name == "docker" else [name]
    head += ["-f", str(installed.folder / "compose.yaml"), "-p", project, "--profile", "demo"]
    config = ["config"] if name == "podman-compose" else ["config", "--format", "json"]
    down = ["down", "--volumes", "--remove-orphans", "--timeout", "0"]
    expected = [config, ["up", "--detach", "--remove-orphans"], ["logs", "--follow", "--no-color"], down]
    assert installed.composed() == [[*head, *words] for words in expected]
    asked = [order for order in installed.orders() if any(PORTS in word for word in order)]
    assert len(asked) == (name != "podman-compose"), "which prints ports as texts"
    assert left_behind(str(installed.folder)) == []


def until(reached: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return once something is so; fail when it is not within a time."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


STARTS = """
import sys
from pathlib import Path
from patternbench.lab import environment, systems
folder = Path(sys.argv[1])
up = environment.named(systems.load("shop", folder), {}, folder / "logs")
print("up", flush=True)
sys.stdin.read()
"""


def test_a_project_goes_down_when_we_are_killed(install: Callable[[str], Installed]) -> None:
    installed = install("docker-compose")
    with subprocess.Popen([sys.executable, "-c", STARTS, installed.folder], stdin=-1, stdout=-1) as ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"up\n"
        ours.send_signal(signal.SIGKILL)
    until(lambda: left_behind(str(installed.folder)) == [])
    assert installed.downs() == 1


def test_what_a_killed_run_left_is_taken_down_before(install: Callable[[str], Installed]) -> None:
    installed = install("docker")
    (installed.folder / "port").write_text("1")
    with environment.named(installed.system, {}, installed.folder / "logs"):
        orders = [
            next(word for word in order if word in ("down", "up", "config")) for order in installed.composed()[:3]
        ]
    assert orders == ["config", "down", "up"]


@pytest.mark.parametrize(
    ("broken", "words", "downs"),
    [
        ({"fails": "up"}, r"`docker-compose up` ended with code 1: no space left for up$", 0),
        ({"fails": "config"}, r"`docker-compose config` ended with code 1: no space left for config$", 0),
        ({"version": "1.29.2"}, r"`docker-compose` is version 1.29.2, and version 2 or later is needed: install ", 0),
        ({"version": "docker-compose version v1.9\n"}, r"`docker-compose` is version 1.9, and version 2 ", 0),
        ({"printed": "[1, 2]"}, r"the project that `docker-compose` prints can't be read", 0),
        ({"printed": "services: {db: {}}"}, r"there is no service `web`; there are db$", 0),
        (
            {"printed": "services: {web: {ports: ['80:8080']}}"},
            r"service web publishes no port 80; it publishes 8080$",
            0,
        ),
        (
            {"states.json": '{"admin": {"Status": "exited", "ExitCode": 3}}'},
            r"service admin ended with code 3: cannot reach the database$",
            1,
        ),
        (
            {"states.json": '{"web": {"Status": "exited", "ExitCode": 137, "OOMKilled": true}}'},
            r"service web ended with code 137, as it ran out of memory: cannot reach the database$",
            1,
        ),
        ({"states.json": '{"web": {"Status": "exited"}}'}, r"service web ended with code 0: cannot reach the data", 1),
    ],
)
def test_why_a_project_does_not_come_up_is_reported_with_its_line_and_nothing_is_left(
    install: Callable[[str], Installed], broken: dict[str, str], words: str, downs: int
) -> None:
    installed = install("docker-compose")
    for file, text in broken.items():
        (installed.folder / file).write_text(text)
    with pytest.raises(
        StartError, match=rf"^{installed.folder}/systems/shop\.yaml:6: shop ended with code 1: .*{words}"
    ):
        environment.named(installed.system, {}, installed.folder / "logs")
    assert installed.downs() == downs
    assert left_behind(str(installed.folder)) == []


def test_a_service_that_nobody_calls_may_end_well_before_the_project_is_up(install: Callable[[str], Installed]) -> None:
    installed = install("docker")
    text = SYSTEM.replace("services: {web: 80, admin: 9000}", "services: {web: 80}")
    (installed.folder / "systems" / "shop.yaml").write_text(text)
    installed.becomes(admin={"Status": "exited", "ExitCode": 0})
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        assert httpx.get(up.endpoint).is_success
        assert up.dead() == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"Status": "exited", "ExitCode": 137}, "service admin ended with code 137, as it was killed"),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": True}, "code 137, as it ran out of memory"),
        ({"Status": "exited", "ExitCode": 0}, "service admin ended with code 0"),
        ({"Status": "paused"}, "service admin was paused by someone else than this run"),
        ({"StartedAt": "2"}, "service admin ended, and its engine starts it again"),
        ({"Status": "restarting"}, "service admin ended, and its engine starts it again"),
    ],
)
def test_a_container_that_is_not_what_it_was_is_told_as_the_systems_death(
    state: dict[str, object], words: str, install: Callable[[str], Installed]
) -> None:
    installed = install("podman-compose")
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        assert up.dead() == []
        installed.becomes(admin=state)
        assert up.running["shop"].process.ended(10)
        (dead,) = up.dead()
    assert dead.startswith("shop ended with code 1: ")
    assert dead.endswith(words)
    assert installed.downs() == 1


def test_a_service_that_ends_well_while_it_is_measured_is_a_note_of_that_round(
    install: Callable[[str], Installed],
) -> None:
    installed = install("docker")
    text = SYSTEM.replace("services: {web: 80, admin: 9000}", "services: {web: 80}")
    (installed.folder / "systems" / "shop.yaml").write_text(text)
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        up.notes()  # that its ports are open
        installed.becomes(admin={"Status": "exited", "ExitCode": 0})
        found: dict[str, list[str]] = {}
        until(lambda: bool(found.update(up.notes()) or found))
        assert found == {"shop": ["service admin ended with code 0"]}
        assert (up.notes(), up.dead()) == ({}, [])


def test_a_port_that_every_network_reaches_is_a_note_once(install: Callable[[str], Installed]) -> None:
    installed = install("podman-compose")
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        ((note,),) = up.notes().values()
        assert "service web publishes 80 to every network of this machine; write `127.0.0.1:8080:80`" in note
        up.notes()  # that its ports are open


def test_images_that_are_built_have_a_name_for_good(install: Callable[[str], Installed]) -> None:
    installed = install("docker")
    built = json.loads(AS_JSON)
    built["services"]["web"] = {"build": {"context": "."}, "ports": [{"target": 80, "host_ip": "127.0.0.1"}]}
    (installed.folder / "printed").write_text(json.dumps(built))
    with environment.named(installed.system, {}, installed.folder / "logs"):
        pass
    file = str(installed.folder / "compose.yaml")
    named = installed.folder / "logs" / "shop" / "images.json"
    assert json.loads(named.read_text()) == {"services": {"web": {"image": f"{image_prefix(file)}-web"}}}
    build = next(order for order in installed.composed() if "build" in order)
    assert build[2:6] == ["-f", file, "-f", str(named)]


def test_an_engine_that_ends_is_told(install: Callable[[str], Installed]) -> None:
    installed = install("podman-compose")
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        (installed.folder / "gone").touch()
        assert up.running["shop"].process.ended(10)
        (dead,) = up.dead()
    assert dead.endswith("the container engine has ended")


def test_a_fault_at_the_edge_acts_on_the_way_to_the_published_port(install: Callable[[str], Installed]) -> None:
    installed = install("docker")
    fault = Fault.model_validate({"abort": {"percentage": 100, "status": 503}})
    with environment.named(installed.system, {}, installed.folder / "logs", [Link(EDGE, "shop")]) as up:
        assert up.endpoint != up.running["shop"].url
        assert httpx.get(up.endpoint).status_code == 200
        with FaultSchedule([fault], up):
            assert httpx.get(up.endpoint).status_code == 503
        assert httpx.get(up.endpoint).status_code == 200


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("docker", [["up", "--detach", "--no-deps", "--renew-anon-volumes", "--timeout", "0", "web"]]),
        (
            "podman-compose",
            [["down", "--volumes", "--remove-orphans", "--timeout", "0"], ["up", "--detach", "--remove-orphans"]],
        ),
    ],
)
def test_a_changed_setting_starts_only_services_that_read_it_and_who_calls_them_elsewhere(
    name: str, expected: list[list[str]], install: Callable[[str], Installed]
) -> None:
    installed = install(name)
    printed = installed.folder / "printed"
    image = {"docker": ("shop:v1", "shop:${TAG}"), "podman-compose": ("web:\n", "web:\n    image: shop:${TAG}\n")}[name]
    printed.write_text(printed.read_text().replace(*image, 1))
    links = [Link(EDGE, "shop")]
    with environment.named(installed.system, {}, installed.folder / "logs", links) as up:
        keeper, before = up.running["shop"].process.pid, len(installed.composed())
        up.change(topologies.of_file(installed.system, {"tag": "v2"}), links)
        assert httpx.get(up.endpoint).is_success
        words = [order[order.index("demo") + 1 :] for order in installed.composed()[before:]]
        assert [order for order in words if order[0] in ("up", "down")] == expected
        assert up.running["shop"].process.pid == keeper
        assert up.running["shop"].url.endswith((installed.folder / "port").read_text())
        started = {start.component: start.why for start in up.started}
        moved = "shop, which it refers to, is reached elsewhere"
        services = ["shop.web"] if name == "docker" else ["shop.web", "shop.admin", "shop.db"]
        assert started == {**dict.fromkeys(services, "its settings changed"), "edge-to-shop": moved}
        up.change(topologies.of_file(installed.system, {"tag": "v2"}), links)
        assert (list(up.started), up.dead()) == ([], [])
    assert left_behind(str(installed.folder)) == []


def test_a_setting_that_no_service_reads_starts_nothing(install: Callable[[str], Installed]) -> None:
    installed = install("docker-compose")
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        before = len(installed.composed())
        up.change(topologies.of_file(installed.system, {"tag": "v2"}))
        assert [order for order in installed.composed()[before:] if "up" in order or "down" in order] == []
        assert (list(up.started), up.dead()) == ([], [])


def test_settings_with_which_a_project_does_not_come_up_end_it_with_why(install: Callable[[str], Installed]) -> None:
    installed = install("docker")
    printed = installed.folder / "printed"
    printed.write_text(printed.read_text().replace("shop:v1", "shop:${TAG}"))
    with environment.named(installed.system, {}, installed.folder / "logs") as up:
        (installed.folder / "fails").write_text("up")
        with pytest.raises(StartError, match="`docker compose up` ended with code 1: no space left for up"):
            up.change(topologies.of_file(installed.system, {"tag": "v2"}))
        (installed.folder / "fails").unlink()
        up.change(topologies.of_file(installed.system, {"tag": "v3"}))
        assert httpx.get(up.endpoint).is_success
    assert installed.downs() == 2


def test_a_machine_without_an_engine_is_told_what_to_install(install: Callable[[str], Installed]) -> None:
    installed = install("docker-compose")
    (installed.folder / "bin" / "docker-compose").unlink()
    (installed.folder / "docker" / "cli-plugins" / "docker-compose").unlink(missing_ok=True)
    (problem,) = startable.needs_problems(installed.system, {})
    assert problem.message == "system `shop` cannot start: docker compose or podman-compose is missing"
    assert "https://docs.docker.com/compose/install" in problem.hint


def test_docker_without_its_plugin_is_no_engine(install: Callable[[str], Installed]) -> None:
    installed = install("docker")
    assert engine.need().met
    (installed.folder / "docker" / "cli-plugins" / "docker-compose").unlink()
    assert not engine.need().met
