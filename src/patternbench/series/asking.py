"""Queries the series of a round after its load."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import pandas as pd

from patternbench.observe.seam import LoadTimes, ObservationError
from patternbench.series.api import AnsweredSeries, ApiError, InstantValue, PrometheusApi
from patternbench.series.question import Series
from patternbench.series.records.kept import RequestedSeries, RoundQueries, ScrapedTarget, SeenSeries

MOST_LABEL_SETS = 100
"""Label sets to keep per series: a label such as a user's id would make one per user."""
MOST_TARGETS = 1000
"""Targets of a Prometheus at most: each is kept with each round."""
SETTLES_WITHIN_S = 2.5
"""How long to wait for the last scrape of a round. A later scrape isn't part of the round."""
GLANCE_S = 0.1
LAST_SCRAPE = "min(timestamp(up))"
Labels = Mapping[str, str]
Values = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class SeriesReader:
    """Queries one Prometheus. ``shared``: it also watches targets outside the system.

    ``clock`` is Unix time, which Prometheus is asked by; ``elapsed`` is a clock that no one sets, for waiting.
    """

    prometheus: PrometheusApi
    shared: bool
    clock: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def check(self, requested: Mapping[str, Series]) -> None:
        """Raise ObservationError naming every query that can't be answered."""
        reported = [f"series `{name}`: {why}" for name, why in problems(self.prometheus, requested).items()]
        if reported:
            raise ObservationError("; ".join(reported))

    def series(self, requested: Mapping[str, Series], load: LoadTimes) -> SeenSeries:
        """Return the series of a round whose load is over; raises ObservationError."""
        try:
            self._await_last_scrape(load.ended)
            values = {name: self._values(series, load) for name, series in requested.items()}
            targets = _some(list(self._targets(values, load)))
        except ApiError as error:
            raise ObservationError(f"Prometheus gave no series: {error}") from None
        kept = {name: dict(islice(lines.items(), MOST_LABEL_SETS)) for name, lines in values.items()}
        reported = RoundQueries(
            prometheus=self.prometheus.url,
            measured_from_s=load.measured_from - load.began,
            length_s=load.ended - load.began,
            series={name: _requested(requested[name], len(values[name]), len(kept[name])) for name in requested},
            targets=targets,
        )
        return SeenSeries(reported, _table(kept, load.began))

    def _await_last_scrape(self, ended: float) -> None:
        """Return once every target was scraped after the round's end: then all scrapes within the round are there."""
        deadline = self.elapsed() + SETTLES_WITHIN_S
        while self.elapsed() < deadline:
            last = self.prometheus.at(LAST_SCRAPE, self.clock())
            if not last or last[0].value[1] >= ended:
                return
            self.pause(GLANCE_S)

    def _values(self, series: Series, load: LoadTimes) -> Values:
        values: Values = {}
        for line in self.prometheus.over(series.query, load.began, load.ended, series.step.seconds):
            of_line = values.setdefault(_text(line), [])
            if len(values) <= MOST_LABEL_SETS or of_line:
                of_line.extend(line.values)
        return values

    def _targets(self, values: Mapping[str, Values], load: LoadTimes) -> Iterator[ScrapedTarget]:
        """How often each target was scraped in the round; of a shared Prometheus only the targets of the series."""
        window = f"{max(1, round((load.ended - load.began) * 1000))}ms"
        scrapes = _by_target(self.prometheus.at(f"count_over_time(up[{window}])", load.ended))
        good = _by_target(self.prometheus.at(f"sum_over_time(up[{window}])", load.ended))
        instances = {_labels(text).get("instance") for lines in values.values() for text in lines}
        for (job, instance), number in scrapes.items():
            if not self.shared or instance in instances:
                failed = number - good.get((job, instance), 0)
                yield ScrapedTarget(job=job, instance=instance, scrapes=number, failed=failed)


def _some(targets: list[ScrapedTarget]) -> list[ScrapedTarget]:
    """Raise ApiError for more targets than are kept."""
    if len(targets) > MOST_TARGETS:
        raise ApiError(f"it scrapes {len(targets):,} targets; at most {MOST_TARGETS:,} are kept")
    return targets


def problems(prometheus: PrometheusApi, requested: Mapping[str, Series]) -> dict[str, str]:
    """Why queries can't be answered, by the name of the series."""
    refused = {name: why_not(prometheus, series.query) for name, series in requested.items()}
    return {name: why for name, why in refused.items() if why}


def why_not(prometheus: PrometheusApi, query: str) -> str:
    """Why a query can't be answered; nothing if it can."""
    try:
        prometheus.check(query)
    except ApiError as error:
        return str(error)
    return ""


def _requested(series: Series, label_sets: int, kept: int) -> RequestedSeries:
    return RequestedSeries(
        query=series.query,
        unit=series.unit,
        title=series.title,
        better=series.better,
        step_s=series.step.seconds,
        label_sets=label_sets,
        left_out=label_sets - kept,
    )


def _text(line: AnsweredSeries) -> str:
    """Return the labels of a series as text; its metric's name is that of the query."""
    labels = {name: value for name, value in line.metric.items() if name != "__name__"}
    return json.dumps(labels, sort_keys=True, ensure_ascii=False)


def _labels(text: str) -> Labels:
    labels: Labels = json.loads(text)
    return labels


def _by_target(samples: Iterable[InstantValue]) -> dict[tuple[str, str], int]:
    return {
        (sample.metric.get("job", ""), sample.metric.get("instance", "")): round(sample.value[1])
        for sample in samples
        if math.isfinite(sample.value[1])
    }


def _table(values: Mapping[str, Values], began: float) -> pd.DataFrame:
    rows = [
        (name, labels, round(moment - began, 3), value)
        for name, lines in values.items()
        for labels, points in lines.items()
        for moment, value in points
        if math.isfinite(moment)
    ]
    return pd.DataFrame(rows, columns=["series", "labels", "second", "value"])
