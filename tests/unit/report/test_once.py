"""What a report shows in several places is worked out once, and nothing is the less right for it."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pandas as pd
import pytest
from tests.support.synthetic_run import synthetic_run

from patternbench.report import csv, html
from patternbench.report.figures.scenarios import TITLE, grid, grid_of, points
from patternbench.report.labels import RESPONSES
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections import findings


@pytest.fixture
def report() -> RunReport:
    return synthetic_run(rounds=3, users=[50], fault=[0, 80])


def test_lines_are_compared_once_for_the_page_and_the_tables(
    report: RunReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def counted(rounds: pd.DataFrame, *more: object) -> dict[str, pd.DataFrame]:
        compared.append(len(rounds))
        return real(rounds, *more)  # type: ignore[arg-type]

    real = findings.against_references
    monkeypatch.setattr(findings, "against_references", counted)
    html.render(report)
    csv.tables(report)
    assert len(compared) == 1


def test_a_report_with_other_rounds_is_worked_out_anew(report: RunReport) -> None:
    fewer = replace(report, rounds=report.rounds[report.rounds["block"] < 2])
    assert len(report.done) > len(fewer.done)
    assert findings.findings(report) is findings.findings(report)
    assert findings.findings(report) is not findings.findings(fewer)


def test_what_is_kept_of_a_report_goes_with_it() -> None:
    report = synthetic_run(rounds=3, users=[50], fault=[0])
    kept = weakref.ref(findings.findings(report))
    del report
    gc.collect()
    assert kept() is None


def test_one_grid_with_another_title_and_data_is_the_grid_of_a_response(report: RunReport) -> None:
    arrangement, response = layout(report), RESPONSES["p95"]
    data = points(report, arrangement, response)
    alone, shared = grid(arrangement, "p95 (ms)", data), grid_of(grid(arrangement, TITLE, "points"), "p95 (ms)", data)
    assert without_names(shared) == without_names(alone)


def without_names(spec: object) -> object:
    """A specification without the names of its views, which are made of its content."""
    if isinstance(spec, dict):
        return {name: without_names(part) for name, part in spec.items() if name not in ("name", "views")}
    return [without_names(part) for part in spec] if isinstance(spec, list) else spec
