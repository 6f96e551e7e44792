"""The words of the section on rate limiting: its scale, which limiters are accurate enough, and for which arrivals.

The general recommendation says which configuration to choose (``ratelimit/observer.py`` has the aim).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import pandas as pd

from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.analyze.throttling import NO_LIMITER
from patternbench.ratelimit.report.tables import BALANCERS, BY, ERROR, HIDDEN, NONE, PER_REQUEST
from patternbench.ratelimit.responses import ENOUGH

InBursts = Callable[[pd.Series], float | None]
"""The share of a configuration's decisions that would deviate if its clients sent bursts; None if unknown."""
NAMED = 3
"""How many of several similar configurations are named."""
NOTHING_VALID = "No round with a limiter is valid, so there is nothing to judge. See Warnings and failures."


def words(judged: pd.DataFrame, in_bursts: InBursts) -> list[str]:
    """How accurate the limiters are, from every judged round."""
    limited = judged_validly(judged)
    if limited.empty:
        return [NOTHING_VALID, *not_valid(judged)]
    return [_scale(limited), *_at_each_distance(limited), *_in_bursts(limited, in_bursts), *not_valid(judged)]


def in_short(judged: pd.DataFrame) -> str:
    """Return which limiters are accurate enough, for the first screen; nothing where none was judged."""
    return " ".join(_at_each_distance(judged_validly(judged))[:NAMED])


def judged_validly(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds with a limiter that count."""
    return judged[judged["limited"] & judged["valid"]]


def _at_each_distance(limited: pd.DataFrame) -> list[str]:
    places = limited.groupby([*HIDDEN, "distance"], sort=False)
    return [_accurate(where(limited, keys), part) for keys, part in places]


def not_valid(judged: pd.DataFrame) -> list[str]:
    """Which configurations have no round that counts, and are in no table."""
    lacking = judged[judged["limited"] & ~judged.groupby(BY)["valid"].transform("any")]
    names = lacking[BY].drop_duplicates()
    shown = "; ".join(
        f"{named(r)} at {r['distance']}{_more(judged, r['limit'], r['also'])}" for _, r in names.iterrows()
    )
    reported = (
        [f"Without a valid round yet, and therefore in no table and no recommendation: {shown}."] if shown else []
    )
    unlimited = judged.loc[~judged["limited"], "valid"]
    if len(unlimited) and not unlimited.any():
        reported.append("No round without a limiter is valid yet, so the latency that the limiters add is unknown.")
    return reported


def named(row: pd.Series) -> str:
    """Return a configuration in words, without its distance."""
    mode = row["synchronisation"]
    how = "" if mode == PER_REQUEST else f" with {'an' if mode[0] in 'aeiou' else 'a'} {mode}"
    return f"{row['algorithm']} over {row['store']}{how}"


def _scale(limited: pd.DataFrame) -> str:
    worst = limited.groupby("limit", sort=False)[f"{BALANCERS}.{NO_LIMITER}.deviation"].median()
    several = [f"{share:.2f} % (limit {limit})" for limit, share in worst.items()]
    shares = ", ".join(several) if len(several) > 1 else f"{worst.iloc[0]:.2f} %"
    return (
        f"The scale: without a limiter {shares} of these requests would have been decided differently than by an "
        f"exact sliding log, which has 0 %. A limiter is accurate enough if at most {ENOUGH:g} % of its decisions "
        "(median over rounds) differ from those of every exact log with a window within 20 ms of the limit's."
    )


def where(limited: pd.DataFrame, keys: tuple[Hashable, ...]) -> str:
    """Say how far the store is, with the limit and what else varies; ``keys`` are those that rows are grouped by."""
    limit, also, distance = map(str, keys)
    return f"With the store {distance} away{_more(limited, limit, also)}"


def _more(rows: pd.DataFrame, limit: str, also: str) -> str:
    """Return the limit and what else varies, if these rows have several."""
    texts = (("limit", limit), ("also", also))
    return "".join(f", {text}" for name, text in texts if rows[name].nunique() > 1 and text != NONE)


def _accurate(place: str, part: pd.DataFrame) -> str:
    """Which configurations at one distance are accurate enough, or which one is closest to it."""
    errors = _errors(part)
    if errors.empty:
        return f"{place}, no store answered."
    good = errors[errors[ERROR] <= ENOUGH]
    if good.empty:
        nearest = errors.sort_values(ERROR).iloc[0]
        return f"{place}, none is accurate enough. The closest is {named(nearest)} with {nearest[ERROR]:.2f} %."
    few = f": {_listed(good)}" if len(good) <= NAMED else ""
    verb = "is" if len(good) == 1 else "are"
    return f"{place}, {len(good)} of {len(errors)} configurations {verb} accurate enough{few}."


def _errors(part: pd.DataFrame) -> pd.DataFrame:
    """Return the median error of each configuration with a store that answered."""
    return judge.typical(part[part["missing"] <= ENOUGH], BY, [ERROR])


def _listed(rows: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(named(row) for _, row in rows.iterrows()))


def _in_bursts(limited: pd.DataFrame, in_bursts: InBursts) -> Iterator[str]:
    """Which configurations are accurate enough for these even arrivals, but not for bursts of the same clients."""
    errors = _errors(limited)
    good = errors[errors[ERROR] <= ENOUGH]
    shares = pd.Series([in_bursts(row) for _, row in good.iterrows()], good.index, dtype=float)
    worse = good.assign(bursts=shares)[shares > ENOUGH].sort_values("bursts", ascending=False)
    if worse.empty:
        return
    first = worse.iloc[0]
    yield (
        f"For {len(worse)} of them this holds only for even arrivals. If the same clients sent bursts, more decisions "
        f"would deviate (simulated): up to {first['bursts']:.1f} %, with {named(first)} at {first['distance']}."
    )
