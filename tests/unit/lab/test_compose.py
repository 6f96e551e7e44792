"""A Compose project as a component: what is wrong with it before anything starts, and which faults cannot be in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from patternbench.lab import startable, systems, topologies
from patternbench.lab.containers import project as projects
from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed, named
from patternbench.lab.containers.limits import ContainerLimits, Cores, Memory
from patternbench.lab.containers.printed import PrintedProject
from patternbench.lab.containers.project import IMAGES, PORTS, ComposeProject, project_name
from patternbench.lab.containers.service import FaultedServices
from patternbench.lab.containers.states import ContainerState, changed, standing
from patternbench.lab.faults import links
from patternbench.lab.systems import SystemFile
from patternbench.study.faults import Fault
from patternbench.study.model.amounts import MemorySize

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


def test_a_fault_that_no_engine_of_containers_knows_is_refused(tmp_path: Path) -> None:
    fault = Fault.model_validate({"cpu": {"percentage": 50}, "where": "shop.web", "when": {"for": "1s"}})
    (problem,) = links.problems([fault], topologies.of_file(shop(tmp_path), {}))
    assert problem.message == "cpu acts on processes of this machine, but those of shop run in containers"
    kinds = "crash, freeze, restart, cpu_limit, memory_limit, disconnect"
    assert problem.allowed == f"{kinds}, or a fault on a link: front -> shop"


@pytest.mark.parametrize(
    "limit", [{"cpu_limit": {"cores": 0.5}}, {"memory_limit": {"size": "64MB"}}, {"disconnect": {}}]
)
def test_what_only_acts_on_containers_is_refused_at_a_process(tmp_path: Path, limit: dict[str, object]) -> None:
    fault = Fault.model_validate({**limit, "where": "front"})
    (problem,) = links.problems([fault], topologies.of_file(shop(tmp_path), {}))
    assert problem.message == f"{fault.kind} acts on containers, but front runs as a process of this machine"
    assert problem.allowed == "a service of a Compose project"


def test_limits_are_given_back_as_they_were() -> None:
    none, some = ContainerLimits(), ContainerLimits(nano_cpus=1_500_000_000, memory=64, with_swap=128)
    half = Cores(0.5)
    assert half.options(none) == ["--cpu-period", "100000", "--cpu-quota", "50000"]
    assert half.back(none) == ["--cpu-period", "100000", "--cpu-quota", "-1"]
    assert (half.options(some), half.back(some)) == (["--cpus", "0.5"], ["--cpus", "1.5"])
    assert Memory(32).back(some) == ["--memory", "64", "--memory-swap", "128"]
    _, memory, _, swap = Memory(32).back(none)
    assert int(swap) == 2 * int(memory) > 1_000_000_000, "that of the machine, which none can exceed"


@pytest.mark.parametrize("size", ["64", "0MB", "5MB", "1.5GB", "64 mb", "", "9999999MB", "6٤MB"])
def test_a_size_of_memory_that_no_engine_takes_is_refused(size: str) -> None:
    with pytest.raises(ValueError, match="not a size of memory"):
        MemorySize.parse(size)


@pytest.mark.parametrize("kind", ["crash", "freeze", "restart", "disconnect"])
def test_a_fault_at_a_whole_project_names_what_it_can_act_on(tmp_path: Path, kind: str) -> None:
    fault = Fault.model_validate({kind: {}, "where": "shop", "when": {"for": "1s"}})
    (problem,) = links.problems([fault], topologies.of_file(shop(tmp_path), {}))
    assert problem.message == f"shop is a Compose project, and {kind} acts on one of its services"
    assert problem.allowed == "shop.SERVICE, or a fault on a link: front -> shop"


@pytest.mark.parametrize("kind", ["crash", "freeze", "restart", "disconnect"])
def test_a_fault_at_a_service_of_a_project_is_allowed(tmp_path: Path, kind: str) -> None:
    fault = Fault.model_validate({kind: {}, "where": "shop.web", "when": {"for": "1s"}})
    assert list(links.problems([fault], topologies.of_file(shop(tmp_path), {}))) == []


def test_a_service_that_a_fault_has_is_as_it_shall_be_and_may_have_been_started_anew_afterwards() -> None:
    killed, again = replace(JOB, status="exited", code=137), replace(JOB, started="2")
    assert changed([WEB, JOB], [WEB, killed], {"web"}, faulty=["job"]).broken == ""
    assert changed([WEB, JOB], [WEB, again], {"web"}, faulted=["job"]).broken == ""
    assert "as it was killed" in changed([WEB, JOB], [WEB, killed], {"web"}, faulted=["job"]).broken
    assert changed([WEB, JOB], [WEB, again], {"web"}).broken


def test_the_file_of_services_that_faults_act_on_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert FaultedServices.read(tmp_path) == FaultedServices()
    FaultedServices().taking("store").taking("web").leaving("store").write(tmp_path)
    assert FaultedServices.read(tmp_path) == FaultedServices(now=("web",), ever=("store", "web"))


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
    monkeypatch.setattr(projects, "DOWN_S", 0.2)
    project = ComposeProject(ContainerEngine((str(hangs),), "true"), "compose.yaml", "shop", {}, tmp_path)
    with pytest.raises(ProjectFailed, match=r"hangs down` did not end within 0.2 s"):
        project.down()


OPEN = {"mode": "ingress", "target": 80, "protocol": "tcp"}


def test_a_port_that_the_file_leaves_open_is_one_of_this_machine_that_stays() -> None:
    given = {"target": 81, "published": "8081"}
    project = PrintedProject.model_validate({"services": {"web": {"ports": [OPEN, given]}, "db": {"ports": [OPEN]}}})
    published = {**OPEN, "published": "12345"}
    expected = f'services:\n  "web": {{ports: !override {json.dumps([published, given])}}}\n'
    assert project.with_ports({"web": 80}, {"web": 12345}) == expected


@pytest.mark.parametrize(
    "service",
    [
        {"ports": [{**OPEN, "published": "8080"}]},
        {"ports": [{**OPEN, "protocol": "udp"}]},
        {"ports": [{**OPEN, "target": 81}]},
        {"ports": ["80"]},
        {"ports": [OPEN], "deploy": {"replicas": 2}},
        {"ports": [OPEN], "scale": 2},
    ],
)
def test_a_port_that_is_given_or_of_several_containers_is_left_as_it_is(service: dict[str, object]) -> None:
    project = PrintedProject.model_validate({"services": {"web": service}})
    assert project.with_ports({"web": 80}, {"web": 12345}) == ""


@pytest.mark.parametrize("takes", [True, False])
def test_ports_are_added_to_a_file_only_where_the_engine_has_them_in_place_of_open_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: bool
) -> None:
    given, told = {"services": {"web": {"ports": [OPEN]}}}, list[list[str]]()
    fixed = {"services": {"web": {"ports": [{**OPEN, "published": "12345"}]}}}

    def asked(words: list[str], *_: object, **__: object) -> str:
        told.append(words)
        return json.dumps(fixed if takes and str(tmp_path / PORTS) in words else given) if "config" in words else ""

    monkeypatch.setattr(projects, "asked", asked)
    monkeypatch.setattr(projects.states, "states", lambda *_: [WEB])
    engine = ContainerEngine(("docker", "compose"), "docker")
    project = ComposeProject(engine, "compose.yaml", "shop", {"web": 80}, tmp_path, own_ports={"web": 12345})
    project.up(PrintedProject.model_validate(given), 30)
    (brought,) = (words for words in told if "up" in words)
    assert (str(tmp_path / PORTS) in brought, (tmp_path / PORTS).exists()) == (takes, takes)


def test_what_is_added_to_a_file_changes_no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for added in (IMAGES, PORTS):
        (tmp_path / added).write_text("{}")
    told = list[list[str]]()
    monkeypatch.setattr(
        projects, "asked", lambda words, *_: told.append(words) or '{"services": {"web": {"ports": [80]}}}'
    )
    monkeypatch.setattr(ContainerEngine, "check_version", lambda _: None)
    ComposeProject(ContainerEngine(("docker", "compose"), "docker"), "compose.yaml", "x", {"web": 80}, tmp_path).check()
    assert [word for word, after in zip(told[0][1:], told[0], strict=False) if after == "-f"] == ["compose.yaml"]


class Checked:
    """A project of one service whose check of health says that it is well as soon as someone carries it out."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, engine: ContainerEngine) -> None:
        self.there, self.told, self.now = [replace(WEB, health="starting")], list[list[str]](), 0.0
        patch.setattr(projects, "asked", lambda *_, **__: "")
        patch.setattr(projects, "carried_out", self.carry_out)
        patch.setattr(projects.states, "states", lambda *_: list(self.there))
        timed = {"clock": lambda: self.now, "pause": self.pause}
        self.project = ComposeProject(engine, "compose.yaml", "shop", {"web": 80}, folder, **timed)

    def carry_out(self, words: list[str], _: float) -> tuple[int, str, str]:
        self.told.append(words[1:3])
        if "healthcheck" in words:
            self.there = [replace(WEB, health="healthy")]
        return 0, "no database", ""

    def pause(self, seconds: float) -> None:
        self.now += seconds


def test_a_check_of_health_is_carried_out_where_the_engine_does_not_do_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = Checked(tmp_path, monkeypatch, ContainerEngine(("podman-compose",), "podman"))
    (web,) = checked.project.up(PrintedProject(services={}), 30)
    assert (web.health, checked.told) == ("healthy", [["healthcheck", "run"]])


def test_a_check_of_health_is_left_to_an_engine_that_carries_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = Checked(tmp_path, monkeypatch, ContainerEngine(("docker", "compose"), "docker"))
    with pytest.raises(ProjectFailed, match="not up within 30 s: service web is starting: no database"):
        checked.project.up(PrintedProject(services={}), 30)
    assert checked.told == [["logs", "--tail"]]


def test_a_port_that_every_network_reaches_is_known_however_an_engine_prints_it() -> None:
    every = ["80", "8080:80", "0.0.0.0:8080:80", "[::]:1:80", {"target": 80}, {"target": 80, "host_ip": "0.0.0.0"}]
    here = ["127.0.0.1:8080:80", {"target": 80, "host_ip": "127.0.0.1"}]
    project = PrintedProject.model_validate({"services": {"open": {"ports": every}, "here": {"ports": here}}})
    assert len(project.services["open"].open_to_all) == len(every)
    assert project.services["here"].open_to_all == []
    assert len(list(project.exposures())) == 1


def test_only_images_without_a_name_get_one() -> None:
    services = {"web": {"build": "."}, "named": {"build": ".", "image": "mine"}, "db": {"image": "postgres"}}
    project = PrintedProject.model_validate({"services": services})
    assert project.images("x") == {"services": {"web": {"image": "x-web"}}}
    assert PrintedProject.model_validate({"services": {"db": {"image": "postgres"}}}).images("x") == {}


WEB, JOB = ContainerState("web", "1", "running"), ContainerState("job", "2", "running")


@pytest.mark.parametrize(
    ("containers", "waits_for"),
    [
        ([], "service web has no container"),
        ([ContainerState("web", "1", "created")], "service web is created"),
        ([ContainerState("web", "1", "running", health="starting")], "service web is starting"),
        ([WEB, ContainerState("db", "2", "running", health="unhealthy")], "service db is unhealthy"),
        ([WEB, ContainerState("job", "2", "restarting", 1)], "service job is restarting"),
        ([WEB, ContainerState("job", "2", "exited")], ""),
        ([WEB, ContainerState("db", "2", "running", health="healthy")], ""),
    ],
)
def test_a_project_waits_for_what_shall_run_and_is_not_ready(containers: list[ContainerState], waits_for: str) -> None:
    found = standing(containers, {"web"})
    assert (found.waits_for, found.is_up) == (waits_for, not waits_for)


def test_a_service_that_is_called_must_not_end_at_all() -> None:
    ended = ContainerState("web", "1", "exited")
    assert standing([ended], {"web"}).failed == ended
    assert standing([WEB, ContainerState("job", "2", "exited", 1)], {"web"}).failed is not None


def test_a_container_that_has_ended_before_is_not_told_again() -> None:
    before = [WEB, ContainerState("seed", "2", "exited")]
    assert changed(before, before, {"web"}).notes == ()


def test_a_container_that_someone_removed_breaks_the_project() -> None:
    assert changed([WEB, JOB], [WEB], {"web"}).broken == "service job was removed by someone else than this run"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["docker", "compose", "-f", "a.yaml", "up", "--detach"], "docker compose up"),
        (["docker-compose", "-f", "a.yaml", "down"], "docker-compose down"),
        (["docker", "ps", "--all"], "docker ps"),
        (["podman", "inspect", "1"], "podman inspect"),
    ],
)
def test_a_command_is_named_as_a_person_would(words: list[str], expected: str) -> None:
    assert named(words) == expected
