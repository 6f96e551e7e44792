"""What leaves a run for other tools is exact: every attempt is counted once, in a cell that holds its time."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from google.protobuf.json_format import ParseDict
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from tests.support.measured_run import measured_run

from patternbench.analyze import round_sums
from patternbench.analyze.times import RoundTimes, round_times
from patternbench.cli.main import main
from patternbench.observe.warning import RoundWarning
from patternbench.records import attempts
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, ActedFault, Entry
from patternbench.report.export import ExportRequest, export_run, rounds
from patternbench.report.exports import grafana, hdrhistogram
from patternbench.report.exports.opentelemetry import SCALE, bucket_of, buckets
from patternbench.report.exports.rounds import ExportedRun
from patternbench.terms.problems import InputError

HOUR = 3_600_000_000
spans = st.lists(st.integers(0, 3 * HOUR), min_size=1, max_size=60)


def counted(values: list[int]) -> tuple[Any, Any]:
    found, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return found, counts.astype(np.int64)


# --- the times themselves


def attempts_of(rows: list[tuple[int, int, int, int, str, bool]]) -> pd.DataFrame:
    """Attempts of one user: call, number, start, end, outcome, success."""
    names = ["call", "attempt", "start_us", "end_us", "outcome", "success"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(user=0, group="all", step="request", intended_us=frame["start_us"], status=200, warm_up=False)


def test_good_and_failed_calls_and_attempts_are_told_apart_and_all_are_counted() -> None:
    table = attempts_of(
        [
            (0, 1, 0, 500, "timeout", False),
            (0, 2, 600, 900, "answered", True),
            (1, 1, 1000, 1100, "answered", True),
            (2, 1, 2000, 2050, "connection_error", False),
            (3, 0, 3000, 3000, "rejected", False),
            (4, 1, 4000, 4700, "answered", True),
            (4, 2, 4500, 4700, "cancelled", False),
        ]
    )
    found = round_times(table)
    times = {(one.kind, one.good): one.values_us.tolist() for one in found.times}
    assert times["call", True] == [100, 700, 900]
    assert times["call", False] == [50]
    assert times["attempt", True] == [100, 300, 700]
    assert times["attempt", False] == [50, 500]
    assert found.calls == {True: 3, False: 2}
    assert found.attempts == {True: 3, False: 3}


def test_times_that_are_only_counted_are_the_same_as_those_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    took = rng.integers(0, 5_000_000, 3_000)
    table = attempts_of([(i, 1, 10 * i, 10 * i + int(span), "answered", i % 3 > 0) for i, span in enumerate(took)])
    kept = round_times(table)
    monkeypatch.setattr(round_sums, "_MANY", 100)
    for one, other in zip(kept.times, round_times(table).times, strict=True):
        assert one.values_us.tolist() == other.values_us.tolist()
        assert one.counts.tolist() == other.counts.tolist()


# --- HdrHistogram


@given(spans)
def test_the_library_of_hdrhistogram_reads_every_count_in_the_cell_of_its_value(values: list[int]) -> None:
    read = HdrHistogram.decode(hdrhistogram.encoded(*counted(values)))
    assert read.get_total_count() == len(values)
    made = HdrHistogram(1, max(HOUR, *values), 3)
    for value in values:
        assert made.record_value(value)
    assert read.equals(made)


@given(st.integers(0, 2**52))
def test_the_cell_of_a_value_holds_it_to_three_digits(value: int) -> None:
    library = HdrHistogram(1, 2**53, 3)
    cell = int(hdrhistogram.cells_of(np.array([value], dtype=np.int64))[0])
    low, high = library.get_value_from_index(cell), library.get_value_from_index(cell + 1)
    assert low <= value < high
    assert high - low <= max(1, value / 1000)


def log_of(path: Path) -> list[Any]:
    reader, found = HistogramLogReader(str(path), HdrHistogram(1, HOUR, 3)), []
    while (one := reader.get_next_interval_histogram()) is not None:
        found.append(one)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return measured_run(tmp_path_factory.mktemp("exported") / "run")


def exported(run: RunFolder, form: str, every_round: bool = False) -> Path:
    return export_run(run, ExportRequest(form, every_round=every_round), run.path.parent / form, force=True)


def times_of(run: RunFolder) -> list[RoundTimes]:
    return [round_times(attempts.read(path)) for path in sorted(run.attempts.glob("*.parquet"))]


def test_a_log_has_every_call_and_attempt_of_a_run_with_the_times_at_which_rounds_ran(run: RunFolder) -> None:
    intervals = log_of(exported(run, "hdrhistogram"))
    expected = Counter[str]()
    for of_round in times_of(run):
        expected.update({f"{one.kind}.{'good' if one.good else 'failed'}": one.count for one in of_round.times})
    seen = Counter[str]()
    for one in intervals:
        seen[one.get_tag().split(".", 1)[1]] += one.get_total_count()
    assert seen == +expected
    table = rounds(run)
    assert sorted({one.get_start_time_stamp() for one in intervals}) == sorted(1000 * table["started"])
    assert {one.get_tag().split(".")[0] for one in intervals} == set(table["scenario"])


def test_a_time_above_an_hour_is_in_the_log_and_one_below_zero_is_refused(tmp_path: Path) -> None:
    read = HdrHistogram.decode(hdrhistogram.encoded(*counted([5, 2 * HOUR])))
    assert read.get_max_value() == read.get_highest_equivalent_value(2 * HOUR)
    run = measured_run(tmp_path / "run", blocks=1)
    file = run.attempts_of("00000")
    table = attempts.read(file)
    table["end_us"] = table["start_us"] - 1
    table.to_parquet(file)
    entry = Entry(0, 0, "x", DONE, "00000", 1e9, 1.0)
    with pytest.raises(InputError, match="below zero"):
        ExportedRun.of(run).times(entry)


# --- OpenTelemetry


@given(st.integers(1, 2**45))
def test_a_bucket_holds_its_value_exactly(value: int) -> None:
    index = bucket_of(value)
    assert 2**index < value ** (1 << SCALE) <= 2 ** (index + 1)
    assert abs(index - (math.log2(value) * (1 << SCALE) - 1)) <= 1 + 1e-6


@given(spans)
def test_buckets_count_each_time_once(values: list[int]) -> None:
    above = [value for value in values if value]
    found, counts = counted(above) if above else ([], [])
    offset, made = buckets((int(value), int(count)) for value, count in zip(found, counts, strict=True))
    assert sum(made) == len(above)
    assert {offset + i: count for i, count in enumerate(made) if count} == Counter(map(bucket_of, above))


def payloads(run: RunFolder, every_round: bool = False) -> list[MetricsData]:
    lines = exported(run, "opentelemetry", every_round).read_text(encoding="utf-8").splitlines()
    return [ParseDict(json.loads(line), MetricsData()) for line in lines]


def by_name(data: MetricsData) -> dict[str, Any]:
    (resource,) = data.resource_metrics
    (scope,) = resource.scope_metrics
    return {metric.name: metric for metric in scope.metrics}


def attributes(point: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in point.attributes}


def test_metrics_are_read_as_the_protocol_and_count_what_the_rounds_count(run: RunFolder) -> None:
    made, table = payloads(run), rounds(run).sort_values("round")
    assert len(made) == len(table)
    for data, row in zip(made, table.to_dict("records"), strict=True):
        metrics = by_name(data)
        sums = {
            attributes(one)["patternbench.success"]: one.as_int for one in metrics["patternbench.calls"].sum.data_points
        }
        assert sums == {True: row["SuccessfulCalls"], False: row["UnsuccessfulCalls"]}
        points = metrics["patternbench.call.duration"].exponential_histogram.data_points
        assert sum(one.count for one in points) == row["TotalCalls"] - row["rejected_calls"]
        assert max(one.max for one in points) == pytest.approx(1e6 * row["max"])
        (first, *_) = points
        assert attributes(first)["patternbench.scenario"] == row["scenario"]
        assert first.start_time_unix_nano == round(1e9 * row["started"])


def test_every_point_adds_up_and_no_metric_is_a_quantile(run: RunFolder) -> None:
    for data in payloads(run):
        for metric in by_name(data).values():
            assert metric.WhichOneof("data") in ("exponential_histogram", "sum")
            for point in metric.exponential_histogram.data_points:
                assert point.count == point.zero_count + sum(point.positive.bucket_counts)
                assert point.min * point.count <= point.sum <= point.max * point.count
                assert point.scale == SCALE


def test_a_line_is_what_a_collector_takes(run: RunFolder) -> None:
    text = exported(run, "opentelemetry").read_text(encoding="utf-8").splitlines()[0]
    line = json.loads(text)
    request = ParseDict(line, ExportMetricsServiceRequest())
    assert len(request.resource_metrics) == 1
    (scope,) = line["resourceMetrics"][0]["scopeMetrics"]
    histogram = scope["metrics"][0]["exponentialHistogram"]
    assert histogram["aggregationTemporality"] == 1, "names of enumerations are no JSON of OTLP"
    assert isinstance(histogram["dataPoints"][0]["timeUnixNano"], str), "nor are 64 bits as a number"


# --- Grafana


FAULTS = [
    ActedFault("freeze", "freeze", "shop.store", 1_000_499, 2_000_001),
    ActedFault("second", "abort", "edge", -2_000, 9_000_000),
]


def test_an_annotation_covers_the_whole_of_its_fault_and_no_more_than_a_millisecond_around_it(run: RunFolder) -> None:
    scenario = next(iter(ExportedRun.of(run).levels))
    entry = Entry(3, 1, scenario, DONE, "00003", 1_700_000_000.25, 9.0, faults=FAULTS)
    early, late = grafana.windows(ExportedRun.of(run), [entry])
    assert (late.began_ms, late.ended_ms) == (1_700_000_001_250, 1_700_000_002_251)
    assert (early.began_ms, early.ended_ms) == (1_700_000_000_248, 1_700_000_009_250)
    assert late.tags == ("patternbench", "made-up", "freeze", f"scenario:{scenario}", "round:3")
    assert late.text.startswith("freeze at shop.store; ")
    assert early.text.startswith("second (abort) at edge; ")
    assert list(late.as_json()) == ["time", "timeEnd", "tags", "text"]


@given(st.floats(1e9, 2e9), st.integers(-(10**9), 10**9), st.integers(0, 10**9))
def test_the_ends_of_an_annotation_are_the_nearest_milliseconds_outside(started: float, began: int, long: int) -> None:
    one = ActedFault("x", "freeze", "edge", began, began + long)
    known = ExportedRun("s", "", {"a": {}}, RunFolder("/nowhere"))
    (made,) = grafana.windows(known, [Entry(0, 0, "a", DONE, "0", started, 1.0, faults=[one])])
    assert made.began_ms <= started * 1000 + began / 1000 < made.began_ms + 1
    assert made.ended_ms - 1 < started * 1000 + (began + long) / 1000 <= made.ended_ms


# --- all of them


@pytest.mark.parametrize("form", ["hdrhistogram", "opentelemetry", "grafana"])
def test_a_form_is_written_into_the_folder_of_exports_and_named(
    form: str, run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["export", str(run.path), "--format", form, "--force", "--json"])
    assert ended.value.code == 0
    (written,) = json.loads(capsys.readouterr().out)["written"]
    assert Path(written).parent == run.path / "export"
    assert Path(written).stat().st_size


def test_rounds_that_are_not_valid_are_left_out_and_marked_where_they_are_asked_for(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run", blocks=1)
    lines = run.journal.read_text(encoding="utf-8").splitlines()
    warning = RoundWarning("late_schedule", "sent late", "lower the rate", invalidates=True)
    changed = json.loads(lines[0]) | {"doubts": [vars(warning)]}
    for name in ("check", "before", "of"):
        changed.pop(name, None)
    run.journal.write_text(json.dumps(changed) + "\n" + "\n".join(lines[1:]) + "\n", encoding="utf-8")
    assert len(payloads(run)) == len(lines) - 1
    marked = [attributes(by_name(one)["patternbench.calls"].sum.data_points[0]) for one in payloads(run, True)]
    assert [one["patternbench.valid"] for one in marked] == [False] + [True] * (len(lines) - 1)
    tags = {one.get_tag() for one in log_of(exported(run, "hdrhistogram", every_round=True))}
    assert sum(tag.endswith(".invalid") for tag in tags) == 2
