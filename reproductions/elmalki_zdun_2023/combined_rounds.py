"""The rounds of studies/insurance-combined.yaml, or its quick form, as the paper's models have them.

``rows`` has one row per configuration and round, ``method_rows`` one per method in it. Every response is of that round
alone: no number is repeated over requests, as the published failure rate was.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from patternbench.records import attempts, damage
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from reproductions.markdown import counted

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
_MS_PER_US, _MS_PER_S, _S_PER_MINUTE = 1e-3, 1e3, 60
ATTEMPTS = ["step", "start_us", "end_us", "success", "warm_up"]


KEPT_COLUMNS = (*COURSE, *LEVELS, *RESPONSES)
"""The columns of a run that the page is made of."""


def methods_of(run: RunFolder) -> pd.DataFrame:
    """Return the calls of each method in each finished round: how many, how many good, and their mean time in ms."""
    entries = [entry for entry in damage.rounds(run) if entry.status == DONE]
    parts = (by_method(attempts.read(run.attempts_of(one.file), ATTEMPTS)).assign(round=one.round) for one in entries)
    return pd.concat(parts, ignore_index=True)


def by_method(calls: pd.DataFrame) -> pd.DataFrame:
    """Sum up a round's attempts by method, which is the first word of a step; no one tries twice, so each is a call."""
    counted = calls[~calls["warm_up"].astype(bool)]
    times = ((counted["end_us"] - counted["start_us"]) * _MS_PER_US).where(counted["success"].astype(bool))
    table = pd.DataFrame({"method": counted["step"].astype(str).str.split().str[0], "ms": times})
    summed = table.groupby("method")["ms"].agg(calls="size", good="count", ms="mean")
    return summed.reset_index()


def rows(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration and round.

    ``total_time`` is the mean time in ms of the calls that succeeded, as in the paper; NaN where none did.
    ``core_s_per_item`` are CPU seconds of the system per item, both per second of the round.
    """
    good = counted(rounds)
    table = good[["round", "block", "scenario", *RESPONSES]].assign(**_factors(good))
    table["total_time"] = table["AverageSuccessTime"] * _MS_PER_S
    table["rpm"] = table["Throughput"] * _S_PER_MINUTE
    cores = good["system_cpu_s"].astype(float) / good["seconds"] if "system_cpu_s" in good else np.nan
    table["core_s_per_item"] = cores / table["items_per_s"].where(table["items_per_s"] > 0)
    return table.reset_index(drop=True)


def _factors(rounds: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the paper's factors from the study's levels; a limit is in requests per minute, the greatest there is."""
    requested = pd.to_numeric(rounds["limit"], errors="coerce")
    bundled = rounds["request_bundle"] == "Y"
    return {
        "request_bundle": rounds["request_bundle"],
        "load_balancing": rounds["replicas"].astype(int).map({1: "N", 2: "Y"}),
        "bundle_size": rounds["parameters.size"].astype(int).where(bundled, 1),
        "rate_limit": (requested * GREATEST_LIMIT / requested.max()).round().fillna(NO_LIMIT),
        "api_users": rounds["users"].astype(int),
    }


def method_rows(table: pd.DataFrame, methods: pd.DataFrame) -> pd.DataFrame:
    """One row per method in each round, with its own time and failures: what model 1 is fitted to."""
    own = methods.assign(failure_rate=100 * (1 - methods["good"] / methods["calls"]), total_time=methods["ms"])
    left = table.drop(columns=["failure_rate", "total_time"])
    return left.merge(own[["round", "method", "failure_rate", "total_time"]], on="round")
