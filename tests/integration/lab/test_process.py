"""Services of a user's own, in another language than ours, as real processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.integration.run.conftest import left_behind
from tests.support.studies import ROOT

from patternbench.lab import environment, systems, topologies
from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import FaultSetup
from patternbench.lab.faults.acting import act_of
from patternbench.lab.faults.links import needed
from patternbench.lab.faults.schedule import FaultSchedule
from patternbench.lab.host import cgroups
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import Fault

SHOP = ROOT / "tests/data/node-shop"
SYSTEM = """\
patternbench-system: 1
name: own
about: a stock, and shops that ask it
components:
  - process: {name: stock, command: node shop.js, folder: ../shop, ready: {path: /health, status: 200}}
  - process:
      name: shop
      replicas: 2
      command: [node, shop.js, "${self.port.http}"]
      folder: ../shop
      env: {PORT: "", STOCK_URL: "${stock.url}", CONFIG: "${self.folder}/conf/own/shop.json"}
      files: {conf/own/shop.json: {till: open}}
      ready: {log: ^listening on}
      stop: {signal: SIGINT, grace: 5s}
endpoint: shop
"""


def written(folder: Path, text: str) -> systems.SystemFile:
    """The system of a file, next to a copy of the small shop."""
    (folder / "systems").mkdir()
    (folder / "systems" / "own.yaml").write_text(text)
    shutil.copytree(SHOP, folder / "shop")
    return systems.load("own", folder)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    folder = tmp_path_factory.mktemp("own")
    with environment.named(written(folder, SYSTEM), {}, folder / "logs") as running:
        yield running


def test_replicas_answer_each_at_its_address_with_what_they_were_reported(up: Environment) -> None:
    assert len(up.targets) == 2
    answers = [httpx.get(f"{url}/items/7").json() for url in up.targets]
    assert [answer["left"] for answer in answers] == [3, 3], "the stock was asked"
    assert len({answer["shop"] for answer in answers}) == 2


def test_a_command_runs_in_its_folder_and_its_files_lie_in_another(up: Environment) -> None:
    who = httpx.get(f"{up.targets[0]}/who").json()
    assert Path(who["folder"]).name == "shop"
    assert json.loads(Path(who["config"]).read_text()) == {"till": "open"}
    assert str(up.running["shop-1"].folder) in who["config"]


def test_a_command_ends_by_the_signal_that_it_asks_for_and_nothing_is_left(tmp_path: Path) -> None:
    with environment.named(written(tmp_path, SYSTEM), {}, tmp_path / "logs"):
        pass
    assert "closing the till by SIGINT" in (tmp_path / "logs" / "shop-2.log").read_text()
    assert left_behind(str(tmp_path)) == []


def test_a_fault_acts_on_the_way_to_an_endpoint_as_on_that_to_the_url(tmp_path: Path) -> None:
    stock = 'ready: {path: /health, status: 200}, endpoints: {items: "http://127.0.0.1:${self.port.http}"}}'
    text = SYSTEM.replace("ready: {path: /health, status: 200}}", stock).replace("${stock.url}", "${stock.items}")
    one, all_ = (
        Fault.model_validate({"abort": {"percentage": 100, "status": 500}, "where": f"{shop} -> stock"})
        for shop in ("shop-1", "shop")
    )
    system = written(tmp_path, text)
    links = needed([one, all_], topologies.of_file(system, {}))
    with environment.named(system, {}, tmp_path / "logs", links) as up:

        def answered() -> list[bool]:
            return ['"left":3' in httpx.get(f"{url}/items/7").text for url in up.targets]

        assert answered() == [True, True]
        with FaultSchedule([one], up):
            assert answered() == [False, True]
        with FaultSchedule([all_], up) as schedule:
            assert answered() == [False, False]
        assert schedule.acted[0].counters["requests"] == 2
        assert answered() == [True, True]


def test_a_crash_of_an_entry_is_one_of_all_its_replicas(tmp_path: Path) -> None:
    crash = Fault.model_validate({"crash": {}, "where": "shop", "when": {"for": "1s"}})
    with environment.named(written(tmp_path, SYSTEM), {}, tmp_path / "logs") as up:
        act = act_of(crash, "crash", FaultSetup(up, time.monotonic_ns))
        act.begin()
        assert [up.running[name].process.alive for name in ("shop-1", "shop-2", "stock")] == [False, False, True]
        assert up.dead() == [], "they are meant to be down"
        act.end()
        assert [httpx.get(f"{url}/items/7").status_code for url in up.targets] == [200, 200]


def failing(folder: Path, *lines: str) -> str:
    """Why a system whose only component says these lines does not come up."""
    head = "patternbench-system: 1\nname: own\nabout: x\ncomponents:\n  - process:\n"
    body = textwrap.indent("\n".join(("name: shop", "folder: ../shop", *lines)), " " * 6)
    system = written(folder, f"{head}{body}\nendpoint: shop\n")
    with pytest.raises(StartError) as caught:
        environment.named(system, {}, folder / "logs")
    assert left_behind(str(folder)) == []
    assert str(caught.value).startswith(f"{folder}/systems/own.yaml:5: ")
    return str(caught.value)


def test_a_port_that_is_taken_is_reported_with_the_line_of_the_component(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        reported = failing(tmp_path, "command: node shop.js", f"ports: {{http: {port}}}")
    assert reported.endswith(f"shop cannot use port {port}: Address already in use")


def test_a_command_that_dies_at_once_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    reported = failing(tmp_path, "command: node nothing.js")
    assert re.search(r"shop ended with code 1: .*Cannot find module", reported)


def test_a_command_that_is_never_ready_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    reported = failing(tmp_path, "command: node shop.js", "ready: {path: /missing, status: 200}", "within: 1s")
    url = r"http://127.0.0.1:\d+/missing"
    assert re.search(rf"shop did not come up within 1s, {url} answers 404 instead of 200: listening on \d+$", reported)


def test_a_preparation_that_fails_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    reported = failing(tmp_path, "command: node shop.js", "prepare: [sh -c 'echo no disk; exit 4']")
    assert reported.endswith("shop was not prepared: sh ended with code 4: no disk")


def limited(folder: Path, *lines: str) -> systems.SystemFile:
    text = SYSTEM.replace("      replicas: 2\n", "".join(f"      {line}\n" for line in lines))
    return written(folder, text)


def test_a_command_runs_on_its_cpus_alone_and_those_of_others_are_as_before(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    last = max(before)
    with environment.named(limited(tmp_path, f"cpus: {last}"), {}, tmp_path / "logs") as up:
        bound = {name: running.process.family()[0].cpu_affinity() for name, running in up.running.items()}
        assert up.limits() == {"shop": f"on CPU {last}"}
    assert bound == {"stock": sorted(before), "shop": [last]}
    assert os.sched_getaffinity(0) == before


def test_a_cpu_that_the_machine_lacks_is_reported_and_nothing_is_started_elsewhere(tmp_path: Path) -> None:
    here = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
    reported = failing(tmp_path, "command: node shop.js", "cpus: [0, 4000]")
    assert reported.endswith(f"shop cannot run on CPU 0, 4000: this run has CPU {here}")


def test_a_memory_limit_acts_or_it_is_said_why_it_does_not(tmp_path: Path) -> None:
    with environment.named(limited(tmp_path, "memory: 400MB"), {}, tmp_path / "logs") as up:
        refused = cgroups.refusal(up.running["shop"].launch.limits)
        assert up.host.refused_limits() == ({"shop": refused} if refused else {})
        reported = f"400,000,000 bytes of memory{': does not act: ' if refused else ''}{refused}"
        assert up.limits() == {"shop": reported}
        pid = up.running["shop"].process.family()[0].pid
        assert ("patternbench-" in Path(f"/proc/{pid}/cgroup").read_text()) == (not refused)
    assert left_behind(str(tmp_path)) == []
