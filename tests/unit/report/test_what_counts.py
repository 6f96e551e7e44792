"""A report shows rounds that count, and nothing else of the others than that they are there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.packed import data_of
from tests.support.recorded_run import STUDY, pinned

from patternbench.observe.warning import RoundWarning
from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, FAILED, Entry, Journal
from patternbench.report import build, csv
from patternbench.report.html import render
from patternbench.report.model import RunReport, counting
from patternbench.study.load import loads

LATE = RoundWarning("late_schedule", "sent late", "lower the rate", invalidates=True)
QUICK_US, SLOW_US = 1_000, 9_000_000


@pytest.fixture
def report(tmp_path: Path) -> RunReport:
    """Four quick rounds, a slow one that is not valid, and a slow one that failed."""
    levels = {"client": "native", "strategy": "baseline", "users": 2}
    scenario = expand(loads(STUDY, "study.yaml")).scenarios[0].as_json() | {"id": "a", "levels": levels}
    places = [Round(number, number, "a") for number in range(6)]
    run = pinned(RunFolder(tmp_path / "run"), [scenario], places, {"users": [2]})
    journal = Journal(run.journal)
    for number, (status, warnings) in enumerate([*[(DONE, [])] * 4, (DONE, [LATE]), (FAILED, [])]):
        _attempts(run, f"{number:05d}", QUICK_US if number < 4 else SLOW_US)
        journal.append(Entry(number, number, "a", status, f"{number:05d}", 1e9 + number, 1.0, 2, doubts=warnings))
    return build.gather(run)


def _attempts(run: RunFolder, name: str, duration_us: int) -> None:
    user, ones = np.array([0, 1]), np.ones(2, dtype=np.int64)
    batch = Batch(
        user, 0 * user, ones, 10 * user, duration_us * ones, np.zeros(2, np.int8), (200 * ones).astype(np.int16)
    )
    attempts.write(run.attempts_of(name), attempts.from_batches([batch], warm_up=False))


def test_curves_hold_no_round_that_is_not_valid(report: RunReport) -> None:
    assert set(report.latencies["round"]) == {0, 1, 2, 3}
    assert report.latencies["seconds"].max() < SLOW_US / 1e6


def test_figures_and_tables_are_of_rounds_that_count(report: RunReport) -> None:
    responses = data_of(render(report))["responses"]
    assert {"p95", "amplification"} <= {response["name"] for response in responses}
    for response in responses:
        assert response["rows"], response["name"]
        for point in response["rows"]:
            assert point["rounds"] == 4, response["name"]
            if response["unit"] in ("s", "ms"):
                assert max(point["median"], point["high"] or 0) < SLOW_US / 1e6 / 2, response["name"]
    tables = csv.tables(report)
    figures = [table for name, table in tables.items() if name.startswith("figure-")]
    assert figures
    assert all(set(table["rounds"]) == {4} for table in figures)
    assert tables["figure-p95"]["high"].max() < SLOW_US / 1e6 / 2


def test_every_round_is_named_and_those_that_count_are_distinguished(report: RunReport) -> None:
    assert list(report.rounds["round"]) == [0, 1, 2, 3, 4, 5]
    assert list(counting(report.rounds)["round"]) == [0, 1, 2, 3]
