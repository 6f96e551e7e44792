"""What shoppers see of a rate limit: each transaction, and the time to finish a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from patternbench.ratelimit.report.tables import NONE, PER_REQUEST
from reproductions.contrasts import PERCENT, Floats, Key, by_block, contrast
from reproductions.kalyanasundaram_2025.limit_rounds import EXACT, like
from reproductions.kalyanasundaram_2025.limits_published import NO_LIMITER
from reproductions.markdown import table

TRANSACTION = ["group", "transaction"]


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


def finishing(walked: pd.DataFrame) -> str:
    """How long a pass takes, by algorithm over Redis and group of users; groups that finish none are left out."""
    times = _times(walked)
    groups = [group for group in dict.fromkeys(walked["group"]) if _ends(times, (NO_LIMITER, group))]
    names = dict.fromkeys((NO_LIMITER, *(name for name, _ in times)))
    return table(["algorithm", *groups], [[name, *(_finish(times, name, group) for group in groups)] for name in names])


def _times(walked: pd.DataFrame) -> dict[Key, Floats]:
    """Return the time of a pass by algorithm and group, without a limiter and with Redis asked at every request."""
    requested = walked[walked["store"].isin(("redis", NONE)) & walked["synchronisation"].isin((PER_REQUEST, NONE))]
    return by_block(requested, ["algorithm", "group"], requested["pass_s"])


def _ends(times: Mapping[Key, Floats], key: Key) -> bool:
    return key in times and bool(np.isfinite(times[key]).any())


def _finish(times: Mapping[Key, Floats], name: str, group: str) -> str:
    if not _ends(times, (name, group)):
        return "none finished"
    middle = f"{np.nanmedian(times[name, group]):.1f}"
    return middle if name == NO_LIMITER else f"{middle}, {contrast(*_logs(times, name, group), PERCENT).text()}"


def _logs(times: Mapping[Key, Floats], name: str, group: str) -> tuple[Floats, Floats]:
    """Return passes without a limiter, and with this one."""
    return np.log(times[NO_LIMITER, group]), np.log(times[name, group])


def longer(walked: pd.DataFrame, group: str) -> list[tuple[Floats, Floats]]:
    """Return passes of a group without a limiter, and with each, where both were finished."""
    times = _times(walked)
    names = [name for name, own in times if own == group and name != NO_LIMITER]
    both = [name for name in names if all(_ends(times, (one, group)) for one in (NO_LIMITER, name))]
    return [_logs(times, name, group) for name in both]
