"""How Prometheus is asked for the series of a round: by a made-up Prometheus that answers from a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest

from patternbench.observe import samples
from patternbench.observe.seam import LoadTimes, ObservationError, RoundFiles, WatchedRound
from patternbench.series import api
from patternbench.series.api import PrometheusApi
from patternbench.series.asking import MOST_LABEL_SETS, MOST_TARGETS, SeriesReader
from patternbench.series.observer import OBSERVER
from patternbench.series.question import PrometheusAt, Series
from patternbench.series.records import kept
from patternbench.series.records.kept import SeenSeries
from patternbench.study.watching import Watch
from patternbench.terms.units import Duration

BEGAN = 1_000_000.0
LOAD = LoadTimes(BEGAN, BEGAN + 1, BEGAN + 4)
Fields = Mapping[str, str]


def line(value: str = "2", **labels: str) -> dict[str, object]:
    return {"metric": labels, "values": [[BEGAN + second, value] for second in range(5)]}


def sample(value: object, **labels: str) -> dict[str, object]:
    return {"metric": labels, "value": [BEGAN, str(value)]}


SCRAPES = "timestamp(up)"
"""The query for when each target was scraped last."""
OF_ALL_TARGETS = re.compile(rf"(min|max)\({re.escape(SCRAPES)}\)")


class MadeUp:
    """Answers queries of both kinds, those over all targets by computing; remembers what it was asked, and how."""

    def __init__(self, lines: Mapping[str, list[dict[str, object]]], samples: Mapping[str, list[dict[str, object]]]):
        self.lines, self.samples = lines, samples
        self.requested: list[tuple[str, Fields]] = []
        self.headers: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        fields = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        what = request.url.path.rpartition("/")[2]
        self.requested.append((what, fields))
        self.headers.append(request.headers.get("X-Scope-OrgID", ""))
        if fields["query"].startswith("bad"):
            return httpx.Response(400, json={"status": "error", "error": f"parse error in {fields['query']}"})
        if of_all := OF_ALL_TARGETS.fullmatch(fields["query"]):
            return self._of_all(of_all[1], [float(sample["value"][1]) for sample in self.samples[SCRAPES]])  # type: ignore[index]
        answers = self.lines if what == "query_range" else self.samples
        text = fields["query"].partition("[")[0]
        return httpx.Response(200, json={"status": "success", "data": {"result": answers.get(text, [])}})

    def _of_all(self, operator: str, scrapes: list[float]) -> httpx.Response:
        """The earliest or the latest of the targets' last scrapes, as the operator says."""
        found = {"min": min, "max": max}[operator](scrapes)
        return httpx.Response(200, json={"status": "success", "data": {"result": [sample(found)]}})

    def times(self, what: str) -> list[tuple[float, float]]:
        return [
            (float(f["start"]) - BEGAN, float(f["end"]) - BEGAN) for requested, f in self.requested if requested == what
        ]


UP = {
    SCRAPES: [sample(BEGAN + 10, instance="one"), sample(BEGAN + 11, instance="two")],
    "count_over_time(up": [sample(4, job="shop", instance="one"), sample(4, job="else", instance="two")],
    "sum_over_time(up": [sample(3, job="shop", instance="one"), sample(4, job="else", instance="two")],
}


def asker(
    prometheus: Callable[[httpx.Request], httpx.Response], *, shared: bool = False, clock: float = 0
) -> SeriesReader:
    http = httpx.Client(transport=httpx.MockTransport(prometheus))
    ticks = iter(range(10_000))
    at = PrometheusApi("http://prometheus/base/", {"X-Scope-OrgID": "shop"}, http)
    clocks = {"clock": lambda: BEGAN + 4 + clock, "elapsed": lambda: 0.1 * next(ticks)}
    return SeriesReader(at, shared, **clocks, pause=lambda _: None)


def requested_of(prometheus: MadeUp, query: str = "cpu", *, shared: bool = False) -> SeenSeries:
    return asker(prometheus, shared=shared).series({"cpu": Series(query=query)}, LOAD)


def test_the_values_of_a_query_are_kept_with_their_time_from_the_rounds_start() -> None:
    seen = requested_of(MadeUp({"cpu": [line(__name__="cpu", mode="user")]}, UP))
    assert seen.samples["second"].tolist() == [0, 1, 2, 3, 4]
    assert set(seen.samples["labels"]) == {'{"mode": "user"}'}
    assert (seen.requested.measured_from_s, seen.requested.length_s) == (1.0, 4.0)


def test_a_series_is_the_same_one_in_whatever_order_its_labels_come() -> None:
    """Prometheus promises no order, and the rounds of a series are compared by its labels."""
    one, other = ({"mode": "user", "zone": "größe"}, {"zone": "größe", "mode": "user"})
    seen = requested_of(MadeUp({"cpu": [line(**one), line(**other)]}, UP))
    assert set(seen.samples["labels"]) == {'{"mode": "user", "zone": "größe"}'}
    assert seen.requested.series["cpu"].label_sets == 1


def test_values_that_are_no_finite_number_are_kept_as_prometheus_writes_them() -> None:
    values = requested_of(MadeUp({"cpu": [line("NaN", mode="a"), line("+Inf", mode="b")]}, UP)).samples["value"]
    assert values.isna().sum() == 5
    assert (values == float("inf")).sum() == 5


def test_label_sets_that_multiply_are_bounded_and_counted() -> None:
    many = [line(user=str(number)) for number in range(MOST_LABEL_SETS + 7)]
    seen = requested_of(MadeUp({"cpu": many}, UP))
    assert seen.samples["labels"].nunique() == MOST_LABEL_SETS
    assert (seen.requested.series["cpu"].label_sets, seen.requested.series["cpu"].left_out) == (MOST_LABEL_SETS + 7, 7)


def test_a_long_round_is_asked_for_in_parts_that_leave_no_step_out_and_take_none_twice() -> None:
    prometheus = MadeUp({}, UP)
    load = LoadTimes(BEGAN, BEGAN, BEGAN + 25_000)
    asker(prometheus, clock=25_000).series({"cpu": Series(query="cpu", step=Duration.parse("1s"))}, load)
    assert prometheus.times("query_range") == [(0, 9_999), (10_000, 19_999), (20_000, 25_000)]


def glances(scrapes: Mapping[str, float]) -> int:
    """How often an asker looks whether the last scrapes are there, when these are each target's."""
    prometheus = MadeUp({}, UP | {SCRAPES: [sample(at, instance=name) for name, at in scrapes.items()]})
    requested_of(prometheus)
    return sum(bool(OF_ALL_TARGETS.fullmatch(fields["query"])) for _, fields in prometheus.requested)


def test_the_last_scrape_of_a_round_is_waited_for_but_not_for_ever() -> None:
    assert 5 < glances({"one": BEGAN}) < 100
    assert glances({"one": LOAD.ended}) == 1


def test_the_last_scrape_of_the_slowest_target_is_waited_for_too() -> None:
    assert glances({"fast": LOAD.ended + 1, "slow": LOAD.ended - 1}) > 5
    assert glances({"fast": LOAD.ended + 1, "slow": LOAD.ended}) == 1


def test_a_clock_that_is_set_back_meanwhile_makes_no_wait_longer() -> None:
    prometheus = MadeUp({}, UP | {SCRAPES: [sample(BEGAN, instance="one")]})
    asker(prometheus, clock=-3600).series({"cpu": Series(query="cpu")}, LOAD)
    assert len(prometheus.requested) < 100


def test_a_target_of_our_own_that_was_down_is_reported_whatever_the_queries_are_about() -> None:
    targets = requested_of(MadeUp({"cpu": [line()]}, UP)).requested.targets
    assert [(target.instance, target.scrapes, target.failed) for target in targets] == [("one", 4, 1), ("two", 4, 0)]


def test_of_a_shared_prometheus_only_the_targets_of_the_series_matter() -> None:
    targets = requested_of(MadeUp({"cpu": [line(instance="two")]}, UP), shared=True).requested.targets
    assert [target.instance for target in targets] == ["two"]


def test_every_query_that_cannot_be_answered_is_named_before_the_load() -> None:
    queries = {"good": Series(query="up"), "one": Series(query="bad("), "two": Series(query="bad)")}
    with pytest.raises(ObservationError) as raised:
        asker(MadeUp({}, UP)).check(queries)
    assert str(raised.value) == "series `one`: parse error in bad(; series `two`: parse error in bad)"


def test_headers_go_with_every_query() -> None:
    prometheus = MadeUp({}, UP)
    requested_of(prometheus)
    assert set(prometheus.headers) == {"shop"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(200, text="<html>a login page</html>"), "doesn't answer like Prometheus: <html>a login"),
        (httpx.Response(502, text="bad gateway"), "answers 502: bad gateway"),
        (httpx.Response(200, json={"status": "success", "data": {"result": [{"metric": 1}]}}), "doesn't answer like"),
    ],
)
def test_what_is_no_prometheus_is_reported_as_such(answer: httpx.Response, message: str) -> None:
    with pytest.raises(ObservationError) as raised:
        asker(lambda _: answer).series({"cpu": Series(query="cpu")}, LOAD)
    assert message in str(raised.value)


def test_an_answer_that_is_too_large_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_BYTES", 50)
    with pytest.raises(ObservationError, match="more than 50 bytes; aggregate in the query"):
        requested_of(MadeUp({"cpu": [line()]}, UP))


def test_what_is_kept_is_read_back_and_what_is_damaged_is_reported_with_its_file(tmp_path: Path) -> None:
    seen = requested_of(MadeUp({"cpu": [line()]}, UP))
    kept.write(tmp_path / "series", seen)
    read = OBSERVER.read(RoundFiles({}, tmp_path / "series"))
    assert read is not None
    assert read.requested == seen.requested
    assert read.samples.to_dict() == seen.samples.to_dict()
    assert OBSERVER.read(RoundFiles({}, tmp_path / "nothing")) is None
    for name in (samples.FILE, kept.ASKED):
        (tmp_path / "series" / name).write_bytes(b"PAR1")
        with pytest.raises(ObservationError, match=name):
            kept.read(tmp_path / "series")
        kept.write(tmp_path / name, seen)
        (tmp_path / name).rename(tmp_path / f"{name}.whole")
        (tmp_path / "series" / name).write_bytes((tmp_path / f"{name}.whole" / name).read_bytes())


def test_a_system_without_the_component_that_is_to_answer_is_reported_before_the_load(tmp_path: Path) -> None:
    watched = WatchedRound({"shop": "http://localhost"}, tmp_path / "series", Watch(series={"cpu": Series(query="up")}))
    with pytest.raises(ObservationError, match="no component `prometheus`"), OBSERVER.watch(watched):
        raise AssertionError("load was put on")


def test_a_study_without_series_asks_no_one(tmp_path: Path) -> None:
    with OBSERVER.watch(WatchedRound({}, tmp_path / "series")):
        pass
    assert not (tmp_path / "series").exists()


def test_a_secret_that_the_environment_lacks_is_reported_at_the_headers_of_prometheus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    at = PrometheusAt(url="http://127.0.0.1:1", headers={"Authorization": "Bearer ${env:NO_SUCH_TOKEN}"})
    watch = Watch(series={"cpu": Series(query="up")}, prometheus=at)
    (problem,) = OBSERVER.problems(watch)
    assert problem.path == "prometheus.headers"
    assert "NO_SUCH_TOKEN" in problem.message
    with (
        pytest.raises(ObservationError, match="NO_SUCH_TOKEN"),
        OBSERVER.watch(WatchedRound({}, tmp_path / "s", watch)),
    ):
        raise AssertionError("load was put on")


def test_a_prometheus_that_already_runs_and_does_not_answer_is_one_problem_of_the_study() -> None:
    queries = {"cpu": Series(query="up"), "memory": Series(query="up")}
    nobody = Watch(series=queries, prometheus=PrometheusAt(url="http://127.0.0.1:1"))
    (problem,) = OBSERVER.problems(nobody)
    assert (problem.path, problem.value) == ("prometheus", "http://127.0.0.1:1")
    assert problem.message.startswith("http://127.0.0.1:1 does not answer: ")
    assert OBSERVER.problems(Watch(series={"cpu": Series(query="up")})) == [], "our own is asked once it is up"


@pytest.mark.parametrize("value", ["NaN", "+Inf"])
def test_a_share_of_nothing_is_kept_and_costs_no_round(value: str, tmp_path: Path) -> None:
    seen = requested_of(MadeUp({"cpu": [line(value, mode="a")]}, UP))
    kept.write(tmp_path / "series", seen)
    again = kept.read(tmp_path / "series")
    assert again is not None
    assert again.samples["value"].isna().sum() == seen.samples["value"].isna().sum()
    assert len(again.samples) == len(seen.samples)


def test_a_series_of_more_values_than_were_asked_for_is_refused() -> None:
    many = line(mode="user") | {"values": [[BEGAN, "1"]] * 1000}
    with pytest.raises(ObservationError, match="more values of a series than it was asked for"):
        requested_of(MadeUp({"cpu": [many]}, UP))


def test_a_prometheus_with_targets_without_end_is_refused() -> None:
    scrapes = [sample(4, job="shop", instance=str(number)) for number in range(MOST_TARGETS + 1)]
    with pytest.raises(ObservationError, match="it scrapes 1,001 targets; at most 1,000 are kept"):
        requested_of(MadeUp({"cpu": [line()]}, UP | {"count_over_time(up": scrapes}))


def test_a_target_that_never_answered_failed_at_every_scrape() -> None:
    never = {**UP, "sum_over_time(up": [sample(0, job="shop", instance="one")]}
    seen = requested_of(MadeUp({"cpu": [line()]}, never))
    failed = {target.instance: (target.scrapes, target.failed) for target in seen.requested.targets}
    assert failed == {"one": (4, 4), "two": (4, 4)}
