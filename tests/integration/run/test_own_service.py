"""A service of a user's own, in another language than ours, measured from a study in its own folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.integration.run.conftest import entries, left_behind, patternbench
from tests.support.studies import ROOT

from patternbench.lab.host import cgroups
from patternbench.lab.host.launch import ResourceLimits

SYSTEM = """\
patternbench-system: 1
name: shop
about: a shop that asks a stock, both in JavaScript
settings:
  replicas: {default: 1, role: pattern, unit: count, about: how many shops there are}
components:
  - process: {name: stock, command: node shop.js, folder: ../shop, ready: {path: /health, status: 200}}
  - process:
      name: shop
      replicas: "${replicas}"
      command: node shop.js
      folder: ../shop
      env: {STOCK_URL: "${stock.url}"}
      ready: {path: /health, status: 200}
      memory: 2GB
endpoint: shop
"""
STUDY = """\
patternbench: 1
name: own
system: {name: shop, settings: {replicas: [1, 2]}}
rounds: 1
warm_up: 200ms
time_limit: 20s
lateness: {percentage: 100, floor: 1s}    # a busy machine is not what is tested
workload:
  open: {rate: 100, duration: 2s}
  request: {path: "/items/${random:1-9}"}
strategies:
  - {client: native, baseline: {}}
faults:
  - {crash: {}, where: stock, when: {from: 800ms, for: 400ms}}
"""


@dataclass(frozen=True)
class Finished:
    """A run that is over: its folder, what it printed, its journal."""

    folder: Path
    process: subprocess.CompletedProcess[str]
    rounds: list[dict[str, Any]]

    def answered(self, component: str) -> list[int]:
        """How many requests a component says to have answered, each time that it was ended."""
        log = (self.folder / "logs" / f"{component}.log").read_text()
        return [int(number) for number in re.findall(r"after (\d+) answers", log)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    folder = tmp_path_factory.mktemp("own-service")
    shutil.copytree(ROOT / "tests/data/node-shop", folder / "shop")
    (folder / "systems").mkdir()
    (folder / "systems" / "shop.yaml").write_text(SYSTEM)
    (folder / "study.yaml").write_text(STUDY)
    done = patternbench("run", str(folder / "study.yaml"), "--out", str(folder / "run"))
    yield Finished(folder / "run", done, entries(folder / "run"))
    assert left_behind(str(folder)) == []


def test_every_round_is_measured_and_the_report_is_there(run: Finished) -> None:
    assert [entry["status"] for entry in run.rounds] == ["done", "done"], run.process.stderr
    assert (run.folder / "report.html").is_file()


def test_load_goes_to_every_replica(run: Finished) -> None:
    assert min(run.answered("shop")) > 150
    assert min(run.answered("shop-1") + run.answered("shop-2")) > 75


def test_a_service_that_is_killed_is_reported_with_the_round_and_answers_again_afterwards(run: Finished) -> None:
    for entry in run.rounds:
        (fault,) = entry["faults"]
        assert (fault["kind"], fault["where"]) == ("crash", "stock")
        frame = pd.read_parquet(run.folder / "attempts" / f"{entry['file']}.parquet").sort_values("start_us")
        assert set(frame["status"].dropna()) == {200, 502}, "the shop says so while it does not reach its stock"
        assert frame["status"].tail(5).eq(200).all()


def test_a_limit_that_did_not_act_is_a_warning_of_the_round_and_stands_in_the_manifest(run: Finished) -> None:
    refused = cgroups.refusal(ResourceLimits(memory=2_000_000_000))
    kinds = {warning["kind"] for entry in run.rounds for warning in entry["doubts"]}
    assert ("limit_not_enforced" in kinds) == bool(refused)
    limits = json.loads((run.folder / "manifest.json").read_text())["limits"]
    assert limits.keys() == {"shop", "shop-1", "shop-2"}
    assert all(refused in text for text in limits.values())


def test_a_run_keeps_the_file_of_its_system_and_continues_with_no_other(run: Finished) -> None:
    file = run.folder.parent / "systems" / "shop.yaml"
    manifest = json.loads((run.folder / "manifest.json").read_text())
    copy = run.folder / manifest["files"]["systems/shop.yaml"]["copy"]
    assert copy.read_text() == SYSTEM
    file.write_text(SYSTEM.replace("2GB", "1GB"))
    changed = patternbench("resume", str(run.folder))
    file.unlink()
    gone = patternbench("resume", str(run.folder))
    file.write_text(SYSTEM)
    assert gone.returncode == 2
    assert f"{file}: is no longer there" in gone.stderr
    assert str(copy) in gone.stderr
    assert changed.returncode == 2
    assert f"{file}: has changed since the run began" in changed.stderr
    assert str(copy) in changed.stderr
    assert patternbench("resume", str(run.folder)).returncode == 0
