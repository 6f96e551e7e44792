"""A run with faults in containers is killed (SIGKILL) in every phase, and leaves nothing on this machine.

Where its guard is killed too, `resume` removes what is left, and finishes the run.

PATTERNBENCH_KILLS says how often: in every phase in turn, each time a little later in it; a few times unless it does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.containers.test_docker import until
from tests.integration.containers.test_docker_links import installed, rules
from tests.integration.run.conftest import command, entries, left_behind, patternbench
from tests.support.docker import Docker

from patternbench.lab.containers.link_proxies import ProxiedLinks
from patternbench.lab.containers.service import FaultedServices

pytestmark = pytest.mark.usefixtures("nothing_left")

KILLS = int(os.environ.get("PATTERNBENCH_KILLS", "3"))
REACHED_S, GONE_S = 90.0, 60.0
LATER_S = 0.3
"""How much later in its phase a run is killed each time that it is killed in that phase."""
STUDY = """\
patternbench: 1
name: killed
system: {name: shop, settings: {greeting: [hello, bye]}}
rounds: 1
time_limit: 60s
workload:
  closed: {users: 1, duration: 2s}
  request: {path: /cgi-bin/store}
strategies:
  - {client: native, baseline: {}}
usage: {store: shop.store}
faults:
  - {abort: {percentage: 20}, where: shop.web -> shop.store}
  - {freeze: {}, where: shop.other, when: {from: 900ms, for: 700ms}}
  - {loss: {percentage: 10}, where: shop.web -> shop.store, when: {from: 200ms, for: 1s}}
  - {disconnect: {}, where: shop.other, when: {from: 200ms, for: 300ms}}
  - {restart: {}, where: shop.store, when: {from: 1s, for: 500ms}}
"""


@dataclass(frozen=True)
class Traces:
    """What a run has on this machine at a moment: the bridges of its networks, and the networks of its containers."""

    bridges: frozenset[str]
    networks: frozenset[str]

    @staticmethod
    def of(docker: Docker) -> Traces:
        """What the engine of tests has now for projects."""
        label = ("--filter", "label=com.docker.compose.project", "--quiet")
        made = docker("network", "ls", "--no-trunc", *label).split()
        networks = map(network_of, filter(None, (pid_of(docker, one) for one in docker("ps", *label).split())))
        return Traces(frozenset(f"br-{one[:12]}" for one in made), frozenset(filter(None, networks)))

    def left(self) -> dict[str, list[str]]:
        """What is still there of it."""
        interfaces = {place.name for place in Path("/sys/class/net").iterdir()}
        inside = {network_of(place.name) for place in Path("/proc").glob("[0-9]*")}
        named = [rule for rule in rules() if any(bridge in rule for bridge in self.bridges)]
        there = {"interfaces": sorted(self.bridges & interfaces), "processes inside": sorted(self.networks & inside)}
        return {**there, "rules": named}


def pid_of(docker: Docker, container: str) -> str:
    """The first process of a container; nothing once that is gone."""
    try:
        return docker("inspect", "--format", "{{.State.Pid}}", container)
    except subprocess.CalledProcessError:
        return ""


def network_of(pid: str) -> str:
    """The network of a process; nothing once it is gone."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def run_of(folder: Path) -> subprocess.Popen[bytes]:
    """A run of the study, which goes on."""
    folder.mkdir()
    installed(folder)
    (folder / "study.yaml").write_text(STUDY)
    words = command("run", str(folder / "study.yaml"), "--out", str(folder / "run"))
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def left(docker: Docker, folder: Path, traces: Traces) -> str:
    """What is left of a run, in words; nothing once all is gone."""
    engine = {"containers, volumes, networks": docker.left(), "processes": left_behind(str(folder))}
    return "; ".join(f"{what}: {there}" for what, there in {**engine, **traces.left()}.items() if there)


PHASES: dict[str, Callable[[Docker, Path], object]] = {
    "its containers are made": lambda docker, folder: docker.left(),
    "its fault proxies stand": lambda docker, folder: ProxiedLinks.read(folder / "run/logs/shop").places,
    "its project is up": lambda docker, folder: '"ready"' in log_of(folder),
    "a fault acts": lambda docker, folder: FaultedServices.read(folder / "run/logs/shop").now,
    "a setting has changed": lambda docker, folder: entries(folder / "run"),
    "its last round is over": lambda docker, folder: len(entries(folder / "run")) > 1,
}


def log_of(folder: Path) -> str:
    log = folder / "run/logs/shop.log"
    return log.read_text() if log.exists() else ""


def phase_of(number: int) -> tuple[str, float]:
    """The phase in which a run is killed, and how much later: few kills are spread over the phases."""
    names = list(PHASES)
    if len(names) > KILLS:
        return names[number * len(names) // KILLS], 0.0
    return names[number % len(names)], number // len(names) * LATER_S


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_that_is_killed_in_any_phase_leaves_nothing(docker: Docker, tmp_path: Path, number: int) -> None:
    phase, later = phase_of(number)
    folder = tmp_path / "run-of"
    with run_of(folder) as run:
        until(lambda: bool(PHASES[phase](docker, folder)) or run.poll() is not None, REACHED_S)
        time.sleep(later)
        traces = Traces.of(docker)
        run.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + GONE_S
    while there := left(docker, tmp_path, traces):
        assert time.monotonic() < deadline, f"killed when {phase}, {later:g} s later: {there}"
        time.sleep(0.2)


def processes_of(folder: Path) -> list[int]:
    """The processes whose command line or folder is of a run."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, where = (place / "cmdline").read_bytes(), str((place / "cwd").readlink())
        except OSError:
            continue
        if str(folder).encode() in words or str(folder) in where:
            found.append(int(place.name))
    return found


def killed_at_once(folder: Path) -> None:
    """Kill all processes of a run, of which none sees another one end."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in processes_of(folder):
            os.kill(pid, number)


@pytest.mark.slow
def test_a_run_that_is_killed_with_its_guard_is_cleaned_up_and_finished_by_resume(
    docker: Docker, tmp_path: Path
) -> None:
    folder = tmp_path / "run-of"
    with run_of(folder) as run:
        until(lambda: bool(entries(folder / "run")) or run.poll() is not None, REACHED_S)
        traces = Traces.of(docker)
        killed_at_once(folder)
    assert docker.left()
    done = patternbench("resume", str(folder / "run"))
    assert [entry["status"] for entry in entries(folder / "run")] == ["done"] * 2, done.stdout + done.stderr
    assert left(docker, tmp_path, traces) == ""
