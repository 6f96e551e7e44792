"""What series come to in a round, and why they may mislead."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from patternbench.analyze.rounds import CHOSEN
from patternbench.series.analyze.summaries import only_ones, summaries, typical
from patternbench.series.gaps import warnings_of
from patternbench.series.observer import OBSERVER
from patternbench.series.question import SERIES_PREFIX, Series
from patternbench.series.records.kept import RequestedSeries, RoundQueries, ScrapedTarget, SeenSeries
from patternbench.study.watching import Watch

ONE, TWO = '{"mode": "user"}', '{"mode": "system"}'


def samples(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["series", "labels", "second", "value"])


CPU = samples(("cpu", "{}", 0.0, 9.0), ("cpu", "{}", 1.0, 1.0), ("cpu", "{}", 2.0, 3.0), ("cpu", "{}", 3.0, 2.0))


def requested(label_sets: int = 1, left_out: int = 0) -> RequestedSeries:
    return RequestedSeries(
        query="up", unit="", title="", better="neither", step_s=1.0, label_sets=label_sets, left_out=left_out
    )


def seen(table: pd.DataFrame, *targets: ScrapedTarget, **series: RequestedSeries) -> SeenSeries:
    reported = RoundQueries(
        prometheus="http://localhost",
        measured_from_s=1.0,
        length_s=4.0,
        series=series or {"cpu": requested()},
        targets=list(targets),
    )
    return SeenSeries(reported, table)


def target(scrapes: int = 9, failed: int = 0) -> ScrapedTarget:
    return ScrapedTarget(job="shop", instance="shop-1", scrapes=scrapes, failed=failed)


def test_a_summary_leaves_the_warm_up_out_and_takes_values_in_the_order_of_time() -> None:
    (row,) = summaries(CPU.iloc[::-1], measured_from_s=1.0).to_dict("records")
    assert row == {"series": "cpu", "labels": "{}", "mean": 2.0, "max": 3.0, "last": 2.0}


def test_a_value_that_is_no_number_counts_nowhere() -> None:
    table = pd.concat([CPU, samples(("cpu", "{}", 3.5, math.nan), ("cpu", "{}", 3.6, math.inf))])
    assert summaries(table, 1.0)[["mean", "last"]].iloc[0].tolist() == [2.0, 2.0]


def test_a_series_of_one_label_set_gives_responses_and_one_of_several_gives_undefined_ones() -> None:
    table = pd.concat([CPU, samples(("modes", ONE, 1.0, 1.0), ("modes", TWO, 1.0, 2.0))])
    measured = OBSERVER.measured(seen(table, cpu=requested(), modes=requested(2), gone=requested(0)), {})
    assert (measured["series.cpu.mean"], measured["series.cpu.max"], measured["series.cpu.last"]) == (2.0, 3.0, 2.0)
    undefined = {name for name, value in measured.items() if math.isnan(value)}
    assert undefined == {
        f"series.{name}.{summary}" for name in ("modes", "gone") for summary in ("mean", "max", "last")
    }
    assert len(only_ones(summaries(table, 1.0))) == 1


def test_the_responses_of_a_study_are_those_that_its_rounds_get() -> None:
    watch = Watch(series={"cpu": Series(query="up", better="lower")})
    assert [response.name for response in OBSERVER.responses_of(watch)] == list(OBSERVER.measured(seen(CPU), {}))
    assert OBSERVER.responses_of(Watch()) == []
    assert SERIES_PREFIX in CHOSEN, "tables that no run wrote take such columns for responses too"


def test_the_typical_course_is_the_median_of_the_rounds_at_each_step() -> None:
    rounds = [samples(("cpu", "{}", second, value)) for second, value in ((1.02, 1.0), (0.98, 5.0), (1.0, 2.0))]
    assert typical(rounds, 1.0).to_dict("records") == [{"labels": "{}", "second": 1.0, "value": 2.0}]


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        (seen(CPU, target()), []),
        (seen(CPU), []),
        (seen(CPU[CPU["second"] < 1]), ["series_empty"]),
        (seen(CPU, target(), cpu=requested(), gone=requested(0)), ["series_empty"]),
        (seen(CPU, cpu=requested(3_000, 2_900)), ["series_left_out"]),
        (seen(CPU, target(failed=1)), ["scrape_down"]),
        (seen(CPU, target(scrapes=2)), ["few_scrapes"]),
        (seen(CPU.head(0), target(0, 0)), ["series_empty", "few_scrapes"]),
    ],
)
def test_what_may_mislead_about_series_is_reported_with_the_round(what: SeenSeries, kinds: list[str]) -> None:
    warnings = list(warnings_of(what))
    assert [warning.kind for warning in warnings] == kinds
    assert all(warning.remedy for warning in warnings)


def test_a_warning_names_the_series_and_the_target_that_it_is_about() -> None:
    (empty,) = warnings_of(seen(CPU, cpu=requested(), gone=requested(0)))
    assert "`gone`" in empty.message
    assert "`cpu`" not in empty.message
    (down,) = warnings_of(seen(CPU, target(failed=2)))
    assert "`shop shop-1`" in down.message
