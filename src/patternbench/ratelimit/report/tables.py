"""The tables of the report's section on rate limiting, each with the ends of the scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from patternbench.analyze.statements.shown import Shown
from patternbench.observe.section import Table
from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.analyze.cost import MEASURED, MeanInterval
from patternbench.ratelimit.analyze.throttling import EXACT_LOG, NO_LIMITER
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.terms.quantities import number
from patternbench.terms.units import Duration

BY = ["algorithm", "store", "synchronisation", "distance", "limit", "also"]
"""The columns of a configuration. ``limit`` and ``also`` are shown only if they vary."""
HIDDEN = ("limit", "also")
ALIKE = ("synchronisation", "distance")
"""Configurations equal in these have a similar spread: the same distance to the store, asked equally often."""
PER_REQUEST, NONE = "per request", "-"
BALANCERS, CLIENTS = "balancers", "clients"
GROUP = "group."
COST = "AverageSuccessTime"
DEVIATION = f"{BALANCERS}.{MEASURED}.deviation"
ERROR = f"{BALANCERS}.{MEASURED}.deviation_tolerant"
PEAK = f"{BALANCERS}.{MEASURED}.peak"
SHOWN = {
    "deviation": "over requests",
    "wrongly_allowed": "wrongly allowed",
    "wrongly_rejected": "wrongly rejected",
    "client_mean": "mean over clients",
    "deviation_tolerant": "beyond ±20 ms",
    "deviation_least": "window ±20 ms, least",
    "deviation_most": "most",
    "peak": "peak / limit",
    "missing": "decided without the store",
}


def slim(table: Table) -> Table:
    """Return the table without the columns that are the same in every row."""
    frame = table.frame
    same = [name for name in HIDDEN if name in frame and frame[name].nunique() <= 1]
    return Table(table.title, frame.drop(columns=same))


def interval(low: float, high: float, unit: str = "") -> str:
    """Return an interval in words; a dash if there is none."""
    return "–" if np.isnan(low) else f"{number(low)} to {number(high)}{unit}"


# --- Table IV


def configured(limits: Sequence[EnforcedLimit]) -> pd.DataFrame:
    """Return the parameters of each algorithm."""
    rows = [
        {
            "algorithm": limit.algorithm,
            "limit": limit.limit,
            "window": str(limit.window),
            "burst": limit.burst or NONE,
            "sub_windows": limit.sub_windows if limit.algorithm == "sliding_window_counter" else NONE,
        }
        for limit in limits
    ]
    return pd.DataFrame(rows).drop_duplicates().sort_values("algorithm", ignore_index=True)


# --- Table V


def costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the latency that each configuration adds, in ms, to rounds of the same block without a limiter."""
    parts = [judge.overheads(part, BY, ~part["limited"], COST, ALIKE) for part in _comparable(rows)]
    return pd.concat(parts, ignore_index=True)


def _comparable(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rows with their rounds without a limiter: those that are otherwise equal, or else all."""
    for (limit, also), part in rows[rows["limited"]].groupby(["limit", "also"], sort=False):
        base = rows[~rows["limited"] & (rows["limit"] == limit)]
        own = base[base["also"] == also]
        yield pd.concat([(own if len(own) else base).assign(also=str(also)), part])


def costs_shown(costs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Table V for people: latency, added latency with its interval, throughput."""
    throughput = judge.typical(rows, BY, ["throughput"])
    table = costs.merge(throughput, on=BY, how="left")
    table["rounds"] = table["rounds"].astype(str)
    between = [interval(*pair) for pair in table[["low", "high"]].to_numpy(float)]
    table = table.drop(columns=["low", "high"])
    table.insert(list(table.columns).index("percent"), "95 % interval, ms", between)
    names = {"mean": "latency, ms", "overhead": "added, ms", "percent": "added, %", "throughput": "requests per second"}
    return table.rename(columns=names)


# --- what each choice costs, over all algorithms


def contrasts(rows: pd.DataFrame) -> pd.DataFrame:
    """Differences in latency between stores, leases and distances, each over the algorithms that both sides have."""
    compared = [
        (what, first["distance"], _contrast(rows, first, second))
        for distance in sorted(set(rows.loc[rows["limited"], "distance"]), key=_length)
        for first, second, what in _expected(rows, str(distance))
    ]
    measured = [comparison for comparison in compared if comparison[2].count]
    clear = judge.clear([apart for _, _, apart in measured])
    return pd.DataFrame(
        [_contrast_row(*comparison, reported) for comparison, reported in zip(measured, clear, strict=True)]
    )


def _length(text: str) -> int:
    return Duration.parse(text).us


def _expected(rows: pd.DataFrame, distance: str) -> Iterator[tuple[dict[str, str], dict[str, str], str]]:
    limited = rows[rows["limited"]]
    stores = list(limited["store"].unique())
    reference = "redis" if "redis" in stores else stores[0]
    base = {"store": reference, "synchronisation": PER_REQUEST, "distance": distance}
    for store in stores:
        if store != reference:
            yield {**base, "store": store}, base, f"{store} instead of {reference}"
    for mode in limited["synchronisation"].unique():
        if mode != PER_REQUEST:
            yield {**base, "synchronisation": mode}, base, f"{mode} instead of {PER_REQUEST}, over {reference}"
    nearest = min(limited["distance"], key=_length)
    if distance != nearest:
        for store in stores:
            far = {**base, "store": store}
            yield far, {**far, "distance": nearest}, f"{store}: {distance} away instead of {nearest}"


def _contrast(rows: pd.DataFrame, first: dict[str, str], second: dict[str, str]) -> MeanInterval:
    return judge.matched(_like(rows, first), _like(rows, second), ["algorithm", *HIDDEN], COST)[0]


def _like(rows: pd.DataFrame, expected: dict[str, str]) -> pd.DataFrame:
    same = pd.Series(True, rows.index)
    for name, value in expected.items():
        same &= rows[name] == value
    return rows[same]


def _contrast_row(what: str, distance: str, apart: MeanInterval, clear: Shown) -> dict[str, object]:
    alone = ", in this block" if apart.blocks == 1 else ""
    verdict = f"clear{alone}{clear.condition}" if clear else "not clear" if apart.has_interval else "one pair"
    between = interval(apart.low, apart.high)
    columns = {"added, ms": apart.mean, "95 % interval, ms": between, "pairs of rounds": apart.count}
    return {"choice": what, "distance": distance, **columns, "difference": verdict}


# --- how exact


def exactness(rows: pd.DataFrame, side: str = BALANCERS) -> pd.DataFrame:
    """One row per configuration, for each limit between the ends of its scale, computed from the same arrivals."""
    parts = [_of_limit(part, side) for _, part in rows.groupby("limit", sort=False)]
    return pd.concat(parts, ignore_index=True).rename(columns=SHOWN)


def _of_limit(rows: pd.DataFrame, side: str) -> pd.DataFrame:
    shown = {name: f"{side}.{MEASURED}.{name}" for name in SHOWN if name != "missing"} | {"missing": "missing"}
    mine = rows[rows[f"{side}.{MEASURED}.deviation"].notna()]
    measured = judge.typical(mine, BY, list(shown.values())).rename(columns={v: k for k, v in shown.items()})
    measured = measured[measured["algorithm"] != NO_LIMITER]
    return pd.concat([_end(mine, side, NO_LIMITER), measured, _end(mine, side, EXACT_LOG)], ignore_index=True)


def _end(rows: pd.DataFrame, side: str, end: str) -> pd.DataFrame:
    names = dict.fromkeys(BY, NONE) | {"algorithm": end, "limit": rows["limit"].iloc[0]}
    values = {name: rows[f"{side}.{end}.{name}"].median() for name in SHOWN if name != "missing"}
    return pd.DataFrame([{**names, **values, "missing": 0.0}])


def of_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration and one column per group, as clients saw it, between the ends of the scale.

    ``no limiter`` was measured without one, if there are such rounds. An exact log deviates by 0 by definition.
    """
    groups = [name for name in rows.columns if str(name).startswith(GROUP)]
    table = judge.typical(rows, BY, groups)
    exact = pd.DataFrame([dict.fromkeys(BY, NONE) | {"algorithm": EXACT_LOG} | dict.fromkeys(groups, 0.0)])
    ends = [exact.assign(limit=limit) for limit in rows["limit"].unique()]
    together = pd.concat([table, *ends], ignore_index=True)
    return together.rename(columns={name: str(name).removeprefix(GROUP) for name in groups})
