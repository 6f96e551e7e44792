"""What a load test shows."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.signal import savgol_filter

from patternbench.analyze.load.columns import Columns
from patternbench.analyze.load.loadtest import (
    Knee,
    _errors,
    _weights,
    analyze_load_test,
    in_short,
    in_words,
    knee,
    linearity,
)
from patternbench.terms.data_problems import DataError

LOADS = np.arange(10.0, 101.0, 10.0)


def log(per_level: int = 400, bend_at: float = 1e9) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    parts = []
    for load in LOADS:
        mean = 5 + load + 4 * max(0.0, load - bend_at)
        codes = np.where(rng.uniform(size=per_level) < load / 400, 500, 200)
        times = np.arange(per_level) * 100 + load * 1e6
        parts.append(
            pd.DataFrame(
                {
                    "allThreads": load,
                    "timeStamp": times,
                    "elapsed": rng.gamma(20, mean / 20, per_level),
                    "responseCode": codes,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def test_pearson_and_its_interval_are_a_worked_example() -> None:
    # r = 0.8 over 12 levels: atanh(0.8) = 1.0986 +- 1.96 / 3, back: 0.4185 to 0.9419
    x = np.arange(12.0)
    noise = np.random.default_rng(1).normal(size=12)
    noise -= np.polyval(np.polyfit(x, noise, 1), x)
    line = x - x.mean()
    y = 0.8 * line / np.linalg.norm(line) + 0.6 * noise / np.linalg.norm(noise)
    found = linearity(x, y)
    assert (found.r, found.low, found.high) == pytest.approx((0.8, 0.4185, 0.9419), abs=1e-3)


def test_of_a_straight_rise_neither_a_bend_nor_a_knee_is_claimed_nor_their_absence() -> None:
    found = analyze_load_test(log())
    assert found.linearity.verdict == "linear"
    assert found.linearity.r > 0.98
    assert found.knee.load is None
    shape, knee_, _ = in_words(found)
    assert shape.startswith("Response times rise with the load; whether they bend is inconclusive (Pearson 0.999, ")
    assert knee_.startswith("Whether there is a knee is inconclusive: ")


def test_a_load_that_changes_nothing_is_said_to_be_untold() -> None:
    words = in_words(analyze_load_test(log().assign(elapsed=np.random.default_rng(4).gamma(20, 1, 4000))))
    assert words[0].startswith("Whether response times change with the load is inconclusive (Pearson ")


def test_a_bend_is_found_where_it_is() -> None:
    found = analyze_load_test(log(bend_at=60))
    assert found.linearity.verdict == "bends_up"
    assert in_words(found)[0].startswith("Response times bend upwards with the load (Pearson ")
    assert found.knee.low <= 60 <= found.knee.high
    assert found.knee.slope_after / found.knee.slope_before == pytest.approx(5, rel=0.4)


def test_in_short_it_says_from_which_load_on_answers_take_longer_and_what_fails() -> None:
    turn, failed = in_short(analyze_load_test(log(bend_at=60)))
    assert re.fullmatch(
        r"From a load of [56]\d\.?\d* \([\d.]+ to [\d.]+\) on, response times rise [45]\.?\d* times as fast\.", turn
    ), turn
    assert failed.startswith("Most failures: ")


def test_in_short_a_load_test_without_a_knee_says_how_times_follow_the_load_without_statistics() -> None:
    assert in_short(analyze_load_test(log()))[0] == (
        "Response times rise with the load; whether they bend is inconclusive."
    )


def test_in_short_a_turn_downwards_is_told_by_both_slopes() -> None:
    found = analyze_load_test(log())
    turned = replace(found, knee=Knee(50.0, 40.0, 60.0, 2.0, -1.0, 0.01, ""))
    assert in_short(turned)[0] == (
        "From a load of 50 (40 to 60) on, response times change by -1 per unit of load, before by 2."
    )


def test_a_bend_down_is_reported_from_a_bend_up() -> None:
    assert linearity(LOADS, np.sqrt(LOADS)).verdict == "bends_down"


@pytest.mark.slow
def test_noise_alone_has_a_knee_no_more_often_than_it_should() -> None:
    found = sum(
        knee(LOADS, LOADS + np.random.default_rng(seed).normal(0, 5, 10), np.random.default_rng(0)).load is not None
        for seed in range(200)
    )
    # 5 % of 200 is 10; more than 20 would happen by chance less than once in 500 times
    assert found <= 20


def test_shares_of_status_codes_add_up_to_a_hundred() -> None:
    shares = analyze_load_test(log()).shares
    assert shares.sum(axis=1).tolist() == pytest.approx([100.0] * 10)
    assert shares.loc[100.0, "500"] == pytest.approx(25, abs=5)


def test_a_service_that_redirects_is_not_said_to_fail() -> None:
    table = log().assign(responseCode=np.resize([200, 301, 302, 500, 200], 4000))
    assert in_words(analyze_load_test(table))[-1] == "Most failures: 20 % at load 10."
    assert in_words(analyze_load_test(table.assign(responseCode=302)))[-1] == "Every request was answered well."


def test_a_smooth_curve_has_no_knee_wherever_its_measurement_ends() -> None:
    noise = np.random.default_rng(2)
    for most in (80.0, 95.0):
        loads = np.linspace(10, most, 10)
        found = knee(loads, (1 + noise.normal(0, 0.01, 10)) / (1 - loads / 100), noise, 1 / (1 - loads / 100))
        assert found.load is None
        assert "a smooth curve fits" in found.note


def test_levels_are_weighed_by_the_spread_between_their_rounds() -> None:
    table = log().assign(block=np.resize(np.arange(4), 4000))
    loud = table.assign(elapsed=table["elapsed"] * np.where(table["block"] == 0, 1 + table["allThreads"] / 100, 1))
    weights = _weights(LOADS, _errors(loud.rename(columns={"allThreads": "load", "elapsed": "response"})))
    assert weights[0] > 5 * weights[-1]


def test_smoothing_is_that_of_scipy_and_names_its_window() -> None:
    found = analyze_load_test(log(), window=21).smoothed[0]
    expected = savgol_filter(log().query("allThreads == 10")["elapsed"], 21, 2)
    assert found.window == 21
    assert found.values == pytest.approx(expected)
    assert found.note.startswith("Savitzky-Golay, 21 requests wide")


def test_too_few_levels_are_said_not_judged() -> None:
    found = analyze_load_test(log().query("allThreads <= 30"))
    assert found.linearity is None
    assert "3 load levels" in found.notes[0].text
    assert "a knee needs at least 6" in found.knee.note


def test_a_missing_column_is_named_with_its_option() -> None:
    with pytest.raises(DataError, match="--load: no column is called users"):
        analyze_load_test(log(), Columns(load="users"))


def test_text_in_a_time_is_located() -> None:
    table = log().astype({"elapsed": object})
    table.loc[3, "elapsed"] = "slow"
    with pytest.raises(DataError, match="row 4: column elapsed must hold numbers but holds 'slow'"):
        analyze_load_test(table)


@pytest.mark.parametrize(("column", "option", "most"), [("allThreads", "load", 2000), ("responseCode", "status", 100)])
def test_a_column_of_far_too_many_values_is_refused_before_anything_is_computed(
    column: str, option: str, most: int
) -> None:
    rows = log(per_level=1000)
    rows[column] = range(len(rows))
    with pytest.raises(DataError, match=rf"--{option}.*column {column} has [\d,]+ different values; at most {most:,}"):
        analyze_load_test(rows)


@pytest.mark.parametrize("values", [[True, False] * 200, pd.to_timedelta(range(400), unit="ms")])
def test_response_times_that_are_no_numbers_are_located(values: object) -> None:
    rows = log(per_level=400).head(400).reset_index(drop=True)
    rows["elapsed"] = values
    with pytest.raises(DataError, match="row 1: column elapsed must hold numbers but holds"):
        analyze_load_test(rows)
