"""A Python application as a component: which server, which packages, and what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.lab import startable, systems, topologies
from patternbench.lab.components.python_app import environment
from patternbench.lab.systems import SystemFile
from patternbench.terms.problems import Problem

SYSTEM = """\
patternbench-system: 1
name: own
about: an application of a user's
settings: {{lock: {{default: requirements.lock, about: which packages}}}}
components:
  - python_app: {{name: shop, app: "shop:app", {}}}
endpoint: shop
"""
LOCK = "gunicorn==27.0.1 \\\n    --hash=sha256:00\n"


def own(folder: Path, settings: str) -> SystemFile:
    (folder / "systems").mkdir()
    (folder / "systems" / "own.yaml").write_text(SYSTEM.format(settings))
    for name in ("requirements.lock", "other.lock"):
        (folder / "systems" / name).write_text(LOCK + f"# {name}\n")
    (folder / "systems" / "loose.txt").write_text("gunicorn\n")
    return systems.load("own", folder)


def command(system: SystemFile) -> str:
    return " ".join(topologies.of_file(system, {}).launches[0].command)


def refused(system: SystemFile) -> Problem:
    (problem,) = startable.settings_problems(system, {})
    return problem


def test_httpbin_runs_in_the_environment_that_its_lock_file_always_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    httpbin = systems.load("httpbin")
    assert command(httpbin).startswith(f"{environment()}/bin/python -m gunicorn --bind 127.0.0.1:")
    assert str(environment()).startswith("/cache/patternbench/httpbin-")
    (need,) = [need for need in startable.needs(httpbin) if need.name == "httpbin"]
    assert not need.met
    assert need.install[1][-1] == str(ROOT / "systems/httpbin.requirements.lock")


def test_an_application_needs_the_packages_of_its_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    system = own(tmp_path, "requirements: requirements.lock")
    (problem,) = startable.needs_problems(system, {})
    assert problem.message == "system `own` cannot start: requirements is missing"
    server = environment(tmp_path / "systems" / "requirements.lock") / "bin" / "gunicorn"
    server.parent.mkdir(parents=True)
    server.touch()
    assert startable.needs_problems(system, {}) == []


def test_each_level_of_a_setting_may_need_packages_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    system = own(tmp_path, 'requirements: "${lock}"')
    needs = startable.needs(system, {"lock": ["requirements.lock", "other.lock"]})
    assert [need.name for need in needs] == ["requirements", "other"]


def test_uvicorn_serves_an_application_by_processes_alone(tmp_path: Path) -> None:
    words = command(own(tmp_path, "requirements: requirements.lock, server: uvicorn, workers: 3, args: --lifespan off"))
    assert "-m uvicorn --host 127.0.0.1 --port ${self.port.http} --workers 3 " in words
    assert words.endswith("--lifespan off shop:app")


def test_gunicorn_serves_an_application_by_processes_and_threads(tmp_path: Path) -> None:
    words = command(own(tmp_path, "interpreter: sh, workers: 3, threads: 5"))
    assert "-m gunicorn --bind 127.0.0.1:${self.port.http} --worker-class gthread " in words
    assert "--workers 3 --threads 5 " in words


@pytest.mark.parametrize(
    ("settings", "path", "words"),
    [
        ("server: uvicorn, threads: 4", "shop", "threads does not go with uvicorn"),
        ("requirements: a, interpreter: b", "shop", "requirements does not go with interpreter"),
        ("requirements: loose.txt", "shop.requirements", "pins no package by its hash"),
        ("requirements: lost.lock", "shop.requirements", "there is no such file"),
        ("interpreter: ./python", "shop.interpreter", "there is no such file"),
        ("server: waitress", "shop.server", "gunicorn"),
    ],
)
def test_what_is_wrong_with_an_application_is_reported_at_its_line(
    tmp_path: Path, settings: str, path: str, words: str
) -> None:
    problem = refused(own(tmp_path, settings))
    assert (problem.path, problem.line) == (path, 6)
    assert words in str(problem)


@pytest.mark.parametrize("kind", ["python_app", "jvm_app", "process"])
def test_every_kind_of_application_is_prepared_by_commands_of_its_author(tmp_path: Path, kind: str) -> None:
    settings = {"python_app": 'app: "shop:app"', "jvm_app": "jar: shop.jar", "process": "command: sh"}[kind]
    text = SYSTEM.replace("python_app", kind).replace('app: "shop:app"', settings)
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "own.yaml").write_text(text.format("prepare: [sh migrate.sh]"))
    (launch,) = topologies.of_file(systems.load("own", tmp_path), {}).launches
    assert [one.command for one in launch.prepare] == [("sh", "migrate.sh")]


def test_python_in_a_preparation_is_the_python_of_the_application(tmp_path: Path) -> None:
    system = own(tmp_path, "interpreter: /bin/sh, prepare: [python -m alembic upgrade head]")
    (launch,) = topologies.of_file(system, {}).launches
    assert launch.prepare[0].command == ("/bin/sh", "-m", "alembic", "upgrade", "head")
