"""A round after an overload begins with a system that is done with it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import entries, patternbench

STUDY = """\
patternbench: 1
name: after-an-overload
system: {name: target, settings: {workers: 1, service_time: "fixed:20ms"}}
order: declared
rounds: 1
warm_up: 0s
time_limit: 30s
workload:
  open: {rate: [300, 5], duration: 2s, in_flight: 2000}
  request: {path: /bytes/10, timeout: 1s}
strategies:
  - {client: native, baseline: {}}
"""


@pytest.mark.slow
def test_a_light_round_after_an_overload_of_the_calibrated_target_has_none_of_its_queue_and_no_new_start(
    tmp_path: Path,
) -> None:
    """600 calls of 20 ms are 12 s of work, of which the overload leaves most: without a drop all ten calls time out."""
    (tmp_path / "study.yaml").write_text(STUDY)
    done = patternbench("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode in (0, 3), done.stderr
    rounds = pd.read_parquet(tmp_path / "run" / "rounds.parquet").set_index("rate")
    assert rounds.loc[300, "failure_rate"] > 0.5
    assert (rounds.loc[5, "TotalCalls"], rounds.loc[5, "failure_rate"]) == (10, 0)
    _, light = entries(tmp_path / "run")
    assert light["starts"] == []
    assert light["reset_seconds"] > 0
    assert "still_busy" not in [doubt["kind"] for doubt in light["doubts"]]
