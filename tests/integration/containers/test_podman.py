"""Compose projects with Podman and podman-compose, where they are installed: what holds with Docker holds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.containers import test_docker as with_docker
from tests.integration.containers.test_docker import WEB
from tests.support import podman as podmen
from tests.support.podman import Podman

from patternbench.lab import environment, systems

install, taken_port = with_docker.install, with_docker.taken_port


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """Podman, which is the engine that patternbench finds."""
    why = podmen.lacking()
    if why:
        pytest.skip(f"no Podman: {why}")
    with podmen.prepared(tmp_path_factory.mktemp("podman")) as ready, pytest.MonkeyPatch.context() as here:
        for name, value in ready.env.items():
            here.setenv(name, value)
        yield ready


test_up = with_docker.test_a_project_is_up_while_its_system_is_and_leaves_nothing
test_done_to_a_container = (
    with_docker.test_what_is_done_to_a_container_ends_the_system_with_its_cause_and_the_next_round_has_it_again
)
test_frozen = with_docker.test_a_frozen_service_stands_and_goes_on_and_nobody_takes_it_for_dead
test_crashed = with_docker.test_a_crashed_service_is_gone_and_comes_back_and_dies_for_good_when_someone_else_kills_it
test_memory = with_docker.test_a_container_without_memory_is_told
test_replicas = with_docker.test_load_goes_to_every_container_of_the_first_service
test_built = with_docker.test_an_image_is_built_once_under_a_name_that_stays
test_killed = with_docker.test_a_project_is_gone_when_the_run_is_killed
test_dies_in_a_round = with_docker.test_only_the_round_in_which_a_container_dies_fails_and_says_why


WRONG = with_docker.wrong_projects("podman-compose", WEB.replace("services:", "servces:"), "can't be read")


@pytest.mark.parametrize(("compose", "words"), WRONG.values(), ids=WRONG)
def test_why_a_project_does_not_come_up_is_told_and_nothing_is_left(
    docker: Podman, install: Callable[..., systems.SystemFile], tmp_path: Path, compose: str, words: str
) -> None:
    with_docker.does_not_come_up(install, tmp_path, compose, words)
    assert docker.left() == []


def test_a_service_is_healthy_once_its_check_that_nothing_else_carries_out_says_so(
    docker: Podman, install: Callable[..., systems.SystemFile], tmp_path: Path
) -> None:
    check = "    healthcheck: {test: ['CMD', 'sh', '-c', 'exit 0'], interval: 1s}\n"
    with environment.named(install(WEB + check), {}, tmp_path / "logs") as up:
        assert up.dead() == []
    assert docker.left() == []
