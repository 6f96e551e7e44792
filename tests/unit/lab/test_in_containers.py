"""Components in containers: how each is started there, what a study may say of that, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from tests.support.golden import is_golden
from tests.support.studies import ROOT

from patternbench import caches
from patternbench.cli.up import up
from patternbench.lab import startable, systems, topologies
from patternbench.lab.containers import images, instance
from patternbench.lab.faults import links
from patternbench.lab.host.accounts import CONTAINER_USER, Account
from patternbench.lab.host.launch import Launch, ResourceLimits, Stop
from patternbench.lab.host.ready import CONTAINED, ContainerReadiness, Port, ReadyLine
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Topology
from patternbench.study.faults import Fault
from patternbench.study.model.placement import CONTAINERS, IN, PROCESSES
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

OURS = ("cinema", "httpbin", "insurance", "neighbour", "shop", "target")
NOBODY = Account(str(CONTAINER_USER), numbers=f"{CONTAINER_USER}:{CONTAINER_USER}")


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every image is there, and has one hash."""
    monkeypatch.setattr(images, "identity", lambda image: f"sha256:{image}")
    yield


def contained(name: str, **settings: object) -> Topology:
    return topologies.of_file(systems.load(name), {IN: CONTAINERS, **settings})


def portable(words: list[str]) -> str:
    """A command line without the places of this machine."""
    places = {str(caches.folder()): "CACHE", str(ROOT): "ROOT"}
    for place, name in places.items():
        words = [word.replace(place, name) for word in words]
    return re.sub(r"-[0-9a-f]{12}\b", "-DIGEST", shlex.join(words))


def started(launch: Launch) -> Any:
    """The engine's words that start a component and carry its preparations out; its kind where it stays a process."""
    if launch.container is None:
        return f"process: {launch.kind}"
    one = instance.of(replace(launch, container=replace(launch.container, reads=())), Path("/own"), NOBODY)
    before = [list(each.command) if each.outside else one.once("docker", each.command) for each in launch.prepare]
    return {"before": list(map(portable, before)), "kept": portable(one.kept("docker", launch.command))}


@pytest.mark.parametrize("name", OURS)
def test_every_word_that_starts_our_systems_in_containers_is_golden(name: str) -> None:
    found = {launch.name: started(launch) for launch in contained(name).launches}
    is_golden(f"lab/containers/{name}.json", json.dumps(found, indent=1) + "\n")


@pytest.mark.parametrize("name", OURS)
def test_in_containers_a_system_has_the_same_addresses_settings_and_resets_as_with_processes(name: str) -> None:
    processes = topologies.of_file(systems.load(name), {})
    for as_process, boxed in zip(processes.launches, contained(name).launches, strict=True):
        for field in ("name", "kind", "ports", "url", "endpoints", "env", "files", "secrets", "live", "reset", "via"):
            assert getattr(as_process, field) == getattr(boxed, field), (boxed.name, field)
    assert contained(name).links() == processes.links()
    assert contained(name).endpoints == processes.endpoints


@pytest.mark.parametrize("name", OURS)
def test_every_container_is_nobodys_reads_only_and_lets_no_engine_pull(name: str) -> None:
    for launch in contained(name).launches:
        if launch.container:
            words = instance.of(launch, Path("/own"), NOBODY).kept("docker", launch.command)
            assert {"--read-only", "--no-healthcheck", "no-new-privileges", "ALL", "never"} <= set(words)
            assert words[words.index("--user") + 1] == "10001:10001"


def test_a_secret_stands_in_no_command_line() -> None:
    (core,) = (one for one in contained("insurance").launches if one.name == "customer-core")
    words = instance.of(core, Path("/own"), NOBODY).kept("docker", core.command)
    assert "--env" in words
    assert not any("secret" in word or "=" in word for word in words if "TOKEN" in word or "PASSWORD" in word)


def test_a_study_lets_a_service_use_what_it_says_and_others_what_they_may() -> None:
    given = {"gateway.cpus": 0.5, "gateway.memory": "256MiB", "aggregator.cpus": "none"}
    launches = {launch.name: launch for launch in contained("cinema", **given).launches}
    assert launches["gateway"].limits == ResourceLimits(memory=256 * 1024**2, cores=0.5)
    assert launches["aggregator"].limits == launches["registry"].limits == ResourceLimits()
    words = " ".join(instance.of(launches["gateway"], Path("/own"), NOBODY).kept("docker", ("java",)))
    assert "--cpus 0.5 --memory 268435456 --memory-swap 268435456" in words


def test_a_process_may_use_what_a_study_says_too() -> None:
    launches = topologies.of_file(systems.load("cinema"), {"gateway.cpus": 1.5}).launches
    (gateway,) = (launch for launch in launches if launch.name == "gateway")
    assert (gateway.limits.cores, gateway.container) == (1.5, None)


def test_a_study_may_say_how_many_instances_a_service_has() -> None:
    names = [launch.name for launch in contained("shop", **{"image.replicas": 3}).launches]
    assert [name for name in names if name.startswith("image")] == ["image-1", "image-2", "image-3"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"gatewy.cpus": 1}, "system.services.gatewy: there is no such service in the system"),
        ({"gateway.cpus": 0}, "system.services.gateway.cpus"),
        ({"gateway.memory": "much"}, "system.services.gateway.memory"),
        ({"gateway.replicas": 0}, "system.services.gateway.replicas"),
        ({IN: "jails"}, "system.in: is not allowed here (got 'jails'); allowed: processes, containers"),
        ({"gateway.disk": 1}, "system.settings.gateway.disk: unknown setting"),
    ],
)
def test_what_no_service_can_be_given_is_refused_by_name(given: dict[str, object], words: str) -> None:
    (problem, *_) = systems.load("cinema").problems(given)
    assert words in str(problem)


def own(folder: Path, component: str) -> SystemFile:
    (folder / "systems").mkdir()
    (folder / "shop.jar").write_text("")
    text = f"patternbench-system: 1\nname: own\nabout: a shop\ncomponents: [{component}]\nendpoint: shop\n"
    (folder / "systems" / "own.yaml").write_text(text)
    return systems.load("own", folder)


@pytest.mark.parametrize(
    "component",
    [
        "jvm_app: {name: shop, jar: ../shop.jar}",
        "python_app: {name: shop, app: 'shop:app', interpreter: python3}",
        "process: {name: shop, command: sh}",
    ],
)
def test_a_component_without_an_image_is_refused_where_containers_are_asked_for(tmp_path: Path, component: str) -> None:
    (problem,) = startable.settings_problems(own(tmp_path, component), {IN: CONTAINERS})
    assert problem.path.endswith(".image")
    assert problem.message == "has no image to run in a container"


def test_a_process_with_an_image_runs_its_command_there(tmp_path: Path) -> None:
    system = own(tmp_path, "process: {name: shop, command: [sh, -c, 'exec serve'], image: 'shop:1'}")
    (launch,) = topologies.of_file(system, {IN: CONTAINERS}).launches
    assert launch.command == ("sh", "-c", "exec serve")
    assert launch.container is not None
    assert launch.container.image == "shop:1"
    assert [need.name for need in launch.needs] == ["docker or podman", "image shop:1"]


def test_a_system_of_which_nothing_would_run_in_a_container_is_refused(tmp_path: Path) -> None:
    (problem,) = startable.settings_problems(own(tmp_path, "redis: {name: shop}"), {IN: CONTAINERS})
    assert str(problem).startswith("system.in: none of its components (redis) runs in a container")


def test_what_is_not_built_is_told_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "identity", lambda _: None)
    needs = startable.needs(systems.load("target"), {IN: [CONTAINERS]})
    lacking = [need for need in needs if not need.met and need.name.startswith("image")]
    assert {need.name for need in lacking} == {"image patternbench-target", "image patternbench-envoy"}
    assert all(need.how == "type `make images`" for need in lacking)
    assert not any("native engine" in need.name for need in needs), "the image has it"
    assert "native engine" in {need.name for need in startable.needs(systems.load("target"), {IN: [PROCESSES]})}


@pytest.mark.parametrize("limit", [{"cpu_limit": {"cores": 0.5}}, {"memory_limit": {"size": "64MB"}}, {"freeze": {}}])
def test_faults_of_containers_act_on_a_component_in_one(limit: dict[str, object]) -> None:
    fault = Fault.model_validate({**limit, "where": "target"})
    assert list(links.problems([fault], contained("target"))) == []


def test_a_limit_at_a_process_says_how_to_have_it_in_a_container() -> None:
    fault = Fault.model_validate({"cpu_limit": {"cores": 0.5}, "where": "target"})
    (problem,) = links.problems([fault], topologies.of_file(systems.load("target"), {}))
    assert "in: containers" in problem.hint


class WrittenConfiguration:
    """A component that starts: what its log has."""

    ports: ClassVar = {"http": 1}

    def __init__(self, text: str) -> None:
        self._text = text

    def written(self) -> str:
        return self._text

    def wrote(self, pattern: str) -> bool:
        return bool(re.search(pattern, self._text))

    def succeeds(self, command: tuple[str, ...], seconds: float) -> bool:
        return bool(command) and seconds > 0


def test_a_component_is_ready_in_its_own_way_and_once_its_container_runs() -> None:
    ready = ContainerReadiness(ReadyLine("listening"))
    early, late = (
        WrittenConfiguration('{"listening": "x"}\n'),
        WrittenConfiguration(f'{{"{CONTAINED}": true}}\n{{"listening": "x"}}\n'),
    )
    assert not ready.met(early)
    assert ready.lacks(early) == "its container does not run"
    assert ready.met(late)
    assert ready.lacks(WrittenConfiguration(f'{{"{CONTAINED}": true}}\n')) == "it has not printed `listening`"


@pytest.mark.parametrize(("signal", "grace", "given"), [("SIGTERM", 3, 3), ("SIGQUIT", 3, 3), ("SIGKILL", 3, 0)])
def test_a_keeper_outlives_its_container_whatever_ends_that(signal: str, grace: int, given: int) -> None:
    (launch,) = (one for one in contained("target").launches if one.name == "target")
    launch = replace(launch, stop=Stop(signal, Duration.parse(f"{grace}s")))
    ended = instance.stop_of(launch)
    assert ended.signal == ("SIGTERM" if signal == "SIGKILL" else signal)
    assert ended.grace.seconds == grace + instance.ENGINE_S
    assert instance.of(launch, Path("/own"), NOBODY).grace_s == given


def test_a_component_that_waits_for_a_port_waits_for_it_in_a_container_too() -> None:
    (envoy,) = (one for one in contained("target").launches if one.name == "envoy")
    assert envoy.ready == ContainerReadiness(Port("http"))


@pytest.mark.parametrize(
    ("levels", "number"),
    [
        ({"gateway.cpus": [0.5]}, 1),
        ({"gateway.memory": ["64MB"], "gateway.replicas": [2]}, 1),
        ({"gateway.cpus": [0.5], IN: [PROCESSES]}, 1),
        ({"gateway.cpus": [0.5], IN: [CONTAINERS]}, 0),
        ({"gateway.cpus": [0.5, 1], IN: [PROCESSES, CONTAINERS]}, 0),
        ({"gateway.replicas": [2]}, 0),
    ],
)
def test_what_services_may_use_is_refused_where_they_are_processes_that_nothing_can_limit(
    levels: dict[str, list[object]], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startable.cgroups, "refusal", lambda _: "there are no control groups")
    problems = startable.limits_problems(systems.load("cinema"), levels)
    assert len(problems) == number
    assert all("would have no effect on processes: there are no control groups" in str(one) for one in problems)
    assert all(one.path.startswith("system.services.gateway.") for one in problems)


def test_up_takes_the_place_and_says_which_image_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "identity", lambda _: None)
    done = CliRunner().invoke(up, ["target", "--in", CONTAINERS, "--set", "target.cpus=0.5"], catch_exceptions=True)
    assert isinstance(done.exception, InputError)
    assert "image patternbench-target is missing" in str(done.exception)
    assert CliRunner().invoke(up, ["target", "--in", "jails"]).exit_code == 2
