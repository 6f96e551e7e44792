"""Metrics of OpenTelemetry: an object of OTLP's JSON per round, with histograms and counts, never quantiles.

Quantiles of rounds can't be put together; histograms can. They are exponential, all of one scale, so that a backend can
add any of them. Times are whole microseconds: each is in the bucket whose bounds hold it exactly, without a rounded
logarithm. Source: the OpenTelemetry protocol, ``metrics.proto``, https://github.com/open-telemetry/opentelemetry-proto.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_DELTA,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from patternbench import __version__
from patternbench.analyze.times import ATTEMPT, CALL, CountedTimes, RoundTimes
from patternbench.records.journal import Entry
from patternbench.report.exports.rounds import ExportedRun, acting_levels

NAME = "patternbench"
SCALE = 5
"""The bounds of buckets are powers of 2^(1/32), so a bucket is 2.2 % wide."""
ABOUT = {
    CALL: "Response times of calls that reached the wire, from their intended start",
    ATTEMPT: "Service times of attempts on the wire, without those that lost against another of their call",
}
Value = str | int | float | bool


def write(run: ExportedRun, rounds: Sequence[Entry], path: Path) -> None:
    """Write one line for each round: an object as a collector takes it (``otlpjsonfile``, or POST /v1/metrics)."""
    with path.open("w", encoding="utf-8") as file:
        for entry in rounds:
            made = MessageToDict(metrics(run, entry), use_integers_for_enums=True)
            file.write(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")


def metrics(run: ExportedRun, entry: Entry) -> MetricsData:
    """Return the metrics of a round."""
    found = run.times(entry)
    scope = InstrumentationScope(name=NAME, version=__version__)
    resource = Resource(attributes=_attributes({"service.name": NAME, f"{NAME}.study": run.study, **_began(run)}))
    point = _Point(run, entry)
    every = [*_histograms(point, found), *_counts(point, found)]
    scoped = ScopeMetrics(scope=scope, metrics=every)
    return MetricsData(resource_metrics=[ResourceMetrics(resource=resource, scope_metrics=[scoped])])


def _began(run: ExportedRun) -> dict[str, Value]:
    return {f"{NAME}.run.started": run.began, f"{NAME}.run.simulated": run.simulated}


class _Point:
    """What all points of a round have: from when to when, and which round it was."""

    def __init__(self, run: ExportedRun, entry: Entry) -> None:
        self.began, self.ended = (round(at * 1e9) for at in (entry.started, entry.started + entry.seconds))
        levels = {f"{NAME}.level.{name}": level for name, level in acting_levels(run.levels[entry.scenario])}
        self._known: dict[str, Value] = {
            f"{NAME}.scenario": entry.scenario,
            f"{NAME}.round": entry.round,
            f"{NAME}.block": entry.block,
            f"{NAME}.valid": entry.valid,
            **levels,
        }

    def attributes(self, good: bool) -> list[KeyValue]:
        """Return what tells the point of good calls, or of failed ones, from every other."""
        return _attributes({**self._known, f"{NAME}.success": good})


def _histograms(point: _Point, found: RoundTimes) -> Iterator[Metric]:
    for kind, about in ABOUT.items():
        points = [_histogram(point, times) for times in found.times if times.kind == kind and times.count]
        whole = ExponentialHistogram(data_points=points, aggregation_temporality=AGGREGATION_TEMPORALITY_DELTA)
        yield Metric(name=f"{NAME}.{kind}.duration", description=about, unit="us", exponential_histogram=whole)


def _histogram(point: _Point, times: CountedTimes) -> ExponentialHistogramDataPoint:
    pairs = list(zip(times.values_us.tolist(), times.counts.tolist(), strict=True))
    offset, counts = buckets((value, count) for value, count in pairs if value)
    return ExponentialHistogramDataPoint(
        attributes=point.attributes(times.good),
        start_time_unix_nano=point.began,
        time_unix_nano=point.ended,
        count=times.count,
        sum=float(times.total_us),
        min=float(pairs[0][0]),
        max=float(pairs[-1][0]),
        scale=SCALE,
        zero_count=sum(count for value, count in pairs if not value),
        positive=ExponentialHistogramDataPoint.Buckets(offset=offset, bucket_counts=counts),
    )


def buckets(pairs: Iterable[tuple[int, int]]) -> tuple[int, list[int]]:
    """Return the index of the first bucket of times above zero in order, and the counts from it on."""
    indexed = [(bucket_of(value), count) for value, count in pairs]
    if not indexed:
        return 0, []
    first, last = indexed[0][0], indexed[-1][0]
    counts = [0] * (last - first + 1)
    for index, count in indexed:
        counts[index - first] += count
    return first, counts


def bucket_of(value: int) -> int:
    """Return the bucket of a time: the ``i`` with 2^(i/32) < value <= 2^((i+1)/32), in whole numbers alone.

    That is 2^i < value^32 <= 2^(i+1).
    """
    return int((value ** (1 << SCALE) - 1).bit_length()) - 1


def _counts(point: _Point, found: RoundTimes) -> Iterator[Metric]:
    """Yield how many calls and attempts there were, also those without a time."""
    for name, of_it in (("calls", found.calls), ("attempts", found.attempts)):
        points = [
            NumberDataPoint(
                attributes=point.attributes(good),
                start_time_unix_nano=point.began,
                time_unix_nano=point.ended,
                as_int=count,
            )
            for good, count in of_it.items()
        ]
        counted = Sum(data_points=points, aggregation_temporality=AGGREGATION_TEMPORALITY_DELTA, is_monotonic=True)
        yield Metric(name=f"{NAME}.{name}", unit="1", sum=counted)


def _attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(value)) for name, value in values.items()]


def _any(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    return AnyValue(double_value=value) if isinstance(value, float) else AnyValue(string_value=value)
