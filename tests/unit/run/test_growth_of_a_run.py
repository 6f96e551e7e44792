"""Rounds that stop by themselves in a whole run: which blocks are added, and what the plan keeps."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.unit.run.test_whole_run import STUDY, MadeUp, carried_out, environment, rounds_of, typed

from patternbench.analyze.metrics import round_metrics
from patternbench.cli.resume import resume
from patternbench.records import attempts
from patternbench.records.folder import RunFolder

UNTIL = "rounds: {until: {response: p95, half_width: 30%}, min: 3, max: 6}"

__all__ = ["environment"]


def test_a_run_adds_blocks_until_every_scenario_is_known_well_enough_or_has_the_most(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MadeUp, "breaking", {4})
    text = STUDY.replace("rounds: 3", UNTIL)
    (environment / "study.yaml").write_text(text)
    folder, _ = carried_out(environment)
    plan = json.loads((folder / "plan.json").read_text())
    entries = {entry.round: entry for entry in rounds_of(folder)}
    assert sorted(entries) == [one["index"] for one in plan["rounds"]] == list(range(len(plan["rounds"])))
    assert {one["index"]: one["scenario"] for one in plan["rounds"]} == {n: e.scenario for n, e in entries.items()}
    blocks = [[one["scenario"] for one in plan["rounds"] if one["block"] == b] for b in range(7)]
    assert [len(block) for block in blocks[:3]] == [6, 6, 6] and blocks[6] == []
    assert all(set(later) <= set(earlier) for earlier, later in pairwise(blocks))
    known: dict[str, list[float]] = {}
    for entry in entries.values():
        if entry.counts:
            frame = attempts.read(RunFolder(folder).attempts_of(entry.file))
            known.setdefault(entry.scenario, []).append(round_metrics(frame, 0.03, 2.0)["p95"])
    assert {scenario: len(values) for scenario, values in known.items()} != dict.fromkeys(blocks[0], 3)
    for scenario, values in known.items():
        most = sum(scenario in block for block in blocks) == 6
        half = 1.96 * np.std(values, ddof=1) / math.sqrt(len(values)) / np.mean(values)
        assert most or half < 0.3, "it was left before it was known to within 30 %"
    before = (folder / "plan.json").read_bytes()
    typed(resume, str(folder))
    assert (folder / "plan.json").read_bytes() == before, "nothing more is needed"


def test_a_run_that_was_killed_between_two_blocks_goes_on_with_the_next_one(environment: Path) -> None:
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", UNTIL))
    folder, _ = carried_out(environment)
    whole = json.loads((folder / "plan.json").read_text())
    kept = [one for one in whole["rounds"] if one["block"] < 3]
    assert len(kept) < len(whole["rounds"])
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    early = [line for line in lines if json.loads(line)["round"] < len(kept)]
    (folder / "journal.jsonl").write_text("".join(early))
    (folder / "plan.json").write_text(json.dumps({**whole, "rounds": kept}))
    typed(resume, str(folder))
    assert json.loads((folder / "plan.json").read_text())["rounds"] == whole["rounds"]
