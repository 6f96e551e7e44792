"""What traces lack is reported: requests without spans, lost spans, incomplete traces, clocks that differ."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from tests.support.recorded_run import pinned
from tests.support.spans import keep, span, table

from patternbench.observe.seam import ObservationError, RoundFiles
from patternbench.plan.order import Round
from patternbench.records import damage, observed
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, FAILED, Entry, Journal
from patternbench.report.build import gather
from patternbench.traces.columns import schema
from patternbench.traces.observer import OBSERVER
from patternbench.traces.records.collected import COUNTS, SPANS, SpanCounts, SpanRecords, TracedRound, nothing
from patternbench.traces.responses import of_round, warnings

EMPTY = schema().empty_table().to_pandas()


def requests(number: int, *more: dict[str, object]) -> pd.DataFrame:
    return table(
        *(span(f"r{n}", "server", "shop", (0, 10), trace_id=f"t{n}", route="/x") for n in range(number)), *more
    )


def seen(spans: pd.DataFrame, succeeded: int = 0, **counts: object) -> TracedRound:
    plain = {"share": 1.0, "requests": 1, "spans": len(spans), "kept": len(spans), "refused": {}, "left_out": {}}
    return TracedRound(SpanRecords(spans, SpanCounts.model_validate({**plain, **counts})), None, 0.012, succeeded)


def kinds(traced: TracedRound) -> list[str]:
    assert not any(warning.invalidates for warning in warnings(traced))
    return [warning.kind for warning in warnings(traced)]


def test_a_round_whose_every_request_is_traced_gets_no_warning() -> None:
    assert kinds(seen(requests(100), succeeded=100, refused={"other_signal": 3}, left_out={"duplicate": 2})) == []


@pytest.mark.parametrize(
    ("came", "share", "succeeded", "kind"),
    [
        (0, 1.0, 100, ["nothing_seen"]),
        (0, 1.0, 3, ["nothing_seen"]),
        (99, 1.0, 100, ["spans_missing"]),
        (0, 0.01, 100, []),  # one is expected: too few to tell
        (60, 0.01, 10_000, []),  # 100 are: four standard deviations fewer happen
        (40, 0.01, 10_000, ["spans_missing"]),
    ],
)
def test_fewer_requests_than_the_sample_must_hold_are_reported(
    came: int, share: float, succeeded: int, kind: list[str]
) -> None:
    assert kinds(seen(requests(came) if came else EMPTY, succeeded, share=share)) == kind


def test_what_the_receiver_did_not_keep_is_reported_by_its_reason() -> None:
    traced = seen(requests(5), refused={"too_large": 2}, left_out={"too_many": 1200, "never_ended": 1})
    refused, left_out = warnings(traced)
    assert "2 with too large a body" in refused.message
    assert "1,200 beyond the number that a round keeps, 1 that had not ended" in left_out.message


def test_spans_by_a_clock_that_was_set_back_are_reported_with_how_many_were_lost() -> None:
    (warning,) = warnings(seen(requests(5), left_out={"before_the_round": 2, "clock_set_back": 1200}, set_back=1500))
    assert warning.kind == "clock_set_back"
    assert "1,500 spans came by a clock that was set back during the round: 1,200 lie before it" in warning.message
    assert "set the clock" in warning.remedy


def test_incomplete_traces_and_clocks_that_differ_are_reported() -> None:
    incomplete = span("lost", "client", "shop", (1, 2), "nobody", trace_id="x")
    assert kinds(seen(requests(5, incomplete))) == ["traces_torn"]
    late = [
        span("root", "server", "shop", (0, 10)),
        span("ask", "client", "shop", (1, 9), "root"),
        span("take", "server", "stock", (502, 505), "ask"),
    ]
    assert kinds(seen(table(*late))) == ["clock_skew"]


def test_the_network_time_is_what_the_caller_waited_besides_the_backend() -> None:
    values = of_round(seen(requests(5)))
    assert (values["backend_time"], values["network_time"]) == pytest.approx((0.010, 0.002))
    assert math.isnan(values["in_memory_calls"])


def test_without_traced_requests_calls_come_from_the_counting_pass_and_times_are_not_known() -> None:
    traced = TracedRound(nothing(), {**seen(requests(3)).calls, "database_calls": 7.0}, 0.012, 100)
    values = of_round(traced)
    assert (values["database_calls"], values["traced_requests"]) == (7, 0)
    assert math.isnan(values["backend_time"])
    assert kinds(traced) == []


def test_the_tables_for_others_have_a_row_per_operation_and_per_caller_and_callee() -> None:
    query = span("q", "client", "shop", (2, 4), "r0", trace_id="t0", database="mariadb", schema="core")
    traced = seen(requests(4, query))
    (operation,) = OBSERVER.tables["operations"](traced).to_dict("records")
    assert (operation["operation"], operation["requests"], operation["database_calls"]) == ("/x", 4, 0.25)
    calls = OBSERVER.tables["service_calls"](traced)
    assert calls[["caller", "callee", "kind", "per_request"]].to_numpy().tolist() == [
        ["load", "shop", "service", 1],
        ["shop", "mariadb core", "database", 0.25],
    ]
    empty = TracedRound(nothing(), None, 0.0, 0)
    assert all(len(table_of(empty)) == 0 for table_of in OBSERVER.tables.values())


@pytest.mark.parametrize("file", [SPANS, COUNTS])
def test_spans_that_cannot_be_read_any_more_are_reported_by_their_file(tmp_path: Path, file: str) -> None:
    folder = keep(tmp_path / "traces", requests(3))
    assert OBSERVER.read(RoundFiles({}, folder))
    (folder / file).write_bytes(b"{}")
    with pytest.raises(ObservationError, match="the spans in traces cannot be read"):
        OBSERVER.read(RoundFiles({}, folder))
    keep(tmp_path / "more" / "traces", requests(3))
    (tmp_path / "more" / "traces" / COUNTS).write_bytes((keep(tmp_path / "o", requests(4)) / COUNTS).read_bytes())
    with pytest.raises(ObservationError, match="is not the table of the 4 spans"):
        OBSERVER.read(RoundFiles({}, tmp_path / "more" / "traces"))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run whose counting pass failed, and was not run again."""
    made = pinned(RunFolder(tmp_path / "run"), [{"id": "s", "levels": {}, "config": {}}], [Round(0, 0, "s")])
    journal = Journal(made.journal)
    journal.append(Entry(-1, -1, "s", FAILED, "counting-s", 0.0, 1.0, cause="the shop fell over"))
    journal.append(Entry(0, 0, "s", FAILED, "00000", 1.0, 1.0, cause="so did the rest"))
    return made


def test_a_counting_pass_that_failed_is_reported_with_what_to_type_and_is_no_round(run: RunFolder) -> None:
    assert [entry.file for entry in damage.rounds(run)] == ["00000"]
    (reported,) = damage.uncounted(run)
    assert reported.startswith(
        "1 of 1 counting passes failed, so no calls are counted there; the first: the shop fell over"
    )
    assert "--retry-failed" in reported
    assert {"what": "counted calls", "why": reported} in gather(run).left_out


def test_the_last_try_of_a_counting_pass_is_what_counts(run: RunFolder) -> None:
    query = span("q", "client", "shop", (2, 4), "r0", trace_id="t0", database="mariadb")
    folder = keep(run.observed_of("counting-s-2") / "traces", requests(3, query))
    assert folder.is_dir()
    Journal(run.journal).append(Entry(-1, -1, "s", DONE, "counting-s-2", 2.0, 1.0))
    run.attempts_of("counting-s-2").write_bytes(b"")
    (passed,) = damage.counting_passes(run).values()
    assert (passed.file, passed.status) == ("counting-s-2", "damaged")  # its attempts are not what was written
    seen_ = observed.read(run, "00000", OBSERVER, "counting-s-2")
    assert seen_
    assert seen_.calls["database_calls"] == pytest.approx(1 / 3)
