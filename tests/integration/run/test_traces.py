"""Two small services whose calls are known by heart: traces count the same, in its own pass for each scenario."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support import traced_service
from tests.support.traced_service import IN_MEMORY, LINES

from patternbench.plan.scenarios import Scenario
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry, Journal
from patternbench.records.load_summaries import LoadProgress
from patternbench.report.build import build, gather
from patternbench.report.export import ExportRequest, export_run
from patternbench.run import prepared_run
from patternbench.study.load import StudyFile

SERVICE = [sys.executable, traced_service.__file__, "${self.port.http}", "${self.folder}/db"]
SYSTEM: dict[str, Any] = {
    "patternbench-system": 1,
    "name": "orders",
    "about": "a shop that asks its stock for each line of an order",
    "components": [
        {"process": {"name": "stock", "command": SERVICE}},
        {"process": {"name": "shop", "command": [*SERVICE, "${stock.url}"]}},
    ],
    "endpoint": "shop",
}
STUDY = """\
patternbench: 1
name: orders
system: orders
rounds: 2
warm_up: 0ms
time_limit: 60s
workload: {closed: {users: 2, requests: 10}, request: {path: /orders/7}}
traces: {sample: [0%, 100%], counting_pass: true}
models: ["AverageSuccessTime ~ C(traces.sample)"]
"""
REQUESTS = 20
SHOP_CALLS = (1 + LINES, LINES)
"""Of a database, of the stock."""


@dataclass
class Watching:
    """Hears of a run's progress, and interrupts it where it is told to."""

    ended: list[Entry]
    most: int | None = None

    def round_started(self, scenario: Scenario) -> None:
        if self.most == len(self.ended):
            raise KeyboardInterrupt

    def place_noticed(self, _: str) -> None: ...

    def looked(self, _: str) -> None: ...

    def round_progressed(self, progress: LoadProgress) -> None:
        """Nothing."""

    def round_ended(self, entry: Entry) -> None:
        self.ended.append(entry)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """A run that was interrupted after its first counting pass, and resumed."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "systems").mkdir()
    (folder / "systems" / "orders.yaml").write_text(json.dumps(SYSTEM))
    (folder / "study.yaml").write_text(STUDY)
    begun = prepared_run.begin(StudyFile.read(folder / "study.yaml"), folder / "out", skip_unavailable=False)
    with pytest.raises(KeyboardInterrupt):
        begun.execute(Watching([], most=1))
    resumed = Watching([])
    prepared_run.reopen(folder / "out").execute(resumed)
    assert [entry.outside for entry in resumed.ended] == [True] + [False] * 4
    build(begun.folder)
    return begun.folder


@pytest.fixture(scope="module")
def rounds(run: RunFolder) -> pd.DataFrame:
    return pd.read_parquet(run.rounds).set_index("round")


def test_the_counted_calls_of_a_service_are_those_that_were_counted_by_hand(rounds: pd.DataFrame) -> None:
    traced = rounds[rounds["traces.sample"] == "100%"]
    database, distributed = SHOP_CALLS
    assert traced["database_calls"].tolist() == [database + LINES] * 2
    assert traced["distributed_calls"].tolist() == [distributed] * 2
    assert traced["in_memory_calls"].tolist() == [IN_MEMORY * (1 + LINES)] * 2
    assert traced["traced_requests"].tolist() == [REQUESTS] * 2


def test_times_of_the_types_add_up_to_that_of_the_root_span(rounds: pd.DataFrame) -> None:
    traced = rounds[rounds["traces.sample"] == "100%"]
    parts = traced[["in_memory_time", "database_time", "distributed_time"]]
    assert (parts > 0).all(axis=None)
    assert parts.sum(axis=1).tolist() == pytest.approx(traced["backend_time"].tolist())
    assert (traced["network_time"] + traced["backend_time"] < 2 * traced["AverageSuccessTime"]).all()


def test_a_counting_pass_is_in_the_journal_and_in_no_summary(run: RunFolder, rounds: pd.DataFrame) -> None:
    passes = [entry for entry in Journal(run.journal).entries() if entry.counting]
    assert sorted(entry.file for entry in passes) == sorted(f"counting-{name}" for name in rounds["scenario"].unique())
    assert all((entry.round, entry.block, entry.status) == (-1, -1, "done") for entry in passes)
    assert sorted(rounds.index) == [0, 1, 2, 3]


def test_a_level_without_tracing_has_no_receiver_and_nothing_of_its_rounds_is_traced(
    run: RunFolder, rounds: pd.DataFrame
) -> None:
    untraced = rounds[rounds["traces.sample"] == "0%"]
    assert untraced["backend_time"].isna().all()
    assert not any((run.observed_of(f"{number:05d}") / "traces").exists() for number in untraced.index)


def test_what_tracing_costs_is_reported_next_to_the_calls_and_is_nothing_to_choose(run: RunFolder) -> None:
    report = gather(run)
    assert report.factors["traces.sample"].none is None
    (calls,) = [section for section in report.sections if section.anchor == "calls"]
    (cost,) = [table.frame for table in calls.tables if table.title.startswith("What tracing costs")]
    assert set(cost["traced"]) == {"100%"}
    assert "What tracing costs" in run.report.read_text()


def test_spans_and_requests_are_exported(run: RunFolder, tmp_path: Path) -> None:
    spans = pd.read_csv(export_run(run, ExportRequest("csv", "spans"), tmp_path / "spans.csv", force=False))
    requests = pd.read_csv(export_run(run, ExportRequest("csv", "traced_requests"), tmp_path / "r.csv", force=False))
    assert len(requests) == 2 * REQUESTS
    assert len(spans) == 2 * REQUESTS * (1 + sum(SHOP_CALLS) + 2 * LINES)
    assert set(spans["service"]) == {"shop", "stock"}


def test_services_that_export_over_grpc_are_traced_as_others_are(tmp_path: Path) -> None:
    """The shop by its own environment, its stock by HTTP, as the study says for all others."""
    stock, shop = (dict(one["process"]) for one in SYSTEM["components"])
    shop["env"] = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    system = {**SYSTEM, "components": [{"process": stock}, {"process": shop}]}
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "orders.yaml").write_text(json.dumps(system))
    traces = "traces: {sample: 100%}"
    text = STUDY.replace("traces: {sample: [0%, 100%], counting_pass: true}", traces).replace("rounds: 2", "rounds: 1")
    (tmp_path / "study.yaml").write_text(text.partition("models:")[0])
    begun = prepared_run.begin(StudyFile.read(tmp_path / "study.yaml"), tmp_path / "out", skip_unavailable=False)
    begun.execute(Watching([]))
    build(begun.folder)
    (measured,) = pd.read_parquet(begun.folder.rounds).to_dict("records")
    database, distributed = SHOP_CALLS
    assert (measured["traced_requests"], measured["distributed_calls"]) == (REQUESTS, distributed)
    assert measured["database_calls"] == database + LINES
