"""The cinema in containers on a real engine: its image has what it needs and nothing else, and a study measures it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from scripts.images import built, staged
from scripts.images.built import Builder
from scripts.images.staged import IMAGES, MissingPart
from tests.integration.run.conftest import entries, left_behind, patternbench
from tests.support import docker as engines
from tests.support.docker import Docker

from patternbench.lab.containers import images
from patternbench.lab.software import java

IMAGE, BASE = "patternbench-cinema", "patternbench-test-java"
STUDY = """\
patternbench: 1
name: contained-cinema
system:
  name: cinema
  in: containers
  settings: {architecture: messaging}
  services: {broker: {memory: 512MiB}}
rounds: 2
time_limit: 60s
workload:
  closed: {users: 2, duration: 3s}
  request: {path: /api/movie/list}
strategies:
  - {client: native, baseline: {}}
usage: {broker: broker, cinemas: [cinema-cineworld, cinema-dundrum, cinema-ucd]}
faults:
  - {freeze: {}, where: cinema-ucd, when: {from: 500ms, for: 500ms}}
"""
SERVICES = ("broker", "cinema-cineworld", "cinema-dundrum", "cinema-ucd")
LISTS = 'shopt -s globstar dotglob; for each in /app/** /tmp/** /root/**; do [ -f "$each" ] && echo "$each"; done; :'


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    """An engine with the image of the cinema, which our own builder has made on a base of this machine's Java."""
    why = engines.lacking() or ("" if java.find() else "missing: openjdk-17-jre-headless")
    if why:
        pytest.skip(f"no container engine: {why}")
    with engines.started(tmp_path_factory.mktemp("docker")) as up, pytest.MonkeyPatch.context() as here:
        for name, value in {**up.env, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}.items():
            here.setenv(name, value)
        engines.import_java(up, BASE)
        Builder("docker").build(IMAGES["cinema"], _staged(tmp_path_factory.mktemp("images")), BASE)
        images.identity.cache_clear()
        yield up
    images.identity.cache_clear()


def _staged(folder: Path) -> Path:
    try:
        return staged.staged(IMAGES["cinema"], folder)
    except MissingPart as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_the_image_of_the_cinema_has_its_jars_and_nothing_that_no_image_may_have(docker: Docker) -> None:
    names = docker("run", "--rm", "--network", "none", "--entrypoint", "bash", IMAGE, "-c", LISTS).splitlines()
    own = {name for name in names if not name.startswith("/app/lib/")}
    jars = ("aggregator", "broker", "cinema", "gateway", "monolith", "registry")
    assert own == {"/app/health", *(f"/app/{name}-app.jar" for name in jars)}
    assert staged.unwanted(names) == []
    (config,) = json.loads(docker("image", "inspect", IMAGE))
    assert list(built.exposed(config["Config"])) == []


@pytest.mark.slow
def test_a_study_measures_the_cinema_whose_services_have_a_container_each(docker: Docker, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    done = patternbench("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stdout + done.stderr
    found = entries(tmp_path / "run")
    assert [entry["status"] for entry in found] == ["done"] * 2
    assert all(acting["began_us"] < acting["ended_us"] for entry in found for acting in entry["faults"])
    stated = json.loads((tmp_path / "run" / "manifest.json").read_text())["images"]
    assert {name: stated[name].split()[0] for name in SERVICES} == dict.fromkeys(SERVICES, IMAGE)
    rounds = pd.read_parquet(tmp_path / "run" / "rounds.parquet")
    assert (rounds["failure_rate"] == 0).all()
    assert rounds["usage.broker.memory_mib"].between(20, 512).all()
    assert (rounds["usage.cinemas.cpu_s"] > 0).all()
    assert docker.left() == []
    assert left_behind(str(tmp_path)) == []
