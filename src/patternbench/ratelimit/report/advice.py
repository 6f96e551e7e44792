"""Which rate limiter to choose, in words that say what the choice rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.analyze.cost import Chosen, Noise, Wanted
from patternbench.ratelimit.analyze.throttling import NO_LIMITER
from patternbench.ratelimit.report.tables import (
    BALANCERS,
    BY,
    COST,
    DEVIATION,
    ERROR,
    HIDDEN,
    NONE,
    PEAK,
    PER_REQUEST,
    interval,
)
from patternbench.report.labels import number

InBursts = Callable[[pd.Series], float | None]
"""What share of a configuration's decisions would deviate if its clients came in bursts; None when unknown."""
ENOUGH = 1.0
"""Percent of requests outside the band of tolerance up to which a limiter counts as accurate enough."""
NAMED = 3
"""How many configurations are named where many are alike."""


@dataclass(frozen=True)
class Recommendation:
    """What to choose at each distance, and the words that stand before and after it."""

    scale: str
    choices: list[str]
    evidence: list[str]

    @property
    def words(self) -> list[str]:
        """All of it, in order."""
        return [self.scale, *self.choices, *self.evidence]


def recommendation(rows: pd.DataFrame, costs: pd.DataFrame, in_bursts: InBursts) -> Recommendation:
    """What to choose at each distance, what it costs, and what cannot be told apart from it."""
    limited = rows[rows["limited"] & rows["valid"]]
    if limited.empty:
        why = "No round with a limiter is valid, so there is nothing to choose from; see Troubles."
        return Recommendation(why, [], [])
    places = list(limited.groupby([*HIDDEN, "distance"], sort=False))
    scatter = [_scatter(part) for _, part in places]
    told = [
        _choice(_where(limited, keys), part, costs, found, in_bursts)
        for (keys, part), found in zip(places, scatter, strict=True)
    ]
    return Recommendation(_scale(limited), told, [_noise(scatter, limited), *_not_valid(rows)])


def _scatter(part: pd.DataFrame) -> Noise:
    """How noisy latencies are under one limit at one distance: distant stores scatter more than near ones."""
    return judge.noise(part[part["synchronisation"] == PER_REQUEST], ["store", "synchronisation"], COST)


def _not_valid(rows: pd.DataFrame) -> list[str]:
    """Which configurations have no round that counts."""
    names = rows.loc[~rows["valid"] & rows["limited"], BY].drop_duplicates()
    each = (f"{named(r)} at {r['distance']}{_more(rows, r['limit'], r['also'])}" for _, r in names.iterrows())
    shown = "; ".join(each)
    told = [f"Without a valid round yet, and so not chosen from, though in the tables: {shown}."] if shown else []
    if not rows.loc[~rows["limited"], "valid"].all():
        told.append("No round without a limiter is valid yet: what the limiters add is added to one that is not.")
    return told


def _scale(limited: pd.DataFrame) -> str:
    worst = limited.groupby("limit", sort=False)[f"{BALANCERS}.{NO_LIMITER}.deviation"].median()
    several = [f"{share:.2f} % (limit {limit})" for limit, share in worst.items()]
    shares = ", ".join(several) if len(several) > 1 else f"{worst.iloc[0]:.2f} %"
    return (
        f"The scale: with no limiter {shares} of these requests would have been answered otherwise than by an "
        f"exact sliding log, which has 0. A limiter counts as accurate enough when at most {ENOUGH:g} % of its "
        "decisions, in the median of its rounds, disagree with every judge whose window is within 20 ms of the "
        "limit's. Of those that are, the cheapest is sought; of those whose latency can't be told from the cheapest, "
        "the one that deviates least is chosen."
    )


def _where(limited: pd.DataFrame, keys: tuple[Any, ...]) -> str:
    limit, also, distance = keys
    return f"With the store {distance} away{_more(limited, limit, also)}"


def _more(rows: pd.DataFrame, limit: Any, also: Any) -> str:
    """Limit and what else varies, where several of them are in these rows."""
    texts = (("limit", limit), ("also", also))
    return "".join(f", {text}" for name, text in texts if rows[name].nunique() > 1 and text != NONE)


def _choice(where: str, part: pd.DataFrame, costs: pd.DataFrame, found: Noise, in_bursts: InBursts) -> str:
    answered = part[part["missing"] <= ENOUGH]
    if answered.empty:
        return f"{where}, no store answered: there is nothing to choose from."
    chosen = judge.choose(answered, BY, Wanted(COST, ERROR, DEVIATION, ENOUGH, found))
    names = answered[BY].drop_duplicates().reset_index(drop=True)
    if chosen is None:
        errors = judge.typical(answered, BY, [ERROR]).sort_values(ERROR).iloc[0]
        return f"{where}, none is accurate enough; the nearest is {named(errors)} at {errors[ERROR]:.2f} %."
    best = names.iloc[chosen.place]
    facts = f"{where}, choose {_facts(best, answered, costs)}."
    return f"{facts}{_evidence(chosen, names, answered)}{_bursts(in_bursts(best))}"


def _bursts(share: float | None) -> str:
    if share is None or share <= ENOUGH:
        return ""
    return (
        f" That holds for clients as even as these: were the same clients to come in bursts, {share:.1f} % of its "
        "decisions would deviate (simulated)."
    )


def _facts(name: pd.Series, rows: pd.DataFrame, costs: pd.DataFrame) -> str:
    """The configuration, how it deviates, its peak, what it adds."""
    mine = rows[(rows[BY] == name).all(axis=1)]
    cost = costs[(costs[BY] == name).all(axis=1)].iloc[0]
    exact = f"{mine[DEVIATION].median():.2f} % of its decisions deviate, its peak is {mine[PEAK].median():.2f} times"
    return f"{named(name)}: {exact} the limit{_added(cost)}"


def named(row: pd.Series) -> str:
    """A configuration in words, without its distance."""
    way = row["synchronisation"]
    how = "" if way == PER_REQUEST else f" with {'an' if way[0] in 'aeiou' else 'a'} {way}"
    return f"{row['algorithm']} over {row['store']}{how}"


def _added(cost: pd.Series) -> str:
    if np.isnan(cost["overhead"]):
        return ""
    limits = "" if np.isnan(cost["low"]) else f" ({interval(cost['low'], cost['high'])})"
    return f", and it adds {number(cost['overhead'])} ms{limits}, which makes {number(cost['mean'])} ms in the mean"


def _evidence(chosen: Chosen, names: pd.DataFrame, rows: pd.DataFrame) -> str:
    """What the choice rests on: what could not be told apart from it, what is clearly slower."""
    errors = judge.typical(rows, BY, [ERROR])
    good = int((errors[ERROR] <= ENOUGH).sum())
    if good == 1:
        return f" It is the only one of {len(errors)} that is accurate enough."
    rounds = int(rows.groupby(BY, sort=False).size().min())
    others = [named(names.iloc[place]) for place in chosen.alike if place != chosen.place]
    cheapest = named(names.iloc[chosen.cheapest])
    return _counts(good, len(errors), len(chosen.alike)) + _alike(others, rounds, cheapest)


def _counts(good: int, all_: int, alike: int) -> str:
    text = f" {good} of {all_} configurations are accurate enough"
    return f"{text}, {good - alike} of them clearly slower." if good > alike else f"{text}."


def _alike(others: list[str], rounds: int, cheapest: str) -> str:
    count = f"{rounds} round{'' if rounds == 1 else 's'} each"
    if not others:
        return f" With {count} all others are clearly slower."
    shown = ", ".join(others[:NAMED])
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return f" With {count} its latency cannot be told from that of {shown}{more}; the least was that of {cheapest}."


def _noise(scatter: Sequence[Noise], limited: pd.DataFrame) -> str:
    known = [found for found in scatter if found.freedom]
    if not known:
        return "Nothing in this run tells how noisy its latencies are: differences between them may be chance."
    rounds = int(limited.groupby(BY, sort=False).size().min())
    widest = max(known, key=lambda found: found.deviation)
    first = "" if rounds > 1 else "With one round of each there is no interval for a single configuration yet. "
    most = "up to " if len(known) > 1 else ""
    return (
        f"{first}Rounds of one block that differ in the algorithm alone scatter by {most}{number(widest.deviation)} "
        f"ms; with {rounds} round{'' if rounds == 1 else 's'} each, a difference of two latencies below "
        f"{most}{number(widest.reach(rounds))} ms may be chance, and more where the cheapest of many is sought."
    )
