"""A report of many traced rounds reads each of them once, keeps what it shows of them, and says the same."""

from __future__ import annotations

import math
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.recorded_run import pinned
from tests.support.spans import keep, span, table

from patternbench.observe.seam import RoundFiles
from patternbench.plan.order import Round
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry, Journal
from patternbench.traces.analyze.calls import CALLS
from patternbench.traces.analyze.totals import TIMES, RequestTotals
from patternbench.traces.observer import OBSERVER
from patternbench.traces.records import collected
from patternbench.traces.records.collected import COUNTS, SPANS, SpanRecords
from patternbench.traces.report.section import (
    MOST_PICTURES,
    MeasuredRound,
    TracedScenario,
    pictured,
    scenarios_of,
    section,
    traced_scenario,
)


def orders(lines: int, requests: int = 1) -> pd.DataFrame:
    """Requests of a shop that asks its database once for each line of an order."""
    spans = []
    for number in range(requests):
        own = {"trace_id": f"t{number}"}
        spans.append(span(f"r{number}", "server", "shop", (0, 2 * lines + 1), method="GET", route="/orders", **own))
        spans += [
            span(f"q{number}-{line}", "client", "shop", (2 * line, 2 * line + 1), f"r{number}", database="sql", **own)
            for line in range(lines)
        ]
    return table(*spans)


def scenario(folder: Path, name: str, lines: int) -> TracedScenario:
    return traced_scenario(name, [MeasuredRound(keep(folder / name, orders(lines)), 10.0)])


def requests(source: np.random.Generator, rows: int) -> pd.DataFrame:
    """A made-up table of requests with the columns that are added up."""
    calls = {name: source.integers(0, 4, rows) for name in CALLS}
    times = {name: source.exponential(0.01, rows) for name in TIMES}
    return pd.DataFrame({"operation": source.choice(["a", "b", "c"], rows), **calls, **times})


def test_requests_added_up_round_after_round_have_the_medians_and_means_of_all_together() -> None:
    source = np.random.default_rng(3)
    rounds = [requests(source, rows) for rows in (1, 4, 40, 7)]
    totals = RequestTotals()
    for one in rounds:
        totals.add(one)
    every = pd.concat(rounds)
    counts = every["operation"].value_counts().tolist()
    assert [totals.operations[name].requests for name in totals.frequent()] == counts
    for operation, rows in every.groupby("operation"):
        total = totals.operations[str(operation)]
        assert total.requests == len(rows)
        assert {name: total.calls[name].median for name in CALLS} == rows[list(CALLS)].median().to_dict()
        assert {name: total.mean(name) for name in TIMES} == pytest.approx(rows[list(TIMES)].mean().to_dict())


def test_a_median_of_calls_is_not_known_where_those_of_one_request_are_not() -> None:
    reported = requests(np.random.default_rng(3), 9).assign(operation="a")
    totals = RequestTotals()
    totals.add(reported)
    assert not math.isnan(totals.operations["a"].calls["in_memory_calls"].median)
    totals.add(reported.head(1).assign(in_memory_calls=math.nan))
    assert math.isnan(totals.operations["a"].calls["in_memory_calls"].median)
    assert totals.are_known("in_memory_calls")


def test_what_no_request_tells_has_no_median_and_is_not_known() -> None:
    totals = RequestTotals()
    totals.add(requests(np.random.default_rng(3), 9).assign(operation="a", in_memory_calls=math.nan))
    assert math.isnan(totals.operations["a"].calls["in_memory_calls"].median)
    assert not totals.are_known("in_memory_calls")


def test_a_counting_pass_is_counted_once_for_all_rounds_of_its_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, records = list[Path](), collected.records

    def noted(folder: Path) -> SpanRecords:
        read.append(folder)
        return records(folder)

    monkeypatch.setattr(collected, "records", noted)
    counting = keep(tmp_path / "counting", orders(3))
    seen = [OBSERVER.read(RoundFiles({}, tmp_path / str(number), counting=counting)) for number in range(5)]
    assert [one.calls["database_calls"] for one in seen if one] == [3] * 5
    assert read == [counting]
    again = keep(tmp_path / "again", orders(12))
    for name in (SPANS, COUNTS):
        (counting / name).write_bytes((again / name).read_bytes())
    later = OBSERVER.read(RoundFiles({}, tmp_path / "0", counting=counting))
    assert later
    assert later.calls["database_calls"] == 12


def test_the_spans_of_a_round_are_let_go_of_before_those_of_a_third_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, records = list["weakref.ref[SpanRecords]"](), collected.records
    together: list[int] = []

    def noted(folder: Path) -> SpanRecords:
        together.append(sum(spans() is not None for spans in held))
        spans = records(folder)
        held.append(weakref.ref(spans))
        return spans

    monkeypatch.setattr(collected, "records", noted)
    rounds = [MeasuredRound(keep(tmp_path / str(number), orders(2)), 1.0) for number in range(6)]
    assert len(traced_scenario("x", rounds).requests) == 6
    assert len(together) == 6
    assert max(together) <= 1


def test_requests_are_kept_of_the_first_of_scenarios_that_are_alike_and_of_few_in_all(tmp_path: Path) -> None:
    lines = [1, 1, *range(2, MOST_PICTURES + 2)]
    made = [scenario(tmp_path, f"scenario {number}", one) for number, one in enumerate(lines)]
    kept = list(pictured(made))
    assert [bool(one.requests) for one in kept] == [True, False, *[True] * (MOST_PICTURES - 1), False]
    lean, whole = section(kept), section(made)
    assert (lean.words, lean.drawings, lean.figures) == (whole.words, whole.drawings, whole.figures)
    for one, other in zip(lean.tables, whole.tables, strict=True):
        pd.testing.assert_frame_equal(one.frame, other.frame)


def test_scenarios_are_read_in_the_order_of_the_plan_and_those_without_spans_left_out(tmp_path: Path) -> None:
    levels = {"client": "native", "strategy": "baseline"}
    planned = [{"id": name, "levels": {**levels, "size": name}, "config": {}} for name in ("a", "b", "untraced")]
    order = ["b", "untraced", "a", "b"]
    places = [Round(index, 0, name) for index, name in enumerate(order)]
    run = pinned(RunFolder(tmp_path / "run"), planned, places)
    journal = Journal(run.journal)
    for index, name in enumerate(order):
        journal.append(Entry(index, 0, name, DONE, f"{index:05d}", 0.0, 1.0))
        if name != "untraced":
            keep(run.observed_of(f"{index:05d}") / OBSERVER.name, orders(1, requests=index + 1))
    rounds = pd.DataFrame({"round": range(4), "scenario": order, "Throughput": [1.0, 2.0, 3.0, 4.0]})
    listed = list(scenarios_of(run, stored.plan(run).scenarios, rounds))
    assert [(one.name, one.throughput) for one in listed] == [
        ("native baseline, size a", [3.0]),
        ("native baseline, size b", [1.0, 4.0]),
    ]
    assert [one.timed.operations["GET /orders"].requests for one in listed] == [3, 1 + 4]
