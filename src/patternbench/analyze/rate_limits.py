"""What a rate limit did in a round, judged from both sides, and what it cost.

The two sides differ: a balancer's decision has the time of the clock that decided, a client's has the time at
which the client began to send, as in Kalyanasundaram et al. 2025. The balancer's side tells how exact the
limiter is; the client's side also holds what the way to it did to the order of requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from patternbench.analyze.intervals import difference, median_interval
from patternbench.analyze.throttling import EXACT_LOG, NO_LIMITER, Rule, by_client, summarize_with_scale

REJECTED = 429
MEASURED = "measured"
JUDGED = (
    "requests",
    "deviation",
    "wrongly_allowed",
    "wrongly_rejected",
    "deviation_tolerant",
    "deviation_least",
    "deviation_most",
    "client_mean",
    "peak",
)
"""What `judged` keeps of the judge's summary: percentages, but for the count of requests and the peak."""


def of_attempts(attempts: pd.DataFrame) -> pd.DataFrame:
    """The decisions that clients saw: one row an answered attempt, warm-up included since it used up quota.

    `client` is group and user, `time_us` the moment of sending. Answers that are neither good nor 429 say
    nothing of the limit but were let through, so they count as allowed.
    """
    answered = attempts[attempts["status"].notna()]
    group = answered["group"].astype(str) if "group" in answered else pd.Series("all", answered.index)
    client = group + " " + answered["user"].astype(str)
    columns = {
        "client": client,
        "time_us": answered["start_us"].astype("int64"),
        "allowed": answered["status"].astype("int64") != REJECTED,
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def judged(decisions: pd.DataFrame, rule: Rule) -> dict[str, dict[str, float]]:
    """The judge's summary of what was measured, and of both ends of the scale on the same arrivals."""
    table = summarize_with_scale(decisions, rule, MEASURED)
    return {name: {column: float(table.loc[name, column]) for column in JUDGED} for name in table.index}


def by_group(decisions: pd.DataFrame, rule: Rule) -> dict[str, float]:
    """The deviation in percent of each group's requests, for decisions made by `of_attempts`."""
    clients = by_client(decisions, rule)
    group = clients["client"].str.rsplit(" ", n=1).str[0]
    sums = clients[["requests", "wrongly_allowed", "wrongly_rejected"]].groupby(group, sort=False).sum()
    wrong = sums["wrongly_allowed"] + sums["wrongly_rejected"]
    return {str(name): float(share) for name, share in (100 * wrong / sums["requests"]).items()}


def typical(rows: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """The median over rounds of each column, for each combination of `by`, in order of first appearance."""
    groups = rows.groupby(list(by), sort=False, dropna=False, observed=True)
    return groups[list(columns)].median().reset_index()


def overheads(rows: pd.DataFrame, by: Sequence[str], baseline: pd.Series, response: str) -> pd.DataFrame:
    """How much more a response is than without a limiter: one row for each combination of `by`.

    `rows` has a value a round, and `baseline` (bool, same index) tells the rounds without a limiter. Gives
    `mean`, `overhead` with Welch's interval `low` to `high` (NaN below two rounds a side), `percent` of the
    baseline and `rounds`.
    """
    base = rows.loc[baseline, response]
    groups = rows.groupby(list(by), sort=False, dropna=False, observed=True)
    found = [_overhead(key, part, base, list(by), response) for key, part in groups]
    return pd.DataFrame(found)


def _overhead(key: Any, part: pd.DataFrame, base: pd.Series, by: list[str], response: str) -> dict[str, Any]:
    values = part[response]
    names = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
    if part.index.isin(base.index).all():
        return {**names, "mean": values.mean(), "overhead": 0.0, "low": np.nan, "high": np.nan, "percent": 0.0} | {
            "rounds": len(values)
        }
    compared = difference([(values, base)])
    percent = 100 * compared.estimate / base.mean() if len(base) else np.nan
    limits = {"overhead": compared.estimate, "low": compared.low, "high": compared.high}
    return {**names, "mean": values.mean(), **limits, "percent": percent, "rounds": len(values)}


def spread(rows: pd.DataFrame, by: Sequence[str], response: str) -> pd.DataFrame:
    """The median of a response over rounds with its interval, for each combination of `by`, to be drawn."""
    groups = rows.groupby(list(by), sort=False, dropna=False, observed=True)
    found = []
    for key, part in groups:
        interval = median_interval(part[response].to_numpy(float))
        names = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        found.append({**names, "median": interval.median, "low": interval.low, "high": interval.high})
    return pd.DataFrame(found)


__all__ = ["EXACT_LOG", "MEASURED", "NO_LIMITER", "by_group", "judged", "of_attempts", "overheads", "spread", "typical"]
