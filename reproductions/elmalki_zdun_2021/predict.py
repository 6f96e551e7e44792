"""Predicts the time of a batch from its numbers of calls alone, and holds that against batches that were left out.

El Malki and Zdun (2021) propose to count the calls of an operation before it is built, to weigh them by measured means
(their equation 3), and to decide by that: an error below 30 % is good enough for a design. Their models also know times
and which function it is; these know nothing but counts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import cast

import numpy as np
import pandas as pd
from scipy import optimize, stats

from patternbench.analyze.models.fit import Settings, fit_formulas
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.terms.arrays import Floats
from reproductions import claimed
from reproductions.elmalki_zdun_2021 import bundle_rounds
from reproductions.elmalki_zdun_2021.bundle_rounds import KEYS, MS_PER_S, batches, timed, traced, varied
from reproductions.markdown import table

Predictor = Callable[[pd.DataFrame, str], Floats]

COUNTS = ("requests", "inmem_calls", "db_calls", "dist_calls")
LEFT_OUT = {"size": "each size", "method": "each function"}
LEVEL = 0.95
HEADS = ("left out", "model", "MAPE", "interval", "target", "MAPE of medians", "hardest", "faster one told")
MET, MISSED = "below 30 %", "above 30 %"


def timed_batches(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per batch that was timed, untraced where the study has such rounds, with its counts from traced ones.

    ``total_time`` is in milliseconds. ``requests`` are the client's: as many as the size, or one bundle.
    """
    counts = batches(traced(rounds)).drop(columns="total_time")
    measured = timed(rounds).rename(columns={"parameters.method": "method", "parameters.size": "size"})
    times = measured[["block", "connection", *KEYS]].assign(total_time=measured["journey_p50"] * MS_PER_S)
    table = times.merge(counts, on=KEYS)
    return table.assign(requests=table["size"].where(table["request_bundle"] == "N", 1))


def reported(rows: pd.DataFrame) -> list[str]:
    """Return the counts that the rounds know, and that vary."""
    return varied(rows, COUNTS)


def by_weights(rows: pd.DataFrame, left_out: str) -> Floats:
    """Predict each batch by a time per call of each kind, from the batches with other levels of a column.

    The times are not negative, and make the sum of squared relative errors the least (Lawson and Hanson's NNLS).
    """
    expected = np.full(len(rows), np.nan)
    counts, times = rows[reported(rows)].to_numpy(float), rows["total_time"].to_numpy(float)
    for level in rows[left_out].unique():
        out = (rows[left_out] == level).to_numpy()
        weights, _ = optimize.nnls(counts[~out] / times[~out, None], np.ones((~out).sum()))
        expected[out] = counts[out] @ weights
    return expected


def by_formula(rows: pd.DataFrame, left_out: str) -> Floats:
    """Predict each batch by the paper's fourth model without its function, from the batches with other levels."""
    calls = [name for name in reported(rows) if name != "requests"]
    formula = f"total_time ~ {' + '.join([*calls, 'request_bundle'])}"
    (model,) = fit_formulas(rows.reset_index(drop=True), [formula], Settings(scenario=left_out)).models
    expected = np.full(len(rows), np.nan)
    expected[model.fit.design.rows] = model.fit.y - model.cross_validation.residuals
    return expected


PREDICTORS: dict[str, Predictor] = {
    "a time per call of each kind": by_weights,
    "model 4 without the function": by_formula,
}


def predicted(rows: pd.DataFrame, predictor: Predictor, left_out: str) -> pd.DataFrame:
    """Return the batches with what is predicted of each, each block from itself alone."""
    blocks = (block.assign(predicted=predictor(block, left_out)) for _, block in rows.groupby("block"))
    return pd.concat(blocks)


def errors(rows: pd.DataFrame) -> pd.Series:
    """Return the error of each predicted batch in percent of its time."""
    return 100 * (rows["predicted"] - rows["total_time"]).abs() / rows["total_time"]


def decided_rightly(rows: pd.DataFrame) -> float:
    """Of the pairs of n requests and a bundle of n in a block, the percent whose faster one is predicted."""
    pairs = rows.pivot(index=["block", "method", "size"], columns="request_bundle", values=["total_time", "predicted"])
    faster = {name: pairs[name]["Y"] < pairs[name]["N"] for name in ("total_time", "predicted")}
    return float(100 * (faster["total_time"] == faster["predicted"]).mean())


def mean_error(per_batch: pd.Series, blocks: pd.Series) -> tuple[float, float, float]:
    """Return the MAPE with its interval over blocks (t), which are repetitions of the whole experiment."""
    means = per_batch.groupby(blocks).mean().to_numpy()
    if len(means) < 2:
        return float(means.mean()), float("-inf"), float("inf")
    ends = stats.ttest_1samp(means, 0).confidence_interval(LEVEL)
    return float(means.mean()), float(ends.low), float(ends.high)


def verdict(low: float, high: float) -> str:
    """Whether the error is below the paper's target, by an interval that holds the true one in 95 of 100 studies."""
    if high < claimed.BAR:
        return MET
    return MISSED if low > claimed.BAR else Conclusion.INCONCLUSIVE


def report(rounds: pd.DataFrame) -> str:
    """All of it as Markdown."""
    rows = timed_batches(rounds)
    missing = sorted({*COUNTS} - {*reported(rows)})
    parts = [f"These rounds do not tell {', '.join(missing)}."] if missing else []
    for connection, name in bundle_rounds.CONNECTIONS.items():
        own = rows[rows["connection"] == connection]
        if len(own):
            scenarios = own.assign(scenario=own.groupby(KEYS).ngroup())
            floor = claimed.noise_floor(scenarios, "total_time")
            every = product(LEFT_OUT.items(), PREDICTORS.items())
            lines = ([text, model, *_cells(own, of_it, column, floor)] for (column, text), (model, of_it) in every)
            itself = f"A batch differs from itself by {floor:.0f} % (noise floor)"
            parts += [f"{name.capitalize()}:", table(HEADS, lines), f"{itself}: errors up to that are not judged."]
    return "\n\n".join(parts)


def _cells(rows: pd.DataFrame, predictor: Predictor, column: str, floor: float) -> list[str]:
    seen = predicted(rows, predictor, column)
    per_batch = errors(seen)
    if per_batch.isna().any():
        return ["cannot be predicted", "", "", "", "", ""]
    mean, low, high = mean_error(per_batch, seen["block"])
    span = f"{max(low, 0):.0f} to {high:.0f} %" if np.isfinite(high) else "none of one block"
    word = Conclusion.INCONCLUSIVE if claimed.below_floor(floor, low) else verdict(low, high)
    # One batch per scenario, the median over blocks, in which the scatter of single batches is smaller.
    medians = rows.groupby(KEYS, as_index=False).median(numeric_only=True).assign(block=0)
    of_medians = errors(predicted(medians, predictor, column)).mean()
    by_level = per_batch.groupby([seen[column], seen["request_bundle"]]).mean()
    level, bundle = cast(tuple[object, str], by_level.idxmax())
    hardest = f"{level}, {'bundled' if bundle == 'Y' else 'one by one'}: {by_level.max():.0f} %"
    return [f"{mean:.0f} %", span, word, f"{of_medians:.0f} %", hardest, f"{decided_rightly(seen):.0f} %"]
