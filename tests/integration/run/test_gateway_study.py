"""A study whose factors are settings of a gateway: one start, and its own answers distinguished from the service's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import entries, patternbench

from patternbench.records.folder import RunFolder

SYSTEM = """\
patternbench-system: 1
name: mesh
about: two services behind a gateway
settings:
  limit: {default: none, role: pattern, none: none, unit: count, about: requests of all users}
  weights: {default: "1:1", role: pattern, about: of the services}
components:
  - target: {name: shop, replicas: 2}
  - gateway:
      name: edge
      routes: [{to: shops}]
      clusters: {shops: {to: shop, balancing: weighted, weights: "${weights}"}}
      limit: {max_tokens: "${limit}", fill_interval: 1h}
endpoint: edge
"""
STUDY = """\
patternbench: 1
name: mesh
system: {name: mesh, settings: {limit: [none, 30], weights: ["1:1", "4:0"]}}
rounds: 2
seed: 3
warm_up: 0ms
time_limit: 20s
workload:
  closed: {users: 2, requests: 50}
  journey: [{name: ask, path: /anything/ask}]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mesh")
    (folder / "systems").mkdir()
    (folder / "systems" / "mesh.yaml").write_text(SYSTEM)
    (folder / "study.yaml").write_text(STUDY)
    done = patternbench("run", folder / "study.yaml", "--out", folder / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def rounds(run: Path) -> pd.DataFrame:
    return pd.read_parquet(run / "rounds.parquet")


def test_limits_and_weights_of_a_gateway_are_changed_without_a_start(run: Path) -> None:
    starts = [one["component"] for entry in entries(run) for one in entry["starts"]]
    assert sorted(starts) == ["edge", "shop-1", "shop-2"]


def test_each_round_has_all_tokens_and_the_answers_of_the_limit_are_distinguished(rounds: pd.DataFrame) -> None:
    limited = rounds["limit"].astype(str) == "30"
    assert limited.sum() == len(rounds) / 2
    assert set(rounds[limited]["gateway_limited"]) == {70}
    assert set(rounds[~limited]["gateway_limited"]) == {0}
    assert set(rounds["gateway_requests"]) == {100}


def test_the_section_and_the_table_say_what_gateways_did(run: Path, tmp_path: Path) -> None:
    assert "Limited by gateways" in RunFolder(run).path.joinpath("report.html").read_text(encoding="utf-8")
    exported = patternbench("export", run, "--table", "gateways", "--format", "csv", "--out", tmp_path / "gateways.csv")
    assert exported.returncode == 0, exported.stdout + exported.stderr
    frame = pd.read_csv(tmp_path / "gateways.csv")
    only_first = frame[(frame["count"] == "to shop-1") & frame["value"].isin([30, 100])]
    assert len(only_first) == 4
