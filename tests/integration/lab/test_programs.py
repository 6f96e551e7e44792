"""A user's own programs, of each kind, under a crash, a freeze and a taken port; what a jar and an application get."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.integration.run.conftest import left_behind
from tests.support.studies import ROOT

from patternbench.lab import environment as environments
from patternbench.lab import startable, systems, topologies
from patternbench.lab.components.python_app import environment
from patternbench.lab.environment import Environment
from patternbench.lab.faults.family import kill, stop, wake
from patternbench.lab.host.local_host import RunningComponent
from patternbench.lab.host.processes import StartError
from patternbench.lab.software import debian, installing
from patternbench.lab.systems import SystemFile
from patternbench.records.inputs import Inputs
from patternbench.run.round.fixture import RoundFixture
from patternbench.study.model.system import declared

ANSWER_S = 3.0
SYSTEM = """\
patternbench-system: 1
name: own
about: one program of each kind
settings: {{port: {{default: 0, about: of each program}}}}
components:
  - process: {{name: node, command: node shop.js, folder: "{data}/node-shop", ports: {{http: "${{port}}"}}}}
  - jvm_app:
      name: java
      jar: shop.jar
      heap: 64MiB
      collector: serial
      class_data_sharing: true
      options: "-Xlog:class+load:file=${{self.folder}}/classes.txt"
      args: [a, "b c", 3]
      ports: {{http: "${{port}}"}}
  - jvm_app:
      name: watched
      jar: shop.jar
      class_data_sharing: true
      agents: [agent.jar=told]
      ports: {{http: "${{port}}"}}
  - python_app:
      name: gunicorn
      app: shop:wsgi
      workers: 1
      folder: "{data}/python-shop"
      ports: {{http: "${{port}}"}}
  - python_app:
      name: uvicorn
      app: shop:asgi
      server: uvicorn
      workers: 1
      folder: "{data}/python-shop"
      requirements: requirements.lock
      ports: {{http: "${{port}}"}}
endpoint: [node, java, watched, gunicorn, uvicorn]
"""
NAMES = ("node", "java", "watched", "gunicorn", "uvicorn")
AGENT = "public class Agent { public static void premain(String told) { System.out.println(told); } }"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, monkeypatch_module: pytest.MonkeyPatch) -> SystemFile:
    """The system's file, with jars built next to it and the packages of its applications installed."""
    folder = tmp_path_factory.mktemp("programs") / "systems"
    folder.mkdir()
    for name, source in {"Shop": (ROOT / "tests/data/java-shop/Shop.java").read_text(), "Agent": AGENT}.items():
        built(folder / "build", name, source)
    (folder / "own.yaml").write_text(SYSTEM.format(data=ROOT / "tests/data"))
    file = systems.load("own", folder.parent)
    installing.install(startable.needs(file))
    monkeypatch_module.setenv("JAVA_TOOL_OPTIONS", "-Dfile.encoding=UTF-8")
    return file


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def built(folder: Path, name: str, source: str) -> None:
    """A jar of one class, next to the folder that it is built in."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / f"{name}.java").write_text(source)
    (folder / "manifest").write_text(f"{'Main' if name == 'Shop' else 'Premain'}-Class: {name}\n")
    subprocess.run([debian.program("javac"), f"{name}.java"], cwd=folder, check=True)
    jar = [debian.program("jar"), "cfm", f"../{name.lower()}.jar", "manifest"]
    subprocess.run([*jar, *(path.name for path in folder.glob("*.class"))], cwd=folder, check=True)


@pytest.fixture(scope="module")
def up(system: SystemFile) -> Iterator[Environment]:
    logs = system.folder.parent / "logs"
    with environments.named(system, {}, logs) as running:
        yield running
        archive = archive_of(running)
    archive.unlink()
    assert left_behind(str(system.folder.parent)) == []


def archive_of(up: Environment) -> Path:
    """Where the class data of the jar is, which stays in the user's cache."""
    words = [word.partition("=") for word in up.running["java"].launch.command]
    return next(Path(value) for name, _, value in words if name == "-XX:SharedArchiveFile")


def answers(running: RunningComponent) -> bool:
    try:
        return httpx.get(running.url, timeout=ANSWER_S).status_code < 500
    except httpx.HTTPError:
        return False


every = pytest.mark.parametrize("name", NAMES)


@every
def test_a_program_that_is_ready_answers(name: str, up: Environment) -> None:
    assert answers(up.running[name])


@every
def test_a_frozen_program_does_not_answer_until_it_continues(name: str, up: Environment) -> None:
    running = up.running[name]
    stop(running.process)
    assert not answers(running)
    wake(running.process)
    assert answers(running)


@every
def test_a_killed_program_is_reported_and_starts_again_at_its_address(name: str, up: Environment) -> None:
    kill(up.running[name].process)
    assert up.running[name].process.ended(10)
    assert [reported.partition(" ended with code")[0] for reported in up.dead()] == [name]
    up.restart(name)
    assert up.dead() == []
    assert answers(up.running[name])


@every
def test_a_port_that_is_taken_is_reported_with_the_line_of_the_program(
    name: str, system: SystemFile, tmp_path: Path
) -> None:
    line = system.origin_of(name)
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        topology = topologies.of_file(system, {"port": taken})
        (launch,) = [launch for launch in topology.launches if launch.name == name]
        with pytest.raises(StartError, match=f"^{line}: {name} cannot use port {taken}: Address already in use$"):
            Environment(tmp_path).host.launch([launch])


def test_a_fixture_says_which_program_died_and_brings_the_system_up_again(system: SystemFile, tmp_path: Path) -> None:
    named = declared({"name": "own"})
    with RoundFixture(tmp_path / "logs", Inputs(system.folder.parent)) as fixture:
        before = fixture.environment(named, system)
        kill(before.running["java"].process)
        assert before.running["java"].process.ended(10)
        assert "java ended with code" in " ".join(fixture.dead())
        after = fixture.environment(named, system)
        assert fixture.dead() == []
        assert [answers(running) for running in after.running.values()] == [True] * len(NAMES)


def test_a_jar_gets_its_heap_its_collector_and_its_words(up: Environment) -> None:
    heap, words, options = httpx.get(up.running["java"].url).text.splitlines()
    assert abs(int(heap) / (64 * 1024**2) - 1) < 0.05, "but for the part that the collector keeps empty"
    assert words == "a b c 3"
    assert "-XX:+UseSerialGC" in options


def test_a_jar_gets_its_agents_and_no_archive_next_to_one(up: Environment) -> None:
    watched = up.running["watched"]
    assert "told" in watched.process.written()
    assert not any(word.startswith("-XX:SharedArchiveFile") for word in watched.launch.command)


def test_a_jar_takes_its_classes_from_an_archive_that_one_start_before_has_made(up: Environment) -> None:
    loaded = (up.running["java"].folder / "classes.txt").read_text()
    assert " Shop source: shared objects file (top)" in loaded
    assert archive_of(up).is_file()


def test_a_python_application_runs_in_the_environment_of_its_lock_file(up: Environment) -> None:
    lock = ROOT / "tests/data/python-shop/requirements.lock"
    ran = httpx.get(up.running["uvicorn"].url).json()
    assert ran["python"].startswith(str(environment(lock)))
    assert ran["folder"] == str(lock.parent)
    assert httpx.get(up.running["gunicorn"].url).json()["python"].startswith(str(environment()))


def test_a_python_application_may_run_in_an_environment_of_the_users(tmp_path: Path) -> None:
    python = environment() / "bin" / "python"
    (tmp_path / "systems").mkdir()
    folder = ROOT / "tests/data/python-shop"
    shop = f"{{name: shop, app: 'shop:wsgi', interpreter: {python}, folder: {folder}}}"
    (tmp_path / "systems" / "own.yaml").write_text(
        f"patternbench-system: 1\nname: own\nabout: x\nendpoint: shop\ncomponents: [{{python_app: {shop}}}]\n"
    )
    system = systems.load("own", tmp_path)
    assert startable.needs(system) == []
    with environments.named(system, {}, tmp_path / "logs") as up:
        assert httpx.get(up.endpoint).json()["python"] == str(python)
