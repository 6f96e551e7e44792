"""What shoppers see of a rate limit: each transaction, and the time to finish a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pandas as pd

from patternbench.ratelimit.report.tables import NONE, PER_REQUEST
from reproductions import claimed
from reproductions.claimed import Key
from reproductions.kalyanasundaram_2025.limit_rounds import CLAIMS, EXACT, like
from reproductions.kalyanasundaram_2025.limits_published import NO_LIMITER
from reproductions.markdown import table

TRANSACTION = ["group", "transaction"]
PASS = ("algorithm", "group")


def experienced(seen: pd.DataFrame) -> str:
    """Each transaction without a limiter and with an exact log: latency, rejections by group, time to finish."""
    limited = like(seen, algorithm=EXACT, store="redis", synchronisation=PER_REQUEST)
    both = [seen[seen["algorithm"] == NO_LIMITER], limited]
    groups = list(dict.fromkeys(seen["group"]))
    ending = [group for group in groups if seen.loc[seen["group"] == group, "finish_s"].notna().any()]
    heads = ["transaction", "admitted request, ms (mean over groups)", *(f"rejected of {name}, %" for name in groups)]
    sides = [part.groupby(TRANSACTION)[["latency_ms", "rejected", "finish_s"]].mean() for part in both]
    rows = [_experience(sides, name, groups, ending) for name in sorted(set(seen["transaction"]))]
    return table([*heads, *(f"time of {name}, s" for name in ending)], rows)


def _experience(sides: Sequence[pd.DataFrame], name: str, groups: Sequence[str], ending: Sequence[str]) -> list[str]:
    of_it = [side[side.index.get_level_values("transaction") == name]["latency_ms"].mean() for side in sides]
    rejected = (pair([_value(side, (group, name), "rejected") for side in sides], 1) for group in groups)
    took = (pair([_value(side, (group, name), "finish_s") for side in sides], 2) for group in ending)
    return [name, pair(of_it, 1), *rejected, *took]


def _value(means: pd.DataFrame, key: tuple[str, str], column: str) -> float:
    return float(means[column][key]) if key in means.index else np.nan


def pair(values: Sequence[float], digits: int) -> str:
    """Two numbers side by side; a dash for one that is not there."""
    return " / ".join("–" if np.isnan(value) else f"{value:.{digits}f}" for value in values)


def requested(walked: pd.DataFrame) -> pd.DataFrame:
    """Return passes without a limiter, and with Redis asked at every request."""
    return walked[walked["store"].isin(("redis", NONE)) & walked["synchronisation"].isin((PER_REQUEST, NONE))]


def finishing(walked: pd.DataFrame) -> str:
    """How long a pass takes, by algorithm over Redis and group of users; groups that finish none are left out."""
    finished = requested(walked).dropna(subset=["pass_s"])
    medians = finished.groupby(list(PASS))["pass_s"].median()
    middles: dict[Key, float] = {cast(Key, key): seconds for key, seconds in medians.items()}
    names = list(dict.fromkeys((NO_LIMITER, *requested(walked)["algorithm"])))
    one = claimed.change("pass_s", {"algorithm": NO_LIMITER}, {"algorithm": names[1:]})
    texts = {key: f", {change.text}" for key, change in claimed.levelled(finished, PASS).changes(PASS, one).items()}
    cells = {key: f"{seconds:.1f}{texts.get(key, '')}" for key, seconds in middles.items()}
    groups = [group for group in dict.fromkeys(walked["group"]) if (NO_LIMITER, group) in cells]
    rows = ([name, *(cells.get((name, group), "none finished") for group in groups)] for name in names)
    return table(["algorithm", *groups], rows)


def passes(walked: pd.DataFrame) -> str:
    """Return whether passes of users above the limit take longer with it."""
    finished = requested(walked).dropna(subset=["pass_s"])
    return claimed.verdict_table(claimed.levelled(finished, PASS).hold(CLAIMS["passes"]), "statement")
