"""The report's section on series."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.recorded_run import pinned

from patternbench.cli.shared import factors
from patternbench.plan.order import Round
from patternbench.records import attempts, tables
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, ActedFault, Entry, Journal
from patternbench.report.build import gather, refresh_rounds
from patternbench.series.records import kept
from patternbench.series.records.kept import RequestedSeries, RoundQueries, SeenSeries

ROUNDS = 3
SERIES = {
    "cpu": RequestedSeries(
        query="cpu", unit="cores", title="CPU in use", better="lower", step_s=1.0, label_sets=1, left_out=0
    ),
    "modes": RequestedSeries(query="m", unit="", title="", better="neither", step_s=1.0, label_sets=2, left_out=0),
    "gone": RequestedSeries(query="g", unit="", title="", better="neither", step_s=1.0, label_sets=0, left_out=0),
}


def seen(round_: int) -> SeenSeries:
    rows = [("cpu", "{}", float(second), 1.0 + round_) for second in range(4)]
    rows += [("modes", json.dumps({"mode": mode}), 1.0, 5.0) for mode in ("user", "system")]
    requested = RoundQueries(
        prometheus="http://localhost", measured_from_s=0.0, length_s=4.0, series=SERIES, targets=[]
    )
    return SeenSeries(requested, pd.DataFrame(rows, columns=["series", "labels", "second", "value"]))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of three rounds of one scenario, with a fault in the second second and series kept with each."""
    scenario = {"id": "s", "levels": {"client": "native", "strategy": "baseline"}, "config": {"system": {}}}
    made = pinned(RunFolder(tmp_path / "run"), [scenario], [Round(n, n, "s") for n in range(ROUNDS)])
    ones = np.ones(3, dtype=np.int64)
    ends = np.array([500_000, 1_500_000, 2_500_000])
    for n in range(ROUNDS):
        batch = Batch(0 * ones, np.arange(3), ones, ends - 9, ends - 9, np.zeros(3, np.int8), 200 * ones)
        attempts.write(made.attempts_of(f"{n:05d}"), attempts.from_batches([batch], warm_up=False))
        acted = [ActedFault("delay", "delay", "edge", 1_000_000, 2_000_000)]
        Journal(made.journal).append(Entry(n, n, "s", DONE, f"{n:05d}", 0.0, 4.0, 3, faults=acted))
        kept.write(made.observed_of(f"{n:05d}") / "series", seen(n))
    return made


def test_the_report_says_what_each_series_came_to_and_draws_it_under_the_attempts_on_one_axis(run: RunFolder) -> None:
    (section,) = [section for section in gather(run).sections if section.anchor == "series"]
    (table,) = section.tables
    cpu, *modes = table.frame.to_dict("records")
    assert (cpu["scenario"], cpu["mean"], cpu["unit"], cpu["rounds"]) == ("native baseline", "2 (1 to 3)", "cores", 3)
    assert [row["labels"] for row in modes] == ["mode user", "mode system"]
    assert any("`series.modes.mean`, `series.modes.max`, `series.modes.last` are undefined" in w for w in section.words)
    (figure,) = section.figures
    panels = figure.spec["vconcat"]
    assert [panel["title"]["text"] for panel in panels] == [
        "attempts per second",
        "median time (ms)",
        "CPU in use (cores)",
        "modes",
    ]
    axes = {json.dumps(layer["encoding"]["x"]["scale"]) for panel in panels for layer in panel["layer"]}
    assert len(axes) == 1
    assert "a fault acted" in figure.caption
    assert {panel["layer"][0]["mark"]["type"] for panel in panels} == {"rect"}


def test_a_run_without_series_has_no_section_on_them(run: RunFolder, tmp_path: Path) -> None:
    run.observed.rename(tmp_path / "elsewhere")
    assert "series" not in [section.anchor for section in gather(run).sections]


def test_the_table_of_rounds_has_the_summaries_of_each_round(run: RunFolder) -> None:
    rounds = gather(run).rounds
    assert rounds["series.cpu.mean"].tolist() == [1.0, 2.0, 3.0]
    assert rounds["series.modes.mean"].isna().all()


def test_the_unit_that_a_study_gives_a_series_is_written_wherever_its_values_are(run: RunFolder) -> None:
    run.study.write_text(run.study.read_text() + "series: {cpu: {query: cpu, unit: cores}, modes: m}\n")
    refresh_rounds(run)
    assert tables.units_of(run.path)["series.cpu.max"] == "cores"
    assert factors(run.path).held("series.cpu.mean", 2.0) == "2 cores"
    assert factors(run.path).held("series.modes.mean", 2.0) == "2"
