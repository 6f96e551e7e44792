"""A study with a speed probe: rounds that the load engine drives and rounds of a client have its time."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import TINY, entries, patternbench

CPU = min(os.sched_getaffinity(0))
PROBE = f"speed_probe: {{cpus: {CPU}}}\nmodels: [p50 ~ C(strategy) + probe_time]\n"
LONGER = TINY.replace("successes: 3, max_attempts: 60", "duration: 300ms")
OPEN = """\
patternbench: 1
name: open
system: target
rounds: 2
warm_up: 200ms
lateness: {floor: 10s}
workload: {open: {rate: 50/s, duration: 500ms}, request: {path: /bytes/100}}
"""


@pytest.mark.parametrize("study", [LONGER, OPEN + "strategies: [{client: native, baseline: {}}]\n"])
def test_every_round_has_the_probes_time_and_its_samples(tmp_path: Path, study: str) -> None:
    file, run = tmp_path / "study.yaml", tmp_path / "run"
    probe = PROBE if "retry" in study else PROBE.splitlines()[0] + "\n"
    file.write_text(study + probe)
    done = patternbench("run", str(file), "--out", str(run))
    assert done.returncode == 0, done.stderr
    rounds = pd.read_parquet(run / "rounds.parquet")
    assert rounds["probe_time"].between(1e-6, 1e-2).all()
    for entry in entries(run):
        samples = pd.read_parquet(run / "observed" / entry["file"] / "speed" / "samples.parquet")
        assert set(samples["cpu"]) == {CPU}
        assert (samples["second"] < 0).any() and (samples["second"] > 0.1).any()
        # The journal's time has no pauses in it; it is taken by another clock than the probe's.
        assert samples["second"].max() < entry["seconds"] + 1.5
    exported = patternbench(
        "export", str(run), "--table", "speed", "--format", "csv", "--out", str(tmp_path / "speed.csv")
    )
    assert exported.returncode == 0, exported.stderr
    assert {"round", "second", "cpu", "cpu_time"} <= set(pd.read_csv(tmp_path / "speed.csv").columns)
    assert "Speed of the machine" in (run / "report.html").read_text()


def test_a_cpu_that_is_not_there_stops_the_run_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(TINY + "speed_probe: {cpus: 4095}\n")
    done = patternbench("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "speed_probe.cpus" in done.stderr
    assert "4095" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
