"""A load whose generators are on nodes of a real Ray cluster of this machine, against a system that stays here."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import psutil
import pytest
from tests.integration.run.conftest import command, left_behind, patternbench
from tests.support.targets import target_up

from patternbench.lab.software.ray_cluster import own_cluster
from patternbench.records.load_summaries import LoadSummary

Cluster = tuple[str, Mapping[str, str]]
PATIENCE_S = 120.0
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # a cluster takes half a minute on a busy machine


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with own_cluster(2, tmp_path_factory.mktemp("cluster")) as (address, env):
        yield address, env


def asked(url: str, cluster: Cluster, out: Path, duration: str) -> list[str]:
    flags = ["--rate", "60", "--duration", duration, "--generators", "2", "--out", str(out), "--json"]
    return ["load", f"{url}/bytes/5", *flags, "--on", f"ray:{cluster[0]}", "--trust-cluster"]


def test_generators_on_two_nodes_send_what_one_would_and_their_clocks_are_known(
    cluster: Cluster, tmp_path: Path
) -> None:
    out = tmp_path / "records"
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        done = patternbench(*asked(url, cluster, out, "1s"), timeout=PATIENCE_S, **cluster[1])
    assert done.returncode in (0, 3), done.stderr  # a busy machine may send late
    assert json.loads(done.stdout)["requests"] == 60
    rows = pd.read_parquet(out / "attempts.parquet").sort_values("intended_us")
    assert list(rows["intended_us"]) == [number * 1_000_000 // 60 for number in range(60)]
    assert list(rows["call"]) == list(range(60))
    summary = LoadSummary.model_validate_json((out / "summary.json").read_text())
    assert [one.requests for one in summary.generators] == [30, 30]
    assert all(one.clock_uncertainty_us > 0 for one in summary.generators)
    # Both nodes have the clock of this machine: what is measured has to hold the true offset, which is none.
    assert all(abs(one.clock_offset_us) <= one.clock_uncertainty_us for one in summary.generators)


def test_a_generator_killed_on_its_node_makes_the_load_invalid_and_none_is_left_behind(
    cluster: Cluster, tmp_path: Path
) -> None:
    out = tmp_path / "records"
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        words = command(*asked(url, cluster, out, "60s"))
        env = {**os.environ, **cluster[1]}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        _generator("patternbench-generator-2", process).kill()
        told, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3, said
    assert "generator 2 of 2 was lost" in said
    assert 0 < json.loads(told)["requests"] < 60 * 60 / 2
    assert left_behind("patternbench-generator-") == []


def _generator(mark: str, process: subprocess.Popen[str]) -> psutil.Process:
    """The engine of a generator once it sends."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        for one in psutil.process_iter(["cmdline"]):
            words = one.info["cmdline"] or []
            if words[1:2] == ["load"] and mark in words[-1] and Path(words[-1]).exists():
                time.sleep(1)
                return one
        time.sleep(0.2)
    raise AssertionError(f"no generator came up: {process.communicate() if process.poll() is not None else ''}")
