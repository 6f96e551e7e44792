"""What is predicted from counts alone: right where counts decide the time, and by a rule whose error rate is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed
from reproductions.elmalki_zdun_2021 import predict

WEIGHTS = {"requests": 3.0, "inmem_calls": 0.01, "db_calls": 0.8, "dist_calls": 2.0}
BLOCKS = 5


def batches(noise: float, extra: float = 0.0) -> pd.DataFrame:
    """Batches whose times follow from counts, with relative noise; ``extra`` ms per item of Create that none counts."""
    rng, rows = np.random.default_rng(3), []
    for block, bundle, method, n in product(range(BLOCKS), "NY", ("Get", "Update", "Create"), (10, 20, 30, 40, 50)):
        single = bundle == "N"
        row = {
            "requests": n if single else 1,
            "inmem_calls": {"Get": 38, "Update": 56, "Create": 140}[method] * n // (1 if single else 2),
            "db_calls": n if method == "Get" else 2 * n,
            "dist_calls": n if single or method == "Create" else 1,
        }
        time = sum(weight * row[name] for name, weight in WEIGHTS.items()) + extra * n * (method == "Create")
        keys = {"block": block, "connection": "reuse", "request_bundle": bundle, "method": method, "size": n}
        rows.append({**keys, **row, "total_time": time * np.exp(rng.normal(0, noise))})
    return pd.DataFrame(rows)


def errors(table: pd.DataFrame, left_out: str) -> pd.Series:
    percent: pd.Series = predict.errors(predict.predicted(table, predict.by_weights, left_out))
    return percent


def test_where_counts_decide_the_time_a_time_per_call_predicts_the_sizes_that_were_left_out() -> None:
    assert errors(batches(0.0), "size").max() < 0.01
    noisy = batches(0.05)
    mean, low, high = predict.mean_error(errors(noisy, "size"), noisy["block"])
    assert 2 < mean < 10
    assert predict.verdict(low, high) == predict.MET


def test_a_function_is_predicted_by_others_that_tell_its_calls_apart_and_by_no_others() -> None:
    table = batches(0.0)
    per_batch = errors(table, "method")
    assert per_batch[table["method"] == "Update"].max() < 0.01
    # Of Get and Update each request makes one distributed call, so that only Create tells what each of both takes.
    apart = (table["method"] == "Create") & (table["request_bundle"] == "Y")
    assert per_batch[apart].min() > 5


def test_what_no_count_tells_is_not_predicted_for_a_function_that_was_left_out() -> None:
    hidden = batches(0.02, extra=40.0)
    mean, low, high = predict.mean_error(errors(hidden, "method"), hidden["block"])
    assert mean > 40
    assert predict.verdict(low, high) == predict.MISSED


def test_both_models_are_held_against_the_same_batches() -> None:
    table = batches(0.02)
    for predictor in predict.PREDICTORS.values():
        for left_out in predict.LEFT_OUT:
            assert predict.errors(predict.predicted(table, predictor, left_out)).notna().all()


def test_a_prediction_has_not_seen_what_it_predicts() -> None:
    table = batches(0.0)
    table = table[table["block"] == 0].reset_index(drop=True)
    before = predict.by_weights(table, "size")
    table.loc[table["size"] == 50, "total_time"] *= 10
    after = predict.by_weights(table, "size")
    large = (table["size"] == 50).to_numpy()
    assert after[large] == pytest.approx(before[large])
    assert after[~large] != pytest.approx(before[~large])


def test_a_count_that_the_rounds_do_not_tell_is_left_out_and_said() -> None:
    assert "inmem_calls" not in predict.reported(batches(0.0).assign(inmem_calls=np.nan))


@pytest.mark.slow
def test_an_error_at_the_target_is_called_below_or_above_it_in_five_of_a_hundred_studies() -> None:
    rng, reported = np.random.default_rng(5), []
    for _ in range(4000):
        means = pd.Series(rng.normal(claimed.BAR, 4.0, BLOCKS))
        reported.append(predict.verdict(*predict.mean_error(means, pd.Series(range(BLOCKS)))[1:]))
    assert sum(word != "inconclusive" for word in reported) / len(reported) == pytest.approx(0.05, abs=0.012)


def test_the_faster_of_two_is_reported_where_the_prediction_orders_them_as_measured() -> None:
    table = batches(0.0)
    assert predict.decided_rightly(table.assign(predicted=table["total_time"])) == 100
    assert predict.decided_rightly(table.assign(predicted=-table["total_time"])) == 0


def test_one_block_decides_nothing() -> None:
    _, low, high = predict.mean_error(pd.Series([5.0, 6.0]), pd.Series([0, 0]))
    assert predict.verdict(low, high) == "inconclusive"
