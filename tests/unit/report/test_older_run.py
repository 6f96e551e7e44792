"""A run's folder that was written before factors had roles and units is opened and reported as one of today."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.support.call_times import call_seconds
from tests.support.studies import ROOT

from patternbench.cli.fit import fit
from patternbench.records import attempts, tables
from patternbench.records.folder import RunFolder
from patternbench.report import build
from patternbench.report.export import ExportRequest, export_run
from patternbench.report.html import render
from patternbench.report.layout import distinct, layout
from patternbench.terms.roles import Role, Unit

OLDER = ROOT / "tests" / "data" / "run-before-roles"


@pytest.fixture
def older(tmp_path: Path) -> RunFolder:
    """A copy of the folder, whose last round is still to do."""
    return RunFolder(Path(shutil.copytree(OLDER, tmp_path / "run")))


def values(frame: pd.DataFrame) -> pd.DataFrame:
    """What a table holds, whatever its columns hold nothing as."""
    found = frame.reset_index(drop=True).astype(object)
    return found.where(found.notna(), None)


def test_the_plan_of_an_older_run_knows_levels_alone() -> None:
    assert json.loads((OLDER / "plan.json").read_text())["factors"]["retry.backoff.fixed.delay"] == ["1ms", "2ms"]
    assert tables.factors_of(OLDER) == []


def test_an_older_run_is_reported_with_roles_and_units_as_its_study_declares_them(older: RunFolder) -> None:
    report = build.gather(older)
    found = {name: (factor.role, factor.unit, factor.none) for name, factor in report.factors.items()}
    assert found == {
        "workers": (Role.WORLD, Unit.COUNT, None),
        "abort.percentage": (Role.FAULT, Unit.PERCENT, None),
        "parameters.size": (Role.WORLD, Unit.COUNT, None),
        "client": (Role.CLIENT, Unit.TEXT, None),
        "strategy": (Role.PATTERN, Unit.TEXT, "baseline"),
        "retry.backoff.fixed.delay": (Role.PATTERN, Unit.DURATION, None),
    }
    assert distinct(placed.line for placed in layout(report).scenarios) == ["baseline", "retry · 1 ms", "retry · 2 ms"]
    assert "retry · 1 ms" in render(report)


def test_calls_that_took_longer_than_the_objective_of_the_study_are_no_goodput_of_its_report(older: RunFolder) -> None:
    before = build.gather(older).rounds.query("status == 'done' and failure_rate == 0").iloc[0]
    seconds = np.sort(call_seconds(attempts.read(older.attempts_of(f"{before['round']:05d}"))))
    half = len(seconds) // 2
    noted = json.loads(older.manifest.read_text())
    older.manifest.write_text(json.dumps(noted | {"objective_s": (seconds[half - 1] + seconds[half]) / 2}))
    after = build.gather(older).rounds.set_index("round").loc[before["round"]]
    assert seconds[half - 1] < seconds[half]
    assert after["goodput"] == pytest.approx(before["goodput"] * half / len(seconds))
    build.refresh_rounds(older)
    kept = pd.read_parquet(older.rounds).set_index("round").loc[before["round"]]
    assert kept["goodput"] == after["goodput"]


def test_the_rounds_of_an_older_run_keep_their_values_and_gain_what_is_known_of_its_factors(older: RunFolder) -> None:
    before = pd.read_parquet(older.rounds).query("round < 5").reset_index(drop=True)
    build.refresh_rounds(older)
    after = pd.read_parquet(older.rounds).sort_values("round").reset_index(drop=True)
    shared = [name for name in before.columns if name in after.columns]
    assert set(before.columns) <= set(after.columns)
    pd.testing.assert_frame_equal(values(before.sort_values("round")[shared]), values(after[shared]))
    assert [row["name"] for row in tables.factors_of(older.path)] == list(json.loads(older.plan.read_text())["factors"])


def test_an_older_table_of_rounds_is_analyzed_by_what_the_plan_next_to_it_says(older: RunFolder) -> None:
    formula = "TotalExecutionTime ~ C(strategy) + `retry.backoff.fixed.delay`"
    result = CliRunner().invoke(fit, [str(older.path), "--formula", formula])
    assert result.exit_code == 0, result.output
    assert "strategy is compared at retry.backoff.fixed.delay = 1.33333ms" in " ".join(result.output.split())


def test_an_export_of_the_rounds_as_parquet_keeps_what_is_known_of_their_factors(older: RunFolder) -> None:
    build.refresh_rounds(older)
    path = export_run(older, ExportRequest("parquet"), None, force=False)
    assert tables.factors_of(path) == tables.factors_of(older.path) != []
