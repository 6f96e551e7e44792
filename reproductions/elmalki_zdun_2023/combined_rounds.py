"""The rounds of studies/insurance-combined.yaml, in one of its forms, as the paper's models have them.

``rows`` has one row per configuration and round, ``method_rows`` one per method in it. Every response is of that round
alone: no number is repeated over requests, as the published failure rate was.

Rounds of before the single arm was n requests have no window of the limit: one request carried one item there, users
waited a quarter of a second, and a limit let through a twentieth of what the paper's does in a minute, in 3 s.
"""

from __future__ import annotations

import pandas as pd

from patternbench.records import attempts, damage
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.report.model import counting

GREATEST_LIMIT, NO_LIMIT = 1200.0, 1300.0
"""The greatest limit of the paper, requests per minute; what no limit counts as, which the paper does not say."""
LIMITS = tuple(float(limit) for limit in range(100, 1300, 100))
NONE = "none"
TIME, CPU_PER_ITEM = "AverageSuccessTime", "derived.cpu_s_per_item"
RESPONSES = (TIME, "failure_rate", "limited_rate", "items_per_s", "item_failure_rate", "Throughput")
COURSE = ("round", "block", "scenario", "status", "valid", "warnings", "seconds", "system_cpu_s")
LEVELS = ("request_bundle", "replicas", "limit", "users", "parameters.size")
WINDOW, ITEMS = "limit_window", "items"
ATTEMPTS = ["step", "start_us", "end_us", "success", "warm_up"]
_MS_PER_US, _MS_PER_S, _MINUTE_S = 1e-3, 1e3, 60.0

KEPT_COLUMNS = (*COURSE, *LEVELS, WINDOW, *RESPONSES, ITEMS)
"""The columns of a run that the page is made of."""


def operations_of(run: RunFolder) -> pd.DataFrame:
    """Return the calls of each operation in each finished round: how many, how many good, and their mean time in ms."""
    entries = [entry for entry in damage.rounds(run) if entry.status == DONE]
    parts = (
        by_operation(attempts.read(run.attempts_of(one.file), ATTEMPTS)).assign(round=one.round) for one in entries
    )
    return pd.concat(parts, ignore_index=True)


def by_operation(calls: pd.DataFrame) -> pd.DataFrame:
    """Sum up a round's attempts by operation; no one tries twice, so each attempt is a call."""
    measured = calls[~calls["warm_up"].astype(bool)]
    times = ((measured["end_us"] - measured["start_us"]) * _MS_PER_US).where(measured["success"].astype(bool))
    table = pd.DataFrame({"operation": measured["step"].astype(str), "ms": times})
    return table.groupby("operation")["ms"].agg(calls="size", good="count", ms="mean").reset_index()


def by_method(operations: pd.DataFrame) -> pd.DataFrame:
    """Sum up the calls of rounds by method, the first word of an operation; rounds of before have it already."""
    if "method" in operations:
        return operations
    words = operations["operation"].str.split().str[0]
    totals = operations.assign(method=words, ms=operations["ms"] * operations["good"])
    summed = totals.groupby(["round", "method"])[["calls", "good", "ms"]].sum().reset_index()
    return summed.assign(ms=summed["ms"] / summed["good"].where(summed["good"] > 0))


def rows(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration and round, with the study's levels and the paper's factors.

    A limit is in requests per minute of the paper, of which ``minute_s`` says how many seconds stand for one; ``rpm``
    are requests in that time. ``total_time`` is the mean time in ms of the calls that succeeded, as in the paper; NaN
    where none did. ``derived.cpu_s_per_item`` are CPU seconds of the system per item that was served.
    """
    good, before = counting(rounds).reset_index(drop=True), WINDOW not in rounds
    requested = pd.to_numeric(good["limit"], errors="coerce")
    limits = (requested * (GREATEST_LIMIT / requested.max() if before else 1.0)).round()
    minute_s = pd.Series(_MINUTE_S, good.index) if before else good[WINDOW].astype(float)
    served = good["items_per_s"] * good["seconds"]
    if ITEMS in good:
        served = good[ITEMS] * (1 - good["item_failure_rate"] / 100)
    sizes, users, replicas = (good[name].astype(int) for name in ("parameters.size", "users", "replicas"))
    own: dict[str, pd.Series] = {
        "load_balancing": replicas.map({1: "N", 2: "Y"}),
        "bundle_size": sizes.where((good["request_bundle"] == "Y") | (not before), 1),
        "rate_limit": limits.fillna(NO_LIMIT),
        "api_users": users,
        "replicas": replicas,
        "limit": pd.Series([NONE if pd.isna(limit) else int(limit) for limit in limits], good.index, dtype=object),
        "users": users,
        "total_time": good[TIME] * _MS_PER_S,
        "minute_s": minute_s,
        "rpm": good["Throughput"] * minute_s,
        CPU_PER_ITEM: good["system_cpu_s"].astype(float) / served.where(served > 0),
    }
    kept = good[["round", "block", "scenario", "warnings", "request_bundle", "parameters.size", *RESPONSES]]
    return kept.assign(**own)


def method_rows(table: pd.DataFrame, methods: pd.DataFrame) -> pd.DataFrame:
    """One row per method in each round, with its own time and failures: what model 1 is fitted to."""
    own = methods.assign(failure_rate=100 * (1 - methods["good"] / methods["calls"]), total_time=methods["ms"])
    left = table.drop(columns=["failure_rate", "total_time"])
    return left.merge(own[["round", "method", "failure_rate", "total_time"]], on="round")
