"""A Compose project as a component: what is wrong with it before anything starts, and which faults cannot be in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.lab import startable, systems, topologies
from patternbench.lab.config import compose
from patternbench.lab.config.compose import ComposeEngine, ComposeProject, PrintedProject, ProjectFailed, project_name
from patternbench.lab.faults import links
from patternbench.lab.systems import SystemFile
from patternbench.study.faults import Fault

SYSTEM = """\
patternbench-system: 1
name: shop
about: a shop in containers
components:
  - compose: {{name: shop, {}}}
  - nginx: {{name: front, upstream: shop}}
endpoint: front
"""
WELL = "file: ../compose.yaml, services: {web: 80}"


def shop(folder: Path, settings: str = WELL) -> SystemFile:
    (folder / "systems").mkdir()
    (folder / "compose.yaml").write_text("services: {}\n")
    (folder / "systems" / "shop.yaml").write_text(SYSTEM.format(settings))
    return systems.load("shop", folder)


@pytest.mark.parametrize(
    ("settings", "path", "words"),
    [
        ("file: ../compoes.yaml, services: {web: 80}", "shop.file", "did you mean `compose.yaml`?"),
        ("file: ../compose.yaml, services: {}", "shop.services", "at least 1"),
        ("file: ../compose.yaml, services: {web: 0}", "shop.services.web", "at least 1"),
        ("file: ../compose.yaml", "shop.services", "`services` is missing"),
        (f"{WELL}, ready: health", "shop.ready", "is not allowed here"),
        (f"{WELL}, env: {{A: [1]}}", "shop.env.A", "a text"),
    ],
)
def test_what_is_wrong_with_a_project_is_reported_at_its_line(
    tmp_path: Path, settings: str, path: str, words: str
) -> None:
    (problem,) = startable.settings_problems(shop(tmp_path, settings), {})
    assert (problem.path, problem.line) == (path, 5)
    assert words in str(problem)


@pytest.mark.parametrize("kind", ["crash", "freeze", "cpu"])
def test_a_fault_of_processes_that_run_in_containers_is_refused(tmp_path: Path, kind: str) -> None:
    settings = {"percentage": 50} if kind == "cpu" else {}
    fault = Fault.model_validate({kind: settings, "where": "shop", "when": {"for": "1s"}})
    (problem,) = links.problems([fault], topologies.of_file(shop(tmp_path), {}))
    assert problem.message == f"{kind} acts on processes of this machine, but those of shop run in containers"
    assert problem.allowed == "a fault on a link: front -> shop"


def test_a_fault_on_the_way_to_a_project_is_none_of_its_containers(tmp_path: Path) -> None:
    fault = Fault.model_validate({"abort": {"percentage": 5}, "where": "front -> shop"})
    assert list(links.problems([fault], topologies.of_file(shop(tmp_path), {}))) == []


@pytest.mark.parametrize(
    ("printed", "published"),
    [
        ("80", "80"),
        (80, "80"),
        ("8080:80", "80"),
        ("127.0.0.1:8080:80/tcp", "80"),
        ({"mode": "ingress", "target": 80, "published": "8080", "protocol": "tcp"}, "80"),
    ],
)
def test_a_published_port_is_known_however_an_engine_prints_it(printed: object, published: str) -> None:
    project = PrintedProject.model_validate({"services": {"web": {"image": "shop", "ports": [printed]}}})
    assert project.services["web"].published == [published]


def test_a_project_has_its_own_name_for_each_run() -> None:
    assert project_name("shop", "/runs/1/shop") == project_name("shop", "/runs/1/shop")
    assert project_name("shop", "/runs/1/shop") != project_name("shop", "/runs/2/shop")


def test_an_engine_that_hangs_when_a_project_goes_down_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = tmp_path / "hangs"
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o755)
    monkeypatch.setattr(compose, "STOP_S", 0)
    monkeypatch.setattr(compose, "DOWN_S", 0.2)
    project = ComposeProject(ComposeEngine((str(hangs),), ()), "compose.yaml", "shop", {})
    with pytest.raises(ProjectFailed, match=r"hangs down` did not end within 0.2 s"):
        project.down()
