"""Rounds that stop by themselves where the load engine drives them, and what a retry of failed rounds does after."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.run.conftest import entries, patternbench
from tests.support.journal_lines import altered

STUDY = """\
patternbench: 1
name: stopping
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: {until: {response: p50, half_width: 95%}, min: 3, max: 5}
warm_up: 0s
time_limit: 30s
strategies:
  - {client: native, baseline: {}}
"""
WORKLOADS = {
    "open": "workload:\n  open: {rate: [20, 40], duration: 300ms}\n  request: {path: /bytes/10}\n",
    "closed": "workload:\n  closed: {users: [2, 4], requests: 5}\n  request: {path: /bytes/10}\n",
}


def latest(folder: Path) -> dict[int, str]:
    """How each round ended at last."""
    return {entry["round"]: entry["status"] for entry in entries(folder)}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_rounds_of_the_engine_stop_by_themselves_and_a_failed_one_is_made_up_for(kind: str, tmp_path: Path) -> None:
    path, run = tmp_path / "study.yaml", tmp_path / "run"
    path.write_text(STUDY + WORKLOADS[kind])
    done = patternbench("run", str(path), "--out", str(run), "--json")
    assert done.returncode == 0, done.stderr
    planned = json.loads((run / "plan.json").read_text())["rounds"]
    counts = Counter(place["scenario"] for place in planned)
    assert len(counts) == 2
    assert set(counts.values()) <= {3, 4, 5}
    assert latest(run) == {place["index"]: "done" for place in planned}
    assert "rounds were needed" in (run / "report.html").read_text()

    journal = run / "journal.jsonl"
    first = json.loads(journal.read_text().splitlines()[0])
    failed = altered(first, status="failed", cause="made to fail by a test")
    journal.write_text(journal.read_text() + json.dumps(failed) + "\n")
    again = patternbench("resume", str(run), "--retry-failed", "--json")
    assert again.returncode == 0, again.stderr
    planned = json.loads((run / "plan.json").read_text())["rounds"]
    assert latest(run) == {place["index"]: "done" for place in planned}
    assert max(Counter(place["scenario"] for place in planned).values()) <= 5
