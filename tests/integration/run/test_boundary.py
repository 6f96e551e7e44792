"""The search of a boundary on a real system: a store, callers who try again, and a capacity that is measured first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.run.conftest import entries, patternbench

STUDY = """\
patternbench: 1
name: edge
system: {name: store, settings: {workers: 1, service_time: "fixed:10ms", answers: true}}
capacity: {objective: p95 <= 300ms, start: 40, duration: 300ms, rounds: 2}
warm_up: 500ms
time_limit: 30s
lateness: {floor: 100ms}
workload:
  open: {rate: {share: 30 %}, duration: 3s, in_flight: 5000}
  request: {path: /bytes/10, timeout: 100ms}
faults:
  - {freeze: {}, where: store, when: {from: 1s, for: 150ms}}
strategies:
  - {client: native, name: again, stack: [{retry: {max_attempts: 3, backoff: {fixed: {delay: 5ms}}}}]}
boundary: {over: open.rate, between: [20 %, 90 %], until: {half_width: 17 points}, max: 12}
"""


@pytest.mark.slow
def test_a_store_whose_callers_try_again_comes_back_from_little_load_and_not_from_much(tmp_path: Path) -> None:
    path, run = tmp_path / "study.yaml", tmp_path / "run"
    path.write_text(STUDY)
    done = patternbench("run", str(path), "--out", str(run), "--json", timeout=280)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (sentence,) = said["margin"]
    assert sentence.startswith("again: today's 30 % ")
    assert "half of the rounds do not recover at " in sentence
    capacity = json.loads((run / "manifest.json").read_text())["capacity"]
    assert 50 < capacity["before"]["rate"] < 130 and {*capacity} == {"before", "after"}
    assert 8 <= len(entries(run)) <= 12
    page = (run / "report.html").read_text()
    assert "How far it is to the edge" in page and "A round that recovered and one that did not" in page
    assert "Wasted work" in page
