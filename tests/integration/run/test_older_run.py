"""A run that was begun before factors had roles and units continues where it stopped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.integration.run.conftest import entries, patternbench
from tests.support.studies import ROOT

from patternbench.records import tables

OLDER = ROOT / "tests" / "data" / "run-before-roles"


def test_a_run_begun_before_factors_had_roles_is_resumed_and_loses_no_round(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OLDER, tmp_path / "run"))
    before = (folder / "journal.jsonl").read_text()
    done = patternbench("resume", str(folder), timeout=200)
    assert done.returncode == 0, done.stderr
    assert (folder / "journal.jsonl").read_text().startswith(before)
    assert sorted(entry["round"] for entry in entries(folder)) == list(range(6))
    assert [row["role"] for row in tables.factors_of(folder)][-2:] == ["pattern", "pattern"]
    assert json.loads((folder / "plan.json").read_text())["scenarios"]
    assert "retry · 2 ms" in (folder / "report.html").read_text()
