"""The rounds of studies/insurance-combined.yaml, in one of its forms, as the paper's models have them.

``rows`` has one row per configuration and round, ``method_rows`` one per method in it. Every response is of that round
alone: no number is repeated over requests, as the published failure rate was.

Rounds of before the single arm was n requests have no window of the limit: one request carried one item there, users
waited a quarter of a second, and a limit let through a twentieth of what the paper's does in a minute, in 3 s.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from patternbench.records import attempts, damage
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.report.model import counting

#: The factors of a row, as the paper names them.
FACTORS = ("request_bundle", "load_balancing", "bundle_size", "rate_limit", "api_users")
#: The greatest limit of the paper, requests per minute; what no limit counts as, which the paper does not say.
GREATEST_LIMIT, NO_LIMIT = 1200.0, 1300.0
LIMITS = tuple(float(limit) for limit in range(100, 1300, 100))
SIZES = (10, 20, 30, 40, 50)
NONE = "none"
RESPONSES = ("AverageSuccessTime", "failure_rate", "limited_rate", "items_per_s", "item_failure_rate", "Throughput")
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
    named = operations.assign(
        method=operations["operation"].str.split().str[0], ms=operations["ms"] * operations["good"]
    )
    summed = named.groupby(["round", "method"])[["calls", "good", "ms"]].sum().reset_index()
    return summed.assign(ms=summed["ms"] / summed["good"].where(summed["good"] > 0))


def rows(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration and round.

    ``total_time`` is the mean time in ms of the calls that succeeded, as in the paper; NaN where none did. ``minute_s``
    is how many seconds stand for a minute of the paper, and ``rpm`` are requests in that time. ``core_s_per_item`` are
    CPU seconds of the system per item that was served.
    """
    good = counting(rounds)
    table = good[["round", "block", "scenario", "parameters.size", *RESPONSES]].assign(**_factors(good))
    table["total_time"] = table["AverageSuccessTime"] * _MS_PER_S
    table["minute_s"] = good[WINDOW].astype(float) if WINDOW in good else _MINUTE_S
    table["rpm"] = table["Throughput"] * table["minute_s"]
    served = table["items_per_s"] * good["seconds"]
    if ITEMS in good:
        served = good[ITEMS] * (1 - good["item_failure_rate"] / 100)
    core_s = good["system_cpu_s"].astype(float) if "system_cpu_s" in good else np.nan
    table["core_s_per_item"] = core_s / served.where(served > 0)
    return table.reset_index(drop=True)


def _factors(rounds: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the paper's factors from the study's levels; a limit is in requests per minute of the paper."""
    requested = pd.to_numeric(rounds["limit"], errors="coerce")
    scale = 1.0 if WINDOW in rounds else GREATEST_LIMIT / requested.max()
    carries_n = (rounds["request_bundle"] == "Y") | (WINDOW in rounds)
    return {
        "request_bundle": rounds["request_bundle"],
        "load_balancing": rounds["replicas"].astype(int).map({1: "N", 2: "Y"}),
        "bundle_size": rounds["parameters.size"].astype(int).where(carries_n, 1),
        "rate_limit": (requested * scale).round().fillna(NO_LIMIT),
        "api_users": rounds["users"].astype(int),
    }


def method_rows(table: pd.DataFrame, methods: pd.DataFrame) -> pd.DataFrame:
    """One row per method in each round, with its own time and failures: what model 1 is fitted to."""
    own = methods.assign(failure_rate=100 * (1 - methods["good"] / methods["calls"]), total_time=methods["ms"])
    left = table.drop(columns=["failure_rate", "total_time"])
    return left.merge(own[["round", "method", "failure_rate", "total_time"]], on="round")
