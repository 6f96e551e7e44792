"""Reads runs of the studies that ask the shop what the paper left open; each gives a table of the study's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from patternbench.ratelimit.analyze.cost import REJECTED
from patternbench.records import attempts, journal
from patternbench.records.folder import RunFolder
from patternbench.records.tables import read_table

SHEDDING, BALANCERS, STRESS = "shop-load-shedding", "shop-balancers", "shop-stress"
ROUTES, OVERLOAD = "shop-limits-by-route", "shop-overload"
SHORTENED = (SHEDDING, BALANCERS, STRESS)
"""Those with a quick form."""
SHED = 503
OF_BALANCERS = ["block", "algorithm", "store", "synchronisation", "balancers", "affinity"]
OF_BALANCERS += ["throttling_deviation", "wrongly_allowed", "wrongly_rejected"]
US_PER_MS, US_PER_S, MS_PER_S, ALL = 1e3, 1e6, 1e3, 100.0


def of_shedding(run: RunFolder) -> dict[str, pd.DataFrame]:
    """A row per round and group: what became of its requests."""
    rounds = read_table(run.path)
    levels = rounds[["round", "block", "algorithm", "concurrency_limit"]]
    levels = levels.assign(flooded_by=rounds[_ending(rounds, "open.users")])
    return {SHEDDING: of_groups(run, levels, answered)}


def of_routes(run: RunFolder) -> dict[str, pd.DataFrame]:
    """A row per round and group: what became of its requests, by what counts."""
    return {ROUTES: of_groups(run, read_table(run.path)[["round", "block", "limits"]], answered)}


def of_overload(run: RunFolder) -> dict[str, pd.DataFrame]:
    """A row per round and group: what became of its requests, by how much one client asks."""
    rounds = read_table(run.path)
    levels = rounds[["round", "block", "algorithm"]].assign(flood=rounds[_ending(rounds, "open.rate")])
    return {OVERLOAD: of_groups(run, levels, answered)}


def of_groups(run: RunFolder, levels: pd.DataFrame, told: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """The levels of each round, with what its attempts tell of each group."""
    files = journal.files_of_rounds(run.journal)
    parts = [told(attempts.read(run.attempts_of(files[number]))).assign(round=number) for number in levels["round"]]
    return levels.merge(pd.concat(parts, ignore_index=True), on="round")


def _ending(rounds: pd.DataFrame, end: str) -> str:
    """The factor of a group's field."""
    return next(str(name) for name in rounds.columns if str(name).endswith(end))


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` of a round's attempts after the warm-up.

    ``good_per_s`` counts good answers, ``good_ms`` is their mean time; ``limited`` (429), ``shed`` (503) and ``failed``
    (all else that is not good) are percent of its requests.
    """
    sent = rows[(rows["attempt"] > 0) & ~rows["warm_up"]]
    group, good = sent["group"].astype(str).rename("group"), sent["success"].astype(bool)
    seconds = (sent["end_us"].max() - sent["intended_us"].min()) / US_PER_S
    limited, shed = sent["status"] == REJECTED, sent["status"] == SHED
    columns = {
        "good_per_s": good.groupby(group).sum() / seconds,
        "good_ms": ((sent["end_us"] - sent["start_us"]) / US_PER_MS).where(good).groupby(group).mean(),
        "limited": ALL * limited.groupby(group).mean(),
        "shed": ALL * shed.groupby(group).mean(),
        "failed": ALL * (~good & ~limited & ~shed).groupby(group).mean(),
    }
    return pd.DataFrame(columns).reset_index()


def of_balancers(run: RunFolder) -> dict[str, pd.DataFrame]:
    """A row per round: how far the limit deviated by the balancers' clocks, and the latency of good requests."""
    rounds = read_table(run.path)
    return {BALANCERS: rounds[OF_BALANCERS].assign(good_ms=rounds["AverageSuccessTime"] * MS_PER_S)}


def of_stress(run: RunFolder) -> dict[str, pd.DataFrame]:
    """A row per round: passes that arrived per second, what became of them, and the time of a request."""
    rounds = read_table(run.path)
    levels = rounds[["block", "algorithm", "store", "journeys_per_s", "journey_failure_rate", "dropped_rate"]]
    return {STRESS: levels.assign(rate=rounds[_ending(rounds, "open.rate")], p95_ms=rounds["p95"] * MS_PER_S)}


READERS: Mapping[str, Callable[[RunFolder], dict[str, pd.DataFrame]]] = {
    SHEDDING: of_shedding,
    BALANCERS: of_balancers,
    STRESS: of_stress,
    ROUTES: of_routes,
    OVERLOAD: of_overload,
}
"""By the names of studies."""
