"""The observer of series: it gets the values of a study's queries over each round from Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType

import httpx

from patternbench.drivers.environment import resolved
from patternbench.observe.seam import NeededComponent, ObservationError, Observer, RoundFiles, Settings, WatchedRound
from patternbench.observe.warning import RoundWarning
from patternbench.series import api, asking
from patternbench.series.analyze.summaries import only_ones, summaries
from patternbench.series.api import PrometheusApi
from patternbench.series.asking import SeriesReader
from patternbench.series.gaps import warnings_of
from patternbench.series.question import SUMMARIES, PrometheusAt, Series, SeriesQuestion, response_name
from patternbench.series.records import kept as files
from patternbench.series.records.kept import SeenSeries
from patternbench.study.watching import Watch
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.responses import Better, Response

ANSWERED_BY_ALL = "vector(1)"
HOW = "add a component `prometheus` to the system file, or name a running Prometheus: `prometheus: URL`"
WORDS = {"mean": "Mean", "max": "Greatest value", "last": "Last value"}


class SeriesObserver(Observer[SeenSeries]):
    """Queries Prometheus after the load, once the last scrape of the round is there."""

    name = "series"
    tables = MappingProxyType({"series": attrgetter("samples")})

    def problems(self, watch: Watch) -> list[Problem]:
        """Return the errors of a running Prometheus for the queries."""
        requested = SeriesQuestion.of(watch)
        if not requested.series or not isinstance(requested.answered_by, PrometheusAt):
            return []
        try:
            return _refused(requested.answered_by, requested.series)
        except InputError as error:
            return [replace(problem, path=f"prometheus.{problem.path}") for problem in error.problems]

    def needs(self, watch: Watch) -> list[NeededComponent]:
        """Return the component that answers the queries, unless a running Prometheus does."""
        requested = SeriesQuestion.of(watch)
        if not requested.series or isinstance(requested.answered_by, PrometheusAt):
            return []
        path = "prometheus" if requested.prometheus else "series"
        return [NeededComponent(requested.answered_by, path, "to query for the series", HOW)]

    def responses_of(self, watch: Watch) -> list[Response]:
        """Return the summaries of each series."""
        requested = SeriesQuestion.of(watch).series
        return [_response(name, series, summary) for name, series in requested.items() for summary in SUMMARIES]

    @contextmanager
    def watch(self, watched: WatchedRound) -> Iterator[None]:
        """Check every query before the load, and get its values after the load."""
        requested = SeriesQuestion.of(watched.watch).series
        if not requested:
            yield
            return
        with api.client() as http:
            asker = _asker(watched, http)
            asker.check(requested)
            yield
            files.write(watched.folder, asker.series(requested, watched.load))

    def read(self, kept: RoundFiles) -> SeenSeries | None:
        """Return the series of a round, if the study asks for any."""
        return files.read(kept.folder)

    def warnings(self, seen: SeenSeries) -> list[RoundWarning]:
        """Warnings about missing values, label sets that weren't kept, and targets that weren't scraped."""
        return list(warnings_of(seen))

    def measured(self, seen: SeenSeries, settings: Settings) -> Mapping[str, float]:
        """Return the summaries of each series with one label set. Several label sets have no single number."""
        nothing = {response_name(name, summary): math.nan for name in seen.requested.series for summary in SUMMARIES}
        table = only_ones(summaries(seen.samples, seen.requested.measured_from_s))
        values = {
            response_name(str(name), summary): float(value)
            for summary in SUMMARIES
            for name, value in zip(table["series"], table[summary], strict=True)
        }
        return nothing | values


def _refused(at: PrometheusAt, requested: Mapping[str, Series]) -> list[Problem]:
    """Return the errors of a Prometheus for queries; if it doesn't answer at all, only that."""
    with api.client() as http:
        prometheus = _api(at, http)
        silent = asking.why_not(prometheus, ANSWERED_BY_ALL)
        if silent:
            return [Problem(silent, "prometheus", value=at.url, hint="start it first, or correct `prometheus`")]
        refused = asking.problems(prometheus, requested)
    return [Problem(why, f"series.{name}", value=requested[name].query) for name, why in refused.items()]


def _api(at: PrometheusAt, http: httpx.Client) -> PrometheusApi:
    """Return a running Prometheus. Raises InputError if the environment lacks a variable of its headers."""
    return PrometheusApi(at.url, {name: resolved(text) for name, text in at.headers.items()}, http)


def _asker(watched: WatchedRound, http: httpx.Client) -> SeriesReader:
    """Return the asker of a round's series. Raises ObservationError if the system has no such component."""
    where = SeriesQuestion.of(watched.watch).answered_by
    if isinstance(where, PrometheusAt):
        try:
            return SeriesReader(_api(where, http), shared=True)
        except InputError as error:
            raise ObservationError(str(error)) from None
    if where not in watched.endpoints:
        raise ObservationError(f"the system has no component `{where}` to query for the series")
    return SeriesReader(PrometheusApi(watched.endpoints[where], {}, http), shared=False)


def _response(name: str, series: Series, summary: str) -> Response:
    title = f"{WORDS[summary]} of {series.title or name}"
    meaning = f"{WORDS[summary].lower()} of `{series.query}` in the measured part of a round"
    return Response(response_name(name, summary), title, "count", Better(series.better), meaning, series.unit)


OBSERVER = SeriesObserver()
